//! The exports that `plugin!` makes for each hook.

/// The types that the exports below name.
#[doc(hidden)]
pub mod types {
    pub use crate::agent::ModelOptions;
    pub use crate::hook::*;
    pub use crate::model::Request;
    pub use crate::turn::{Envelope, Prompt, SystemPart, ToolCall};
    pub use crate::view::Selected;
    pub use crate::{Error, Result};
    pub use serde_json::Value;
    pub use std::option::Option;
    pub use std::string::String;
    pub use std::vec::Vec;
}

/// Exports a hook; `plugin!` calls it.
///
/// `(HOOK, TARGET)` exports a function, or a type for a hook of several functions. Each arm implements the trait that `wit-bindgen` made of the hook's interface, and passes the call on.
#[doc(hidden)]
#[macro_export]
macro_rules! export_hook {
    (resolve_session, $target:path) => {
        $crate::export_hook!(@check $target as fn(Envelope) -> Result<Option<String>>);
        $crate::export_hook!(@export resolve_session, bub::hooks::resolve_session, {
            fn resolve_session(message: Envelope) -> Result<Option<String>> {
                $target(message)
            }
        });
    };
    (load_state, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn) -> Result<Option<$crate::hook::types::Value>>);
        $crate::export_hook!(@export load_state, bub::hooks::load_state, {
            fn load_state(turn: $crate::wit::bub::turn::turn::Turn) -> Result<Option<String>> {
                Ok($target(&$crate::Turn::from(turn))?.map(|state| state.to_string()))
            }
        });
    };
    (build_prompt, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn) -> Result<Option<Prompt>>);
        $crate::export_hook!(@export build_prompt, bub::hooks::build_prompt, {
            fn build_prompt(turn: $crate::wit::bub::turn::turn::Turn) -> Result<Option<Prompt>> {
                $target(&$crate::Turn::from(turn))
            }
        });
    };
    (run_model, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, Prompt) -> Result<Option<String>>);
        $crate::export_hook!(@export run_model, bub::hooks::run_model, {
            fn run_model(turn: $crate::wit::bub::turn::turn::Turn, prompt: Prompt) -> Result<Option<String>> {
                $target(&$crate::Turn::from(turn), prompt)
            }
        });
    };
    (run_model_stream, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, Prompt) -> Result<bool>);
        $crate::export_hook!(@export run_model_stream, bub::hooks::run_model_stream, {
            fn run_model_stream(turn: $crate::wit::bub::turn::turn::Turn, prompt: Prompt) -> Result<bool> {
                $target(&$crate::Turn::from(turn), prompt)
            }
        });
    };
    (continue_prompt, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, Prompt) -> Result<Option<String>>);
        $crate::export_hook!(@export continue_prompt, bub::hooks::continue_prompt, {
            fn continue_prompt(turn: $crate::wit::bub::turn::turn::Turn, prompt: Prompt) -> Result<Option<String>> {
                $target(&$crate::Turn::from(turn), prompt)
            }
        });
    };
    (system_prompt, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, Prompt) -> Result<Vec<SystemPart>>);
        $crate::export_hook!(@export system_prompt, bub::hooks::system_prompt, {
            fn system_prompt(turn: $crate::wit::bub::turn::turn::Turn, prompt: Prompt) -> Result<Vec<SystemPart>> {
                $target(&$crate::Turn::from(turn), prompt)
            }
        });
    };
    (save_state, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, String, Option<Error>) -> Result<()>);
        $crate::export_hook!(@export save_state, bub::hooks::save_state, {
            fn save_state(turn: $crate::wit::bub::turn::turn::Turn, output: String, failure: Option<Error>) -> Result<()> {
                $target(&$crate::Turn::from(turn), output, failure)
            }
        });
    };
    (render_outbound, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, String) -> Result<Vec<Envelope>>);
        $crate::export_hook!(@export render_outbound, bub::hooks::render_outbound, {
            fn render_outbound(turn: $crate::wit::bub::turn::turn::Turn, output: String) -> Result<Vec<Envelope>> {
                $target(&$crate::Turn::from(turn), output)
            }
        });
    };
    (dispatch_outbound, $target:path) => {
        $crate::export_hook!(@check $target as fn(Envelope) -> Result<bool>);
        $crate::export_hook!(@export dispatch_outbound, bub::hooks::dispatch_outbound, {
            fn dispatch_outbound(message: Envelope) -> Result<bool> {
                $target(message)
            }
        });
    };
    (on_error, $target:path) => {
        $crate::export_hook!(@check $target as fn(String, Error, Option<Envelope>) -> Vec<Envelope>);
        $crate::export_hook!(@export on_error, bub::hooks::on_error, {
            fn on_error(stage: String, error: Error, message: Option<Envelope>) -> Vec<Envelope> {
                $target(stage, error, message)
            }
        });
    };
    (after_turn, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, String));
        $crate::export_hook!(@export after_turn, bub::hooks::after_turn, {
            fn after_turn(turn: $crate::wit::bub::turn::turn::Turn, output: String) {
                $target(&$crate::Turn::from(turn), output)
            }
        });
    };
    (before_reset, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, bool) -> Result<Vec<Attachment>>);
        $crate::export_hook!(@export before_reset, bub::hooks::before_reset, {
            fn before_reset(turn: $crate::wit::bub::turn::turn::Turn, archive: bool) -> Result<Vec<Attachment>> {
                $target(&$crate::Turn::from(turn), archive)
            }
        });
    };
    (before_llm_call, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, LlmRequest) -> Result<LlmDecision>);
        $crate::export_hook!(@export before_llm_call, bub::hooks::before_llm_call, {
            fn before_llm_call(turn: $crate::wit::bub::turn::turn::Turn, request: LlmRequest) -> Result<LlmDecision> {
                $target(&$crate::Turn::from(turn), request)
            }
        });
    };
    (after_llm_call, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, String, LlmResult));
        $crate::export_hook!(@export after_llm_call, bub::hooks::after_llm_call, {
            fn after_llm_call(turn: $crate::wit::bub::turn::turn::Turn, model: String, outcome: LlmResult) {
                $target(&$crate::Turn::from(turn), model, outcome)
            }
        });
    };
    (before_tool_call, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, ToolCall) -> Result<ToolDecision>);
        $crate::export_hook!(@export before_tool_call, bub::hooks::before_tool_call, {
            fn before_tool_call(turn: $crate::wit::bub::turn::turn::Turn, call: ToolCall) -> Result<ToolDecision> {
                $target(&$crate::Turn::from(turn), call)
            }
        });
    };
    (after_tool_call, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::Turn, ToolCall, Result<String>) -> Result<Option<String>>);
        $crate::export_hook!(@export after_tool_call, bub::hooks::after_tool_call, {
            fn after_tool_call(turn: $crate::wit::bub::turn::turn::Turn, call: ToolCall, outcome: Result<String>) -> Result<Option<String>> {
                $target(&$crate::Turn::from(turn), call, outcome)
            }
        });
    };
    (admit_message, $target:path) => {
        $crate::export_hook!(@check $target as fn(String, Envelope, SessionLoad) -> Result<Option<Decision>>);
        $crate::export_hook!(@export admit_message, bub::hooks::admit_message, {
            fn admit_message(session: String, message: Envelope, load: SessionLoad) -> Result<Option<Decision>> {
                $target(session, message, load)
            }
        });
    };
    (provide_model_options, $target:path) => {
        $crate::export_hook!(@check $target as fn(String) -> Result<ModelOptions>);
        $crate::export_hook!(@export provide_model_options, bub::hooks::provide_model_options, {
            fn provide_model_options(session: String) -> Result<ModelOptions> {
                $target(session)
            }
        });
    };
    (selector, $target:path) => {
        $crate::export_hook!(@check $target as fn(&$crate::View) -> Result<Selected>);
        $crate::export_hook!(@export selector, bub::context::selector, {
            fn select(view: $crate::wit::bub::context::view::View) -> Result<Selected> {
                $target(&$crate::View::from(view))
            }
        });
    };
    (channel, $target:ty) => {
        $crate::export_hook!(@check $target: Channel);
        $crate::export_hook!(@export channel, bub::channel::channel, {
            fn describe() -> $crate::wit::channel::exports::bub::channel::channel::Description {
                let described = <$target as Channel>::DESCRIPTION;
                $crate::wit::channel::exports::bub::channel::channel::Description {
                    name: String::from(described.name),
                    needs_debounce: described.needs_debounce,
                    supports_polling: described.supports_polling,
                    webhook: described.webhook,
                    supports_edits: described.supports_edits,
                    deduplicates: described.deduplicates,
                }
            }
            fn poll(cursor: Option<String>) -> Result<Inbox> {
                <$target as Channel>::poll(cursor)
            }
            fn receive(request: WebhookRequest) -> Result<WebhookResponse> {
                <$target as Channel>::receive(request)
            }
            fn send(message: Envelope, key: String) -> Result<Option<String>> {
                <$target as Channel>::send(message, key)
            }
            fn update(handle: String, message: Envelope) -> Result<()> {
                <$target as Channel>::update(handle, message)
            }
        });
    };
    (provider, $target:ty) => {
        $crate::export_hook!(@check $target: Provider);
        $crate::export_hook!(@export provider, bub::model::provider, {
            fn name() -> String {
                String::from(<$target as Provider>::NAME)
            }
            fn complete(request: Request, sink: $crate::wit::bub::model::sink::Sink) -> Result<()> {
                <$target as Provider>::complete(request, &$crate::model::Sink::from(sink))
            }
        });
    };
    (commands, $target:ty) => {
        $crate::export_hook!(@check $target: Commands);
        $crate::export_hook!(@export commands, bub::hooks::commands, {
            fn list_commands() -> Vec<$crate::wit::commands::exports::bub::hooks::commands::Command> {
                let listed = <$target as Commands>::COMMANDS.iter();
                listed
                    .map(|command| $crate::wit::commands::exports::bub::hooks::commands::Command {
                        name: String::from(command.name),
                        about: String::from(command.about),
                    })
                    .collect()
            }
            fn run_command(name: String, arguments: Vec<String>) -> Result<String> {
                <$target as Commands>::run(&name, &arguments)
            }
        });
    };
    // The traits of these are those that `wit-bindgen` makes: they have no handles.
    (embedder, $target:ty) => {
        $crate::export_hook!(@check $target: Embedder);
        $crate::export_hook!(@as_is embedder, $target);
    };
    (store, $target:ty) => {
        $crate::export_hook!(@check $target: Store);
        $crate::export_hook!(@as_is store, $target);
    };
    (store_query, $target:ty) => {
        $crate::export_hook!(@check $target: StoreQuery);
        $crate::export_hook!(@as_is store_query, $target);
    };

    // Natively too, so that a wrong signature is an error there, and what is exported is not reported as unused.
    (@check $target:path as $signature:ty) => {
        const _: () = {
            #[allow(unused_imports)]
            use $crate::hook::types::*;
            const _: $signature = $target;
        };
    };
    (@check $target:ty: $implements:ident) => {
        const _: () = {
            const fn check<T: $crate::hook::$implements>() {}
            check::<$target>();
        };
    };

    (@export $module:ident, $($interface:ident)::+, { $($function:item)* }) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            #[allow(unused_imports)]
            use $crate::hook::types::*;

            struct Plugin;

            impl $crate::wit::$module::exports::$($interface)::+::Guest for Plugin {
                $($function)*
            }

            $crate::wit::$module::export!(Plugin with_types_in $crate::wit::$module);
        };
    };
    (@as_is $module:ident, $target:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Plugin = $target;
            $crate::wit::$module::export!(Plugin with_types_in $crate::wit::$module);
        };
    };
    ($unknown:ident, $target:path) => {};
}
