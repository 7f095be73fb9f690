//! Running a command in the foreground or background.

use crate::{SHELL, report};
use bub_guest::process::{Child, Output};
use bub_guest::{Error, Result, Schema, tool};
use serde::Deserialize;

/// Seconds that a command has where nothing is said.
const TIMEOUT: u64 = 30;
/// The longest that the host waits at once.
const LONGEST_WAIT: u64 = 600;
/// Maximum timeout of a command: longer ones belong in the background.
const LONGEST: u64 = 24 * 3600;

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The command, as one types it into bash.
    cmd: String,
    /// The directory to run it in, relative to the workspace, which it is where nothing is said.
    cwd: Option<String>,
    /// How many seconds it may take. In the background it may take as long as it wants.
    #[serde(default = "timeout")]
    #[schema(default = TIMEOUT)]
    timeout_seconds: u64,
    /// Leave it running and come back at once.
    #[serde(default)]
    #[schema(default = false)]
    background: bool,
    /// Run it outside of the sandbox, once the owner has agreed. Only where it cannot work inside.
    #[serde(default)]
    #[schema(default = false)]
    outside: bool,
    /// Why it has to run outside: the owner reads it.
    reason: Option<String>,
}

fn timeout() -> u64 {
    TIMEOUT
}

/// Run a command in a shell and get its output, standard output and error together. It runs in a sandbox, which it may not
/// leave. At its deadline it is ended, with all that it started. In the background it runs on, and the answer is its id.
#[tool(effect = run)]
pub fn bash(asked: Asked) -> Result<String> {
    if asked.cmd.trim().is_empty() {
        return Err(Error::invalid("`cmd` is empty: give a command to run"));
    }
    if asked.outside && asked.reason.as_deref().is_none_or(|reason| reason.trim().is_empty()) {
        return Err(Error::invalid("`reason` is missing: say why the command has to run outside of the sandbox"));
    }
    let seconds = asked.timeout_seconds;
    if !asked.background && !(1..=LONGEST).contains(&seconds) {
        let message = format!(
            "`timeout_seconds` is {seconds}, and must be between 1 and {LONGEST}; what is to run on goes with `background`"
        );
        return Err(Error::invalid(message));
    }
    let directory = asked.cwd.as_deref().filter(|directory| !directory.is_empty());
    let child = SHELL.spawn(&asked.cmd, directory)?;
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

/// Waits until the shell has ended or the time is up.
fn wait(child: &Child, seconds: u64) -> Result<Output> {
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

#[cfg(test)]
mod tests {
    use super::bash;
    use crate::watch::output;
    use bub_guest::ErrorKind;
    use bub_guest::test::Host;
    use serde_json::json;

    fn host() -> Host {
        Host::new().process(|command| (i32::from(command == "false"), format!("ran {command}\n")))
    }

    #[test]
    fn a_command_is_its_output_and_a_failed_one_an_error() {
        let host = host();
        assert_eq!(host.call::<bash>(json!({ "cmd": "true", "cwd": null })).unwrap(), "ran true");
        assert_eq!(host.call::<bash>(json!({ "cmd": "false" })).unwrap_err().kind, ErrorKind::Tool);
        let error = host.call::<bash>(json!({ "cmd": "true", "timeout_seconds": 0 })).unwrap_err();
        assert!(error.message.starts_with("`timeout_seconds` is 0, and must be between 1 and 86400"), "{error:?}");
    }

    #[test]
    fn a_command_outside_of_the_sandbox_has_a_reason() {
        let host = host();
        let outside = |reason| host.call::<bash>(json!({ "cmd": "true", "outside": true, "reason": reason }));
        assert_eq!(outside("to write to the home").unwrap(), "ran true");
        for none in [json!(null), json!(" ")] {
            let error = host.call::<bash>(json!({ "cmd": "true", "outside": true, "reason": none })).unwrap_err();
            assert!(error.message.starts_with("`reason` is missing"), "{error:?}");
        }
    }

    #[test]
    fn a_command_in_the_background_is_found_by_its_id() {
        let host = host();
        let started = host.call::<bash>(json!({ "cmd": "true", "background": true })).unwrap();
        let id = started.as_str().and_then(|said| said.strip_prefix("started: ")).unwrap();
        let said = host.call::<output>(json!({ "shell_id": id, "offset": 4 })).unwrap();
        assert!(said.as_str().unwrap().ends_with("next_offset: 9\noutput:\ntrue"), "{said}");
    }
}
