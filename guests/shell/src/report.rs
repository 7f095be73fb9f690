//! Results of commands as text.

use bub_guest::{Error, Result};

/// Replaces empty output.
const NOTHING: &str = "(no output)";

/// The output of a command that ended.
///
/// # Errors
///
/// `tool`, with the code and the output, when the code is not 0.
pub fn ended(code: i32, output: &str) -> Result<String> {
    match code {
        0 => Ok(shown(output).to_owned()),
        _ => {
            let message = format!("command exited with code {code}\noutput:\n{}", shown(output));
            Err(Error::tool(message))
        }
    }
}

/// A command that timed out, with its output so far.
pub fn timed_out(seconds: u64, output: &str) -> String {
    let said = format!("command timed out after {seconds} seconds and was terminated");
    match output.trim() {
        "" => said,
        output => format!("{said}\noutput:\n{output}"),
    }
}

/// The state of a background command, and a part of its output.
pub fn standing(id: &str, exit_code: Option<i32>, next_offset: u64, output: &str) -> String {
    // Only the end is trimmed: the beginning may continue a line of the previous part.
    let output = if output.trim().is_empty() { NOTHING } else { output.trim_end() };
    format!("id: {id}\nstatus: {}\nnext_offset: {next_offset}\noutput:\n{output}", status(exit_code))
}

/// The end of a background command.
pub fn killed(id: &str, had_ended: bool, exit_code: Option<i32>) -> String {
    let what = if had_ended { "had ended already" } else { "was terminated" };
    format!("id: {id}\nstatus: {}\n{what}", status(exit_code))
}

fn status(exit_code: Option<i32>) -> String {
    exit_code.map_or_else(|| "running".to_owned(), |code| format!("exited with code {code}"))
}

fn shown(output: &str) -> &str {
    match output.trim() {
        "" => NOTHING,
        output => output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::ErrorKind;

    #[test]
    fn a_command_that_ended_well_is_its_output() {
        assert_eq!(ended(0, "\n hello \n").unwrap(), "hello");
        assert_eq!(ended(0, " \n").unwrap(), "(no output)");
    }

    #[test]
    fn a_command_that_failed_is_an_error_with_its_output() {
        let error = ended(3, "out\n").unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Tool, "command exited with code 3\noutput:\nout"));
        assert_eq!(ended(1, "").unwrap_err().message, "command exited with code 1\noutput:\n(no output)");
    }

    #[test]
    fn a_deadline_keeps_the_output_so_far() {
        assert_eq!(timed_out(1, "\n"), "command timed out after 1 seconds and was terminated");
        assert_eq!(timed_out(1, "a\n"), "command timed out after 1 seconds and was terminated\noutput:\na");
    }

    #[test]
    fn a_part_of_output_keeps_its_beginning() {
        let told = standing("bash-1", None, 7, "  a\n");
        assert_eq!(told, "id: bash-1\nstatus: running\nnext_offset: 7\noutput:\n  a");
        let told = standing("bash-1", Some(-15), 0, "");
        assert_eq!(told, "id: bash-1\nstatus: exited with code -15\nnext_offset: 0\noutput:\n(no output)");
    }
}
