//! Plugins: their bytes are found, compiled, linked and described here, and their faults are counted.
//! The module knows neither turns nor hooks. It links and queries plugins through the traits of `code`, which the layer
//! that calls guests implements.

mod cache;
mod code;
mod command;
pub mod compiler;
pub mod compiling;
mod digest;
mod discovery;
mod embedded;
mod engine;
mod fault;
mod grant_registry;
mod image;
mod json;
mod line_rate;
mod load;
mod loaded;
mod manifest;
mod meter;
mod open_circuit;
mod private;
pub mod quarantine;
pub mod recording;
mod registry;
mod schema;
mod set;
mod tool;
mod tool_name;
mod wants;

pub use cache::Cache;
pub use code::{CodeLinker, ExportQuery, Introduction, LinkedCode, Queried};
pub use command::Command;
pub use digest::{digest, is_digest};
pub use discovery::{MAX_FILE, bytes_of, digest_of, user_dir, workspace_dir};
pub use embedded::{embedded, is_embedded};
pub(crate) use engine::YIELD_INTERVAL;
pub use engine::{Engines, open_pagemap};
pub(crate) use fault::Break;
pub use fault::{Fault, FaultKind, contract, too_much_held};
pub use grant_registry::GrantRegistry;
pub use json::{check as check_json, object as json_object, parse as parse_json};
pub use load::LoadContext;
pub use loaded::{Plugin, Source};
pub use manifest::{AfterTurnScope, GrantRequest, Manifest};
pub use meter::{Count, Meter};
pub use open_circuit::OpenCircuit;
pub use private::PrivateDir;
pub use quarantine::Caller;
pub use registry::{PluginRegistry, Untrusted, probe};
pub use set::{PluginSet, grant_command};
pub use tool::{Offer, Tool, effect_name};
pub use tool_name::{is_called, model_name};
