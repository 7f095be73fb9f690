//! Permissions: grants as users write them, and the policy for tool calls.
//!
//! The crate has no knowledge of plugins, turns or tapes. Its rules are pure functions, which can be tested in
//! isolation.

#![warn(missing_docs, unreachable_pub)]

mod grant;
mod grants;
mod path;
pub mod policy;

pub use grant::{Grant, GrantKind, forms, shell_word};
pub use grants::Grants;
pub use path::GrantedPath;
