//! Background commands: output and termination.

use crate::arguments::{Kill, Output};
use crate::bub::process::process::{Child, find};
use crate::bub::types::types::{Error, ErrorKind};
use crate::report;

/// The output from an offset on, and the state.
///
/// # Errors
///
/// `not-found` if there is no such command, or no longer.
pub fn output(asked: &Output) -> Result<String, Error> {
    let limit = asked.limit.map_or(u32::MAX, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let offset = asked.offset.unwrap_or(0);
    let child = found(&asked.shell_id)?;
    if limit == 0 {
        // A read returns at least one character. Offset 0, because a read at the end would remove the command.
        let now = child.read(0, 0)?;
        return Ok(report::standing(&asked.shell_id, now.exit_code, offset, ""));
    }
    let piece = child.read(offset, limit)?;
    Ok(report::standing(&asked.shell_id, piece.exit_code, piece.next_offset, &piece.output))
}

/// Terminates a command and its descendants.
///
/// # Errors
///
/// `not-found` if there is no such command, or no longer.
pub fn kill(asked: &Kill) -> Result<String, Error> {
    let child = found(&asked.shell_id)?;
    let before = child.read(0, 0)?.exit_code;
    child.kill()?;
    let exit_code = match before {
        None => child.read(0, 0)?.exit_code,
        code => code,
    };
    Ok(report::killed(&asked.shell_id, before.is_some(), exit_code))
}

fn found(id: &str) -> Result<Child, Error> {
    find(id).map_err(|error| match error.kind {
        ErrorKind::NotFound => Error::new(
            ErrorKind::NotFound,
            format!(
                "{}: it never was, or it has ended and its output was read to the end; `bash` with `background` starts one and says its id",
                error.message
            ),
        ),
        _ => error,
    })
}
