//! What is permitted: grants as users write them, and the policy that judges tool calls.
//!
//! The crate knows no plugin, turn or tape. It answers from what it is given, so that its rules can be tested by themselves.

#![warn(missing_docs, unreachable_pub)]

mod grants;
mod path;
pub mod policy;

pub use grants::{Grants, forms, hook_grant, shell_word};
pub use path::GrantedPath;
