//! An MCP server: the tools of plugins, whole turns, and tapes as resources, for programs that speak the Model Context
//! Protocol. The crate knows the protocol and the runtime. Who calls, and where turns run, is a [`Connection`]: a process
//! on standard input and output, or a token of the HTTP API.
//!
//! What a client sends is a stranger's text: it is bounded before it is parsed, escaped where it is quoted, and never makes
//! more than [`MAX_CALLS`] calls run at once.

#![warn(missing_docs, unreachable_pub)]

mod carried;
mod connection;
mod elicitation;
mod handler;
mod resources;
mod run;
mod stdio;
mod tools;

pub use connection::{Caller, Connection, Outcome, Work};
pub use elicitation::Elicitor;
pub use handler::McpServer;
pub use rmcp;
pub use stdio::{LineTransport, MAX_LINE};

/// Calls of tools that one server runs or has waiting at once. Further ones are refused.
pub const MAX_CALLS: usize = 64;
