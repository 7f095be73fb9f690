//! The grants of the hooks.

/// The entry of a hook in the manifest: `(commands, HOOK, TARGET)` is the commands of the target if the hook is `commands`;
/// `plugin!` calls it.
#[doc(hidden)]
#[macro_export]
macro_rules! declared {
    (commands, commands, $target:ty) => {
        ::core::option::Option::Some(<$target as $crate::hook::Commands>::COMMANDS)
    };
    (provider, provider, $target:ty) => {
        ::core::option::Option::Some(<$target as $crate::hook::Provider>::NAME)
    };
    (channel, channel, $target:ty) => {
        ::core::option::Option::Some(<$target as $crate::hook::Channel>::DESCRIPTION)
    };
    ($part:ident, $hook:ident, $target:path) => {
        ::core::option::Option::None
    };
}

/// The grant that the manifest asks for with a hook; `plugin!` calls it.
#[doc(hidden)]
#[macro_export]
macro_rules! hook_grant {
    (resolve_session) => {
        "hook:resolve-session"
    };
    (load_state) => {
        "hook:load-state"
    };
    (build_prompt) => {
        "hook:build-prompt"
    };
    (run_model) => {
        "hook:run-model"
    };
    (run_model_stream) => {
        "hook:run-model-stream"
    };
    (continue_prompt) => {
        "hook:continue-prompt"
    };
    (system_prompt) => {
        "hook:system-prompt"
    };
    (save_state) => {
        "hook:save-state"
    };
    (render_outbound) => {
        "hook:render-outbound"
    };
    (dispatch_outbound) => {
        "hook:dispatch-outbound"
    };
    (on_error) => {
        "hook:on-error"
    };
    (after_turn) => {
        "hook:after-turn"
    };
    (before_reset) => {
        "hook:before-reset"
    };
    (before_llm_call) => {
        "hook:before-llm-call"
    };
    (after_llm_call) => {
        "hook:after-llm-call"
    };
    (before_tool_call) => {
        "hook:before-tool-call"
    };
    (after_tool_call) => {
        "hook:after-tool-call"
    };
    (admit_message) => {
        "hook:admit-message"
    };
    (provide_model_options) => {
        "hook:provide-model-options"
    };
    (selector) => {
        "hook:selector"
    };
    (channel) => {
        "hook:channel"
    };
    (provider) => {
        "hook:provider"
    };
    (embedder) => {
        "hook:embedder"
    };
    (store) => {
        "hook:tape-store"
    };
    // Covered by the grant of `store`, or called by name.
    (store_query) => {
        ""
    };
    (commands) => {
        ""
    };
    ($unknown:ident) => {
        ::core::compile_error!(::core::concat!(
            "`",
            ::core::stringify!($unknown),
            "` is not a hook: `bub_guest::hook` lists all of them"
        ))
    };
}
