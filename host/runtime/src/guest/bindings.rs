//! The only `bindgen!`s of the host: the contracts of `wit/` as Rust types, under one name each, and those of
//! `wit/trial`, which speak in the same types.
//!
//! The exports of a guest are looked up by interface ([`Exports`]), so a plugin implements what it exports and no list
//! has to be kept in step with it.

use super::state::State;
use wasmtime::Store;
use wasmtime::component::{Component, Instance, InstancePre};

/// The interfaces of plain records, whose Rust types are those of `bub-types`: they cross the boundary as they are, and
/// nothing converts them.
#[allow(missing_docs, reason = "the macro stands in for generated code")]
mod shared {
    /// The items that wasmtime's bindings expect beside the types of an interface: the implementation of its functions,
    /// of which there are none.
    macro_rules! without_functions {
        ($interface:literal) => {
            pub trait HostWithStore<T>: wasmtime::component::HasData {}
            impl<T, D: ?Sized + wasmtime::component::HasData> HostWithStore<T> for D {}

            pub trait Host {}
            impl<T: ?Sized> Host for T {}

            pub fn add_to_linker<T: 'static, D: HostWithStore<T>>(
                linker: &mut wasmtime::component::Linker<T>,
                _host: fn(&mut T) -> D::Data<'_>,
            ) -> wasmtime::Result<()> {
                linker.instance($interface).map(drop)
            }
        };
    }

    /// `bub:types/types`.
    pub mod types {
        without_functions!("bub:types/types@0.1.0");
        pub use bub_types::{
            CutOrder, Envelope, Error, ErrorKind, Json, MediaItem, MediaKind, MessageKind, ModelChoice, ModelOptions,
            Passage, Principal, Prompt, Provenance, StreamEvent, SystemPart, ToolCall,
        };
    }

    /// `bub:tools/schema`.
    pub mod schema {
        without_functions!("bub:tools/schema@0.1.0");
        pub use bub_types::{Effect, ToolSpec};
    }
}

#[allow(missing_docs, reason = "documented in wit/")]
mod generated {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "bub:plugin/hookspecs",
        imports: { default: async | trappable },
        exports: { default: async },
        // Arguments are recorded when a call faults, and used again when it is replayed.
        additional_derives: [serde::Serialize, serde::Deserialize],
        with: {
            "bub:types/types": super::shared::types,
            "bub:tools/schema": super::shared::schema,
            "bub:turn/turn.turn": crate::guest::handles::TurnHandle,
            "bub:tape/tape.tape": crate::guest::handles::TapeHandle,
            "bub:tape/tape.cursor": crate::guest::handles::Cursor,
            "bub:context/view.view": crate::guest::view::View,
            "bub:model/chat.completion": crate::guest::completion::Completion,
            "bub:model/sink.sink": crate::guest::handles::Sink,
            "bub:process/process.child": crate::guest::handles::Child,
            "bub:process/servers.server": crate::guest::handles::Server,
        },
    });
}

/// Contracts of a version that is on trial. All but their own functions is what `generated` has.
mod trial {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../wit/trial"],
        world: "bub:hooks/trial@0.2.0",
        imports: { default: async | trappable },
        exports: { default: async },
        with: {
            "bub:types/types": super::shared::types,
            "bub:tape/entries": super::generated::bub::tape::entries,
            "bub:tape/tape": super::generated::bub::tape::tape,
            "bub:turn/turn": super::generated::bub::turn::turn,
        },
    });
}

pub use generated::Hookspecs;
pub use generated::bub::context::{recall, view};
pub use generated::bub::model::{chat, exchange, sink, usage};
pub use generated::bub::plugin::{config, log, secrets};
pub use generated::bub::process::{process, servers};
pub use generated::bub::tape::{entries, tape};
pub use generated::bub::tools::toolbox;
pub use generated::bub::turn::{stages, subturn, turn};
pub use generated::exports::bub::context::selector;
pub use generated::exports::bub::hooks as exported;
pub use generated::exports::bub::{
    channel, model as model_exports, plugin as plugin_exports, tape as tape_exports, tools as tools_exports,
};
pub use shared::{schema, types};

macro_rules! exports {
    ($($field:ident $interface:literal $version:literal $module:path, $guest:path;)*) => {
        /// Which of the contracts a component implements.
        pub struct Exports { $($field: Option<$module>,)* }

        impl Exports {
            /// Looks up every interface that a plugin may export.
            ///
            /// # Errors
            ///
            /// An interface of the right name that lacks a function.
            pub fn find(pre: &InstancePre<State>) -> wasmtime::Result<Self> {
                Ok(Self { $($field: match pre.component().get_export_index(None, concat!($interface, "@", $version)) {
                    Some(_) => Some(<$module>::new(pre)?),
                    None => None,
                },)* })
            }

            $(#[doc = concat!("Loads the interface `", $interface, "` of an instance.")]
            pub fn $field(&self, store: &mut Store<State>, instance: &Instance) -> wasmtime::Result<$guest> {
                match &self.$field {
                    Some(indices) => indices.load(store, instance),
                    None => Err(wasmtime::Error::msg(concat!("`", $interface, "` is not exported"))),
                }
            })*

            /// Checks the types of all exported functions: a wrong signature is found when a plugin is loaded, not
            /// in the middle of a turn.
            pub fn check(
                &self, store: &mut Store<State>, instance: &Instance, component: &Component,
            ) -> wasmtime::Result<()> {
                $(if let Some(indices) = &self.$field {
                    const NAME: &str = concat!($interface, "@", $version);
                    let other = |error: wasmtime::Error| {
                        let how = super::signature::difference(component, NAME).unwrap_or_else(|| format!("{error:#}"));
                        crate::plugin::contract(format!("its export `{NAME}` has another type: {how}"))
                    };
                    indices.load(&mut *store, instance).map_err(other)?;
                })*
                Ok(())
            }
        }

        /// The contracts that a plugin may export, by name and version. A plugin of the same version, less its last
        /// number, is served.
        pub const SERVED: &[(&str, &str)] = &[$(($interface, $version)),*];
    };
}

exports! {
    resolve_session "bub:hooks/resolve-session" "0.1.0" exported::resolve_session::GuestIndices, exported::resolve_session::Guest;
    load_state "bub:hooks/load-state" "0.1.0" exported::load_state::GuestIndices, exported::load_state::Guest;
    build_prompt "bub:hooks/build-prompt" "0.1.0" exported::build_prompt::GuestIndices, exported::build_prompt::Guest;
    build_prompt_trial "bub:hooks/build-prompt" "0.2.0" trial::exports::bub::hooks0_2_0::build_prompt::GuestIndices, trial::exports::bub::hooks0_2_0::build_prompt::Guest;
    run_model "bub:hooks/run-model" "0.1.0" exported::run_model::GuestIndices, exported::run_model::Guest;
    run_model_stream "bub:hooks/run-model-stream" "0.1.0" exported::run_model_stream::GuestIndices, exported::run_model_stream::Guest;
    continue_prompt "bub:hooks/continue-prompt" "0.1.0" exported::continue_prompt::GuestIndices, exported::continue_prompt::Guest;
    system_prompt "bub:hooks/system-prompt" "0.1.0" exported::system_prompt::GuestIndices, exported::system_prompt::Guest;
    save_state "bub:hooks/save-state" "0.1.0" exported::save_state::GuestIndices, exported::save_state::Guest;
    render_outbound "bub:hooks/render-outbound" "0.1.0" exported::render_outbound::GuestIndices, exported::render_outbound::Guest;
    dispatch_outbound "bub:hooks/dispatch-outbound" "0.1.0" exported::dispatch_outbound::GuestIndices, exported::dispatch_outbound::Guest;
    on_error "bub:hooks/on-error" "0.1.0" exported::on_error::GuestIndices, exported::on_error::Guest;
    after_turn "bub:hooks/after-turn" "0.1.0" exported::after_turn::GuestIndices, exported::after_turn::Guest;
    before_reset "bub:hooks/before-reset" "0.1.0" exported::before_reset::GuestIndices, exported::before_reset::Guest;
    before_llm_call "bub:hooks/before-llm-call" "0.1.0" exported::before_llm_call::GuestIndices, exported::before_llm_call::Guest;
    after_llm_call "bub:hooks/after-llm-call" "0.1.0" exported::after_llm_call::GuestIndices, exported::after_llm_call::Guest;
    before_tool_call "bub:hooks/before-tool-call" "0.1.0" exported::before_tool_call::GuestIndices, exported::before_tool_call::Guest;
    after_tool_call "bub:hooks/after-tool-call" "0.1.0" exported::after_tool_call::GuestIndices, exported::after_tool_call::Guest;
    admit_message "bub:hooks/admit-message" "0.1.0" exported::admit_message::GuestIndices, exported::admit_message::Guest;
    provide_model_options "bub:hooks/provide-model-options" "0.1.0" exported::provide_model_options::GuestIndices, exported::provide_model_options::Guest;
    commands "bub:hooks/commands" "0.1.0" exported::commands::GuestIndices, exported::commands::Guest;
    store "bub:tape/store" "0.1.0" tape_exports::store::GuestIndices, tape_exports::store::Guest;
    store_query "bub:tape/store-query" "0.1.0" tape_exports::store_query::GuestIndices, tape_exports::store_query::Guest;
    selector "bub:context/selector" "0.1.0" selector::GuestIndices, selector::Guest;
    tools "bub:tools/tools" "0.1.0" tools_exports::tools::GuestIndices, tools_exports::tools::Guest;
    provider "bub:model/provider" "0.1.0" model_exports::provider::GuestIndices, model_exports::provider::Guest;
    embedder "bub:model/embedder" "0.1.0" model_exports::embedder::GuestIndices, model_exports::embedder::Guest;
    channel "bub:channel/channel" "0.1.0" channel::channel::GuestIndices, channel::channel::Guest;
    manifest "bub:plugin/manifest" "0.1.0" plugin_exports::manifest::GuestIndices, plugin_exports::manifest::Guest;
}
