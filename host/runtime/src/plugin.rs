//! Loads plugins and calls their exports.
//! Each call has a fresh instance, from an `InstancePre` that is created once: sessions share no state, stores need no
//! mutex, and an instance that faulted is dropped. Embedded plugins reuse their instances for the calls of one turn
//! (`instance_pool`).

pub mod bindings;
mod cache;
mod call;
mod command;
pub mod compiler;
pub mod compiling;
mod determinism;
mod discovery;
mod embedded;
mod engine;
mod fault;
mod host_call_hook;
mod image;
mod instance;
mod instance_pool;
mod json;
mod load;
mod manifest;
mod meter;
mod output;
mod private;
pub mod quarantine;
mod registry;
mod schema;
mod set;
mod signature;
pub mod store;
mod tool;
mod wants;

pub use bindings::SERVED;
pub use cache::Cache;
pub use call::{CallContext, CallFuture, GuestCall, Running, call, running};
pub use command::Command;
pub use embedded::embedded;
pub use engine::Engines;
pub use engine::open_pagemap;
pub use fault::{Fault, FaultKind};
pub use fault::{contract, too_much_held};
pub use json::{check as check_json, object as json_object, parse as parse_json};
pub use quarantine::Caller;
pub use quarantine::OpenCircuit;

pub use discovery::{bytes_of, digest_of, is_embedded, user_dir, workspace_dir};
pub use instance_pool::InstancePool;
pub use load::{MAX_FILE, digest, is_digest};
pub use load::{Plugin, Source};
pub use manifest::{AfterTurnScope, GrantRequest, Manifest};
pub use meter::{Count, Meter};
pub use private::PrivateDir;
pub use registry::Untrusted;
pub use registry::{PluginRegistry, probe};
pub use set::PluginSet;
pub use set::{CALLED_BY_NAME, grant_command, is_called, model_name};
pub use store::LOAD;
pub use tool::Tool;
pub use tool::{Offer, effect_name};
