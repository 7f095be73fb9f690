//! Exports every contract of 0.1.0 that a plugin may export, and calls every function that it may import.

wit_bindgen::generate!({
    inline: "
        package bub:frozen@0.1.0;
        world frozen {
            include bub:plugin/imports@0.1.0;
            export bub:plugin/manifest@0.1.0;
            export bub:hooks/resolve-session@0.1.0;
            export bub:hooks/load-state@0.1.0;
            export bub:hooks/build-prompt@0.1.0;
            export bub:hooks/run-model@0.1.0;
            export bub:hooks/continue-prompt@0.1.0;
            export bub:hooks/system-prompt@0.1.0;
            export bub:hooks/save-state@0.1.0;
            export bub:hooks/render-outbound@0.1.0;
            export bub:hooks/dispatch-outbound@0.1.0;
            export bub:hooks/on-error@0.1.0;
            export bub:hooks/after-turn@0.1.0;
            export bub:hooks/before-reset@0.1.0;
            export bub:hooks/before-llm-call@0.1.0;
            export bub:hooks/after-llm-call@0.1.0;
            export bub:hooks/before-tool-call@0.1.0;
            export bub:hooks/after-tool-call@0.1.0;
            export bub:hooks/admit-message@0.1.0;
            export bub:hooks/provide-model-options@0.1.0;
            export bub:hooks/commands@0.1.0;
            export bub:tape/store@0.1.0;
            export bub:context/selector@0.1.0;
            export bub:tools/tools@0.1.0;
            export bub:model/provider@0.1.0;
            export bub:channel/channel@0.1.0;
        }
    ",
    path: "wit",
    generate_all,
});

mod exported;
mod imported;

struct Frozen;

export!(Frozen);
