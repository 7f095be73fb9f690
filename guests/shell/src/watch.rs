//! Background commands: output and termination.

use crate::{SHELL, report};
use bub_guest::process::Child;
use bub_guest::{Error, ErrorKind, Result, Schema, tool};
use serde::Deserialize;

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The id that `bash` said when it started the command in the background.
    shell_id: String,
    /// Where to begin, in bytes: the `next_offset` of the last reading.
    #[serde(default)]
    #[schema(default = 0)]
    offset: u64,
    /// How many bytes to read at most; without it, all that are there.
    limit: Option<u64>,
}

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// The id that `bash` said when it started the command in the background.
    shell_id: String,
}

/// Read what a command in the background has written, and whether it still runs. Once it has ended and all is read, it is
/// forgotten.
#[tool(name = "bash.output", effect = read)]
pub fn output(asked: Reading) -> Result<String> {
    let limit = asked.limit.map_or(u32::MAX, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let offset = asked.offset;
    let child = found(&asked.shell_id)?;
    if limit == 0 {
        // A read returns at least one character. Offset 0, because a read at the end would remove the command.
        let now = child.read(0, 0)?;
        return Ok(report::standing(&asked.shell_id, now.exit_code, offset, ""));
    }
    let piece = child.read(offset, limit)?;
    Ok(report::standing(&asked.shell_id, piece.exit_code, piece.next_offset, &piece.output))
}

/// End a command that runs in the background, with all that it started.
#[tool(name = "bash.kill", effect = run)]
pub fn kill(asked: Ending) -> Result<String> {
    let child = found(&asked.shell_id)?;
    let before = child.read(0, 0)?.exit_code;
    child.kill()?;
    let exit_code = match before {
        None => child.read(0, 0)?.exit_code,
        code => code,
    };
    Ok(report::killed(&asked.shell_id, before.is_some(), exit_code))
}

fn found(id: &str) -> Result<Child> {
    SHELL.find(id).map_err(|error| match error.kind {
        ErrorKind::NotFound => Error::not_found(
            format!(
                "{}: it never was, or it has ended and its output was read to the end; `bash` with `background` starts one and says its id",
                error.message
            ),
        ),
        _ => error,
    })
}
