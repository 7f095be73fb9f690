//! The only `bindgen!` of the host: the contracts of `wit/` as Rust types, under one name each.
//!
//! What a guest exports is looked up by interface ([`Exports`]), so a plugin implements what it exports and no list
//! has to be kept in step with it.

use crate::plugin::store::State;
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

mod generated {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "bub:plugin/hookspecs",
        imports: { default: async | trappable },
        exports: { default: async },
        // What a call was given is kept when it breaks, and given again when somebody looks into it.
        additional_derives: [serde::Serialize, serde::Deserialize],
        with: {
            "bub:turn/turn.turn": crate::grants::turn::TurnHandle,
            "bub:tape/tape.tape": crate::grants::tape::TapeHandle,
            "bub:tape/tape.cursor": crate::grants::tape::Cursor,
            "bub:context/view.view": crate::grants::view::View,
            "bub:model/chat.completion": crate::grants::chat::Completion,
            "bub:model/sink.sink": crate::grants::sink::Sink,
            "bub:process/process.child": crate::grants::process::Child,
        },
    });
}

pub use generated::Hookspecs;
pub use generated::bub::context::view;
pub use generated::bub::model::{chat, exchange, sink, usage};
pub use generated::bub::plugin::{config, log, secrets};
pub use generated::bub::process::process;
pub use generated::bub::tape::{entries, tape};
pub use generated::bub::tools::{schema, toolbox};
pub use generated::bub::turn::{stages, subturn, turn};
pub use generated::bub::types::types;
pub use generated::exports::bub::context::selector;
pub use generated::exports::bub::hooks as exported;
pub use generated::exports::bub::{
    channel, model as model_exports, plugin as plugin_exports, tape as tape_exports, tools as tools_exports,
};

pub use types::{
    Envelope, Error, ErrorKind, MediaItem, MediaKind, MessageKind, ModelChoice, ModelOptions, Principal, Prompt,
    StreamEvent, ToolCall,
};

/// The version of every contract that this host serves.
pub const CONTRACT_VERSION: &str = "0.1.0";

macro_rules! exports {
    ($($field:ident $interface:literal $module:path, $guest:path;)*) => {
        /// Which of the contracts a component implements.
        pub struct Exports { $($field: Option<$module>,)* }

        impl Exports {
            /// Looks up every interface that a plugin may export.
            ///
            /// # Errors
            ///
            /// An interface of the right name that lacks a function.
            pub fn find(pre: &InstancePre<State>) -> wasmtime::Result<Self> {
                Ok(Self { $($field: match pre.component().get_export_index(None, concat!($interface, "@0.1.0")) {
                    Some(_) => Some(<$module>::new(pre)?),
                    None => None,
                },)* })
            }

            /// The exported interfaces, by their names without a version.
            pub fn names(&self) -> Vec<&'static str> {
                let mut names = Vec::new();
                $(if self.$field.is_some() { names.push($interface); })*
                names
            }

            /// Checks the types of all exported functions: a wrong signature is found when a plugin is loaded, not
            /// in the middle of somebody's turn.
            pub fn check(&self, store: &mut Store<State>, instance: &Instance) -> wasmtime::Result<()> {
                $(if let Some(indices) = &self.$field { indices.load(&mut *store, instance)?; })*
                Ok(())
            }

            $(pub fn $field(&self, store: &mut Store<State>, instance: &Instance) -> wasmtime::Result<$guest> {
                match &self.$field {
                    Some(indices) => indices.load(store, instance),
                    None => Err(wasmtime::Error::msg(concat!("`", $interface, "` is not exported"))),
                }
            })*
        }

        /// Names of all interfaces that a plugin may export.
        pub const EXPORTABLE: &[&str] = &[$($interface),*];
    };
}

exports! {
    resolve_session "bub:hooks/resolve-session" exported::resolve_session::GuestIndices, exported::resolve_session::Guest;
    load_state "bub:hooks/load-state" exported::load_state::GuestIndices, exported::load_state::Guest;
    build_prompt "bub:hooks/build-prompt" exported::build_prompt::GuestIndices, exported::build_prompt::Guest;
    run_model "bub:hooks/run-model" exported::run_model::GuestIndices, exported::run_model::Guest;
    run_model_stream "bub:hooks/run-model-stream" exported::run_model_stream::GuestIndices, exported::run_model_stream::Guest;
    continue_prompt "bub:hooks/continue-prompt" exported::continue_prompt::GuestIndices, exported::continue_prompt::Guest;
    system_prompt "bub:hooks/system-prompt" exported::system_prompt::GuestIndices, exported::system_prompt::Guest;
    save_state "bub:hooks/save-state" exported::save_state::GuestIndices, exported::save_state::Guest;
    render_outbound "bub:hooks/render-outbound" exported::render_outbound::GuestIndices, exported::render_outbound::Guest;
    dispatch_outbound "bub:hooks/dispatch-outbound" exported::dispatch_outbound::GuestIndices, exported::dispatch_outbound::Guest;
    on_error "bub:hooks/on-error" exported::on_error::GuestIndices, exported::on_error::Guest;
    after_turn "bub:hooks/after-turn" exported::after_turn::GuestIndices, exported::after_turn::Guest;
    before_reset "bub:hooks/before-reset" exported::before_reset::GuestIndices, exported::before_reset::Guest;
    before_llm_call "bub:hooks/before-llm-call" exported::before_llm_call::GuestIndices, exported::before_llm_call::Guest;
    after_llm_call "bub:hooks/after-llm-call" exported::after_llm_call::GuestIndices, exported::after_llm_call::Guest;
    before_tool_call "bub:hooks/before-tool-call" exported::before_tool_call::GuestIndices, exported::before_tool_call::Guest;
    after_tool_call "bub:hooks/after-tool-call" exported::after_tool_call::GuestIndices, exported::after_tool_call::Guest;
    admit_message "bub:hooks/admit-message" exported::admit_message::GuestIndices, exported::admit_message::Guest;
    provide_model_options "bub:hooks/provide-model-options" exported::provide_model_options::GuestIndices, exported::provide_model_options::Guest;
    commands "bub:hooks/commands" exported::commands::GuestIndices, exported::commands::Guest;
    store "bub:tape/store" tape_exports::store::GuestIndices, tape_exports::store::Guest;
    selector "bub:context/selector" selector::GuestIndices, selector::Guest;
    tools "bub:tools/tools" tools_exports::tools::GuestIndices, tools_exports::tools::Guest;
    provider "bub:model/provider" model_exports::provider::GuestIndices, model_exports::provider::Guest;
    channel "bub:channel/channel" channel::channel::GuestIndices, channel::channel::Guest;
    manifest "bub:plugin/manifest" plugin_exports::manifest::GuestIndices, plugin_exports::manifest::Guest;
}

impl Error {
    /// An error of that kind, without details.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None }
    }

    /// The argument is not what the contract asks for.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// A grant is missing, or nesting has gone too far.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, message)
    }

    /// Whoever wanted the answer has left.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "nobody listens any more")
    }
}

impl ErrorKind {
    /// As it is written on a tape.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::Config => "config",
            Self::Provider => "provider",
            Self::ContextLength => "context_length",
            Self::Tool => "tool",
            Self::Temporary => "temporary",
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Conflict => "conflict",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}
