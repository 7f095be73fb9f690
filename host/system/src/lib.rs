//! Operating system services: files that control the program, the environment at its start, the local time, and child
//! processes.
//!
//! The crate has no knowledge of plugins, tapes or models.

#![warn(missing_docs, unreachable_pub)]

pub mod clock;
pub mod environment;
pub mod files;
pub mod lines;
pub mod process;
