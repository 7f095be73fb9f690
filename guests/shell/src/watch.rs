//! Commands that were left running: their output, and their end.

use crate::arguments::{Kill, Output};
use crate::bub::process::process::{Child, find};
use crate::bub::types::types::{Error, ErrorKind};
use crate::report;

/// What it wrote from an offset on, and how it stands.
///
/// # Errors
///
/// `not-found` for what is not, or no longer, there.
pub fn output(asked: &Output) -> Result<String, Error> {
    let limit = asked.limit.map_or(u32::MAX, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let offset = asked.offset.unwrap_or(0);
    let child = found(&asked.shell_id)?;
    if limit == 0 {
        // The host gives a character at least. From the beginning: who has read the end of it is not told of it again.
        let now = child.read(0, 0)?;
        return Ok(report::standing(&asked.shell_id, now.exit_code, offset, ""));
    }
    let piece = child.read(offset, limit)?;
    Ok(report::standing(&asked.shell_id, piece.exit_code, piece.next_offset, &piece.output))
}

/// Ends it, with all that it started.
///
/// # Errors
///
/// `not-found` for what is not, or no longer, there.
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
