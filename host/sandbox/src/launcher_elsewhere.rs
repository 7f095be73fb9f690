//! Systems other than Linux have no launcher.

use std::ffi::OsString;
use std::process::ExitCode;

/// The name of the hidden command.
pub const COMMAND: &str = "sandbox-exec";

/// Does nothing.
pub fn keep_descriptors() {}

/// Always fails: nothing starts it here.
pub fn main(_: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}
