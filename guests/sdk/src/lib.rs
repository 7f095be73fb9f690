//! Plugins for bub-wasm, in Rust.
//!
//! A plugin is a WebAssembly component: tools that a model calls, and hooks that the host calls in the stages of a turn. With
//! this crate its author writes functions:
//!
//! ```
//! use bub_guest::{Result, Schema, tool};
//!
//! #[derive(serde::Deserialize, Schema)]
//! struct Arguments {
//!     /// Who is greeted.
//!     name: String,
//! }
//!
//! /// Greet somebody.
//! #[tool(effect = read)]
//! fn greet(asked: Arguments) -> Result<String> {
//!     Ok(format!("hello, {}", asked.name))
//! }
//!
//! bub_guest::plugin! {
//!     about: "Greets.",
//!     tools: [greet],
//! }
//! # fn main() {}
//! ```
//!
//! - [`tool`](macro@tool) makes a tool of a function, and [`Schema`](derive@Schema) the JSON Schema of its arguments.
//! - [`plugin!`] says what the plugin is, and makes its manifest: its name and description, the grants that it asks for with
//!   the reasons, the schema of its configuration, and its tools. It is made at compile time, of what is exported and used.
//! - [`hook`] lists the hooks, and [`grant`] what a plugin can call.
//! - [`test`](mod@test) runs a plugin natively against fakes, so that `cargo test` needs no WebAssembly.
//!
//! `cargo build --release --target wasm32-wasip2` builds the component of a crate with `crate-type = ["cdylib"]`.
//!
//! The crate adds no layer that a plugin cannot leave: [`wit`] holds the bindings that `wit-bindgen` makes of the contracts,
//! and a plugin can be written with `wit-bindgen` alone, as `guests/echo` is. `cargo expand` shows what the macros make.

#![warn(missing_docs)]

// So that the paths in derived code work in this crate too.
extern crate self as bub_guest;

pub mod agent;
mod backend;
pub mod config;
pub mod error;
pub mod grant;
pub mod hook;
pub mod http;
pub mod json;
pub mod log;
pub mod manifest;
pub mod model;
mod plugin;
pub mod process;
pub mod recall;
pub mod schema;
mod secret;
pub mod tape;
#[cfg(not(target_family = "wasm"))]
pub mod test;
pub mod tool;
pub mod turn;
pub mod view;
pub mod wit;

pub use error::{Context, Error, ErrorKind, Result};
pub use schema::Schema;
pub use tape::Tape;
pub use tool::tool;
pub use turn::{CutOrder, Envelope, MessageKind, Principal, Prompt, SystemPart, ToolCall, Turn};
pub use view::View;

/// The examples of the README are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
