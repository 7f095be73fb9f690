//! Running a command in the foreground or background.

use crate::arguments::{Run, TIMEOUT};
use crate::bub::process::process::{Child, Output, spawn};
use crate::bub::types::types::{Error, ErrorKind};
use crate::report;

/// The host's maximum wait, in seconds.
const LONGEST_WAIT: u64 = 600;
/// Maximum timeout of a command: longer ones belong in the background.
const LONGEST: u64 = 24 * 3600;

/// The output of a command, or the id of a background one.
///
/// # Errors
///
/// `tool` with code and output of a failed command, and errors of the host.
pub fn run(asked: &Run) -> Result<String, Error> {
    if asked.cmd.trim().is_empty() {
        return Err(Error::new(ErrorKind::InvalidInput, "`cmd` is empty: give a command to run".to_owned()));
    }
    let seconds = asked.timeout_seconds.unwrap_or(TIMEOUT);
    if !asked.background && !(1..=LONGEST).contains(&seconds) {
        let message = format!(
            "`timeout_seconds` is {seconds}, and must be between 1 and {LONGEST}; what is to run on goes with `background`"
        );
        return Err(Error::new(ErrorKind::InvalidInput, message));
    }
    let directory = asked.cwd.as_deref().filter(|directory| !directory.is_empty());
    let child = spawn(&asked.cmd, directory)?;
    if asked.background {
        return Ok(format!("started: {}", child.id()));
    }
    let done = wait(&child, seconds)?;
    match done.exit_code {
        Some(code) => report::ended(code, &done.output),
        None => {
            child.kill()?;
            // Include output written during termination.
            Ok(report::timed_out(seconds, &child.wait(0)?.output))
        }
    }
}

/// Waits until the shell has ended, or for the timeout.
fn wait(child: &Child, seconds: u64) -> Result<Output, Error> {
    let mut left = seconds;
    loop {
        let patience = left.min(LONGEST_WAIT);
        let output = child.wait(patience * 1000)?;
        left -= patience;
        if left == 0 || output.exit_code.is_some() {
            return Ok(output);
        }
    }
}
