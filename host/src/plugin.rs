//! Bytes become a plugin here, and calls into it are made here.
//!
//! A fresh instance for each call, from an `InstancePre` that is made once: no state is shared between sessions, there
//! is no mutex around a store, and an instance that faulted is simply gone. What the program carries itself keeps its
//! instances for the calls of one turn (`idle.rs`).

pub mod bindings;
mod cache;
mod call;
mod command;
pub(crate) mod compiler;
pub(crate) mod compiling;
mod embedded;
mod engine;
mod fault;
mod found;
mod idle;
mod image;
mod json;
mod live;
mod load;
mod manifest;
mod meter;
mod name;
mod output;
mod pace;
mod private;
pub(crate) mod quarantine;
mod schema;
mod set;
mod shelf;
mod signature;
mod still;
pub(crate) mod store;
mod tool;
mod wants;

pub use bindings::SERVED;
pub(crate) use cache::Cache;
pub(crate) use call::{Answering, Running, Site, Visit, call, running};
pub use command::Command;
pub(crate) use embedded::embedded;
pub use engine::Engines;
pub(crate) use engine::open_pagemap;
pub use fault::{Fault, FaultKind};
pub(crate) use fault::{contract, one_line, too_much_held};
pub(crate) use json::{check as check_json, object as json_object, parse as parse_json};
pub(crate) use quarantine::Caller;
pub use quarantine::Held;

pub(crate) use found::{bytes_of, digest_of, is_embedded, user_dir, workspace_dir};
pub(crate) use idle::Idle;
pub(crate) use load::{MAX_FILE, digest, is_digest};
pub use load::{OnFault, Plugin, Source};
pub use manifest::{Behind, Manifest, Want};
pub(crate) use meter::{Count, Meter};
pub(crate) use name::check_name;
pub(crate) use private::PrivateDir;
pub use set::PluginSet;
pub(crate) use set::{CALLED_BY_NAME, grant_command, is_called, model_name};
pub use shelf::Untrusted;
pub(crate) use shelf::{Shelf, probe};
pub(crate) use store::LOAD;
pub use tool::Tool;
pub(crate) use tool::{Offer, effect_name};
