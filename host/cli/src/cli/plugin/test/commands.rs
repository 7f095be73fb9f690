//! Runs a command of a project.

use bub_types::text::{one_line, shown};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// How much of the output is kept, in bytes: its end.
const MAX_OUTPUT: usize = 256 << 10;

/// A command that did not succeed.
pub(in crate::cli::plugin) struct Failure {
    /// How it ended.
    pub(in crate::cli::plugin) why: String,
    output: String,
}

impl Failure {
    /// The end of its output.
    pub(in crate::cli::plugin) fn last_lines(&self, most: usize) -> Vec<String> {
        let lines: Vec<&str> = self.output.lines().collect();
        lines[lines.len().saturating_sub(most)..].iter().map(|line| one_line(&shown(line))).collect()
    }
}

/// Runs it by a shell in that directory. Returns the failure, if it failed.
///
/// # Errors
///
/// There is no shell, or its output cannot be read.
pub(in crate::cli::plugin) fn run(dir: &Path, command: &str) -> io::Result<Option<Failure>> {
    let mut shell = Command::new("sh");
    // One stream, so that the lines stay in order.
    shell.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(dir);
    let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        let mut piece = [0; 8 << 10];
        loop {
            match stdout.read(&mut piece)? {
                0 => break,
                read => output.extend_from_slice(&piece[..read]),
            }
            if output.len() > 2 * MAX_OUTPUT {
                output.drain(..output.len() - MAX_OUTPUT);
            }
        }
    }
    let status = child.wait()?;
    let output = String::from_utf8_lossy(&output).into_owned();
    Ok((!status.success()).then(|| Failure { why: status.to_string(), output }))
}
