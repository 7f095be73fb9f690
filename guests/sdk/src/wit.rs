//! The bindings of the contracts in `wit/`, as `wit-bindgen` makes them.
//!
//! [`bub`] holds what a plugin can import; a component imports of it what its code calls, and no more. Each other module
//! holds one interface that a plugin can export, and a macro `export!` that exports it. Everything is public, so that a
//! plugin can use what the rest of this crate does not cover.

#![allow(missing_docs)]

wit_bindgen::generate!({
    inline: "
        package bub:guest@0.1.0;
        world everything {
            include bub:plugin/imports@0.1.0;
        }
    ",
    path: "wit",
    generate_all,
    additional_derives: [PartialEq],
    pub_export_macro: true,
});

/// One interface that a plugin can export. The word in front names what it uses of the imports, which it shares with [`bub`].
macro_rules! export {
    (plain $module:ident, $inline:literal) => {
        export!(@ $module, $inline, {
            "bub:types/types@0.1.0": crate::wit::bub::types::types,
        });
    };
    (turn $module:ident, $inline:literal) => {
        export!(@ $module, $inline, {
            "bub:types/types@0.1.0": crate::wit::bub::types::types,
            "bub:tape/entries@0.1.0": crate::wit::bub::tape::entries,
            "bub:tape/tape@0.1.0": crate::wit::bub::tape::tape,
            "bub:turn/turn@0.1.0": crate::wit::bub::turn::turn,
        });
    };
    (tools $module:ident, $inline:literal) => {
        export!(@ $module, $inline, {
            "bub:types/types@0.1.0": crate::wit::bub::types::types,
            "bub:tape/entries@0.1.0": crate::wit::bub::tape::entries,
            "bub:tape/tape@0.1.0": crate::wit::bub::tape::tape,
            "bub:turn/turn@0.1.0": crate::wit::bub::turn::turn,
            "bub:tools/schema@0.1.0": crate::wit::bub::tools::schema,
        });
    };
    (tape $module:ident, $inline:literal) => {
        export!(@ $module, $inline, {
            "bub:types/types@0.1.0": crate::wit::bub::types::types,
            "bub:tape/entries@0.1.0": crate::wit::bub::tape::entries,
        });
    };
    (view $module:ident, $inline:literal) => {
        export!(@ $module, $inline, {
            "bub:types/types@0.1.0": crate::wit::bub::types::types,
            "bub:tape/entries@0.1.0": crate::wit::bub::tape::entries,
            "bub:tape/tape@0.1.0": crate::wit::bub::tape::tape,
            "bub:tools/schema@0.1.0": crate::wit::bub::tools::schema,
            "bub:context/view@0.1.0": crate::wit::bub::context::view,
        });
    };
    (provider $module:ident, $inline:literal) => {
        export!(@ $module, $inline, {
            "bub:types/types@0.1.0": crate::wit::bub::types::types,
            "bub:tools/schema@0.1.0": crate::wit::bub::tools::schema,
            "bub:model/exchange@0.1.0": crate::wit::bub::model::exchange,
            "bub:model/sink@0.1.0": crate::wit::bub::model::sink,
        });
    };
    (@ $module:ident, $inline:literal, $with:tt) => {
        pub mod $module {
            wit_bindgen::generate!({
                inline: $inline,
                path: "wit",
                additional_derives: [PartialEq],
                pub_export_macro: true,
                with: $with,
            });
        }
    };
}

export!(plain resolve_session, "package bub:guest@0.1.0; world guest-resolve-session { export bub:hooks/resolve-session@0.1.0; }");
export!(turn load_state, "package bub:guest@0.1.0; world guest-load-state { export bub:hooks/load-state@0.1.0; }");
export!(turn build_prompt, "package bub:guest@0.1.0; world guest-build-prompt { export bub:hooks/build-prompt@0.1.0; }");
export!(turn run_model, "package bub:guest@0.1.0; world guest-run-model { export bub:hooks/run-model@0.1.0; }");
export!(turn run_model_stream, "package bub:guest@0.1.0; world guest-run-model-stream { export bub:hooks/run-model-stream@0.1.0; }");
export!(turn continue_prompt, "package bub:guest@0.1.0; world guest-continue-prompt { export bub:hooks/continue-prompt@0.1.0; }");
export!(turn system_prompt, "package bub:guest@0.1.0; world guest-system-prompt { export bub:hooks/system-prompt@0.1.0; }");
export!(turn save_state, "package bub:guest@0.1.0; world guest-save-state { export bub:hooks/save-state@0.1.0; }");
export!(turn render_outbound, "package bub:guest@0.1.0; world guest-render-outbound { export bub:hooks/render-outbound@0.1.0; }");
export!(plain dispatch_outbound, "package bub:guest@0.1.0; world guest-dispatch-outbound { export bub:hooks/dispatch-outbound@0.1.0; }");
export!(plain on_error, "package bub:guest@0.1.0; world guest-on-error { export bub:hooks/on-error@0.1.0; }");
export!(turn after_turn, "package bub:guest@0.1.0; world guest-after-turn { export bub:hooks/after-turn@0.1.0; }");
export!(turn before_reset, "package bub:guest@0.1.0; world guest-before-reset { export bub:hooks/before-reset@0.1.0; }");
export!(turn before_llm_call, "package bub:guest@0.1.0; world guest-before-llm-call { export bub:hooks/before-llm-call@0.1.0; }");
export!(turn after_llm_call, "package bub:guest@0.1.0; world guest-after-llm-call { export bub:hooks/after-llm-call@0.1.0; }");
export!(turn before_tool_call, "package bub:guest@0.1.0; world guest-before-tool-call { export bub:hooks/before-tool-call@0.1.0; }");
export!(turn after_tool_call, "package bub:guest@0.1.0; world guest-after-tool-call { export bub:hooks/after-tool-call@0.1.0; }");
export!(plain admit_message, "package bub:guest@0.1.0; world guest-admit-message { export bub:hooks/admit-message@0.1.0; }");
export!(plain provide_model_options, "package bub:guest@0.1.0; world guest-provide-model-options { export bub:hooks/provide-model-options@0.1.0; }");
export!(plain commands, "package bub:guest@0.1.0; world guest-commands { export bub:hooks/commands@0.1.0; }");
export!(tape store, "package bub:guest@0.1.0; world guest-store { export bub:tape/store@0.1.0; }");
export!(tape store_query, "package bub:guest@0.1.0; world guest-store-query { export bub:tape/store-query@0.1.0; }");
export!(view selector, "package bub:guest@0.1.0; world guest-selector { export bub:context/selector@0.1.0; }");
export!(tools tools, "package bub:guest@0.1.0; world guest-tools { export bub:tools/tools@0.1.0; }");
export!(provider provider, "package bub:guest@0.1.0; world guest-provider { export bub:model/provider@0.1.0; }");
export!(plain embedder, "package bub:guest@0.1.0; world guest-embedder { export bub:model/embedder@0.1.0; }");
export!(plain channel, "package bub:guest@0.1.0; world guest-channel { export bub:channel/channel@0.1.0; }");
