//! An agent runtime in which every stage of a turn is a hook, every implementation of a hook is a sandboxed WebAssembly
//! component, and every fact is an entry on an append-only tape.
//!
//! The rooms, in the order in which a message meets them; imports point downward only.

pub mod channel;
pub mod cli;
pub mod config;
pub mod error;
mod files;
pub mod gateway;
pub mod grants;
pub mod hooks;
pub mod host;
pub mod http;
mod inline;
pub mod model;
mod nearest;
pub mod net;
pub mod plugin;
pub mod process;
pub mod recall;
pub mod redact_stream;
pub mod secret;
pub mod tape;
pub mod turn;
pub mod usage;
mod variables;
mod wording;
