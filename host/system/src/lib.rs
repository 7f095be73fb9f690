//! What the operating system has: files that the program obeys, the environment that it was started with, and programs that
//! it starts.
//!
//! The crate knows nothing of plugins, tapes or models.

#![warn(missing_docs, unreachable_pub)]

pub mod environment;
pub mod files;
pub mod process;
