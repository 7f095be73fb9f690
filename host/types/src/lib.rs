//! The plain types that all crates of bub-wasm share.
//!
//! The crate has no knowledge of WebAssembly, tapes, models or HTTP. It contains:
//!
//! - the records of the contract `bub:types/types` and of `bub:tools/schema` ([`Envelope`], [`Principal`], [`Error`],
//!   [`ToolSpec`], …) as plain data. With the feature `component` they can cross the boundary of a component as they are,
//!   so no second set of them has to be generated and converted;
//! - [`hook`]: the table of hooks;
//! - [`plugin_name`]: which names plugins may have;
//! - [`text`] and [`suggest`]: escaping of untrusted text for terminals and logs, and "did you mean".
//!
//! ```
//! use bub_types::{Error, ErrorKind, text::one_line};
//!
//! let error = Error::new(ErrorKind::NotFound, "no tape\nof that name");
//! assert_eq!(one_line(&error.message), "no tape of that name");
//! assert_eq!(error.kind.name(), "not_found");
//! ```

#![warn(missing_docs, unreachable_pub)]

mod error;
pub mod hook;
mod message;
mod model;
pub mod plugin_name;
mod session;
pub mod suggest;
pub mod text;
mod tool;

pub use error::{Error, ErrorKind};
pub use message::{
    CutOrder, Envelope, MediaItem, MediaKind, MessageKind, Passage, Principal, Prompt, Provenance, SystemPart,
};
pub use model::{ModelChoice, ModelOptions, StreamEvent};
pub use session::{EPHEMERAL_PREFIX, check_session_id, is_ephemeral};
pub use tool::{Effect, ToolCall, ToolSpec};

/// JSON as text, as in the contracts. This crate does not parse it.
pub type Json = String;
