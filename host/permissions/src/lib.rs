//! Permissions: grants as users write them, and the policy for tool calls.
//!
//! The crate has no knowledge of plugins, turns or tapes. Its rules are pure functions, which can be tested in
//! isolation.

#![warn(missing_docs, unreachable_pub)]

mod grants;
mod path;
pub mod policy;

pub use grants::{Grants, forms, shell_word};
pub use path::GrantedPath;
