//! An agent for editors: sessions, prompts and questions to the user, over the Agent Client Protocol. The crate knows the
//! protocol and the runtime; the program gives it a pair of streams and a configuration.
//!
//! What an editor sends is a stranger's text: it is bounded before it is parsed, and escaped where it is quoted. What a model
//! or a tool says is as well: no text shapes a title or a question that an editor shows.

#![warn(missing_docs, unreachable_pub)]

mod agent;
mod calls;
mod channel;
mod client;
mod commands;
mod history;
mod lookup;
mod message;
mod modes;
mod prompt;
mod requests;
mod servers;
mod session;
mod turn;
mod updates;
mod wording;
mod workspaces;

pub use agent::{Options, serve};

/// The longest message of an editor, in bytes.
pub const MAX_LINE: usize = 16 << 20;

/// Requests that are served at once. Further ones are refused.
pub const MAX_REQUESTS: usize = 64;

/// Sessions that are open at once. Further ones are refused.
pub const MAX_SESSIONS: usize = 256;
