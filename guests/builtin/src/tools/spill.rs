//! `spill.read`: reads parts of spilled results.

use crate::{APPEND, TAPE};
use bub_guest::tape::{Entry, Query, Start};
use bub_guest::{Error, ErrorKind, Result, Schema, Tape, Turn, tool};
use serde::Deserialize;

const MAX_PARTS: u64 = 4;

#[derive(Deserialize, Schema)]
pub struct Spilled {
    /// From the note.
    handle: String,
    /// The first chunk, from 0 [default: 0].
    #[serde(default)]
    #[schema(minimum = 0)]
    cursor: u64,
    /// Chunks, at most 4 [default: 1].
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 4)]
    count: u64,
    /// Count the cursor from the last chunk back [default: false].
    #[serde(default)]
    from_end: bool,
}

fn one() -> u64 {
    1
}

/// Read a tool result that was too long for the conversation, in chunks of about 16 KB. The note that stands in its place
/// names the handle.
#[tool(name = "spill.read", effect = read)]
pub fn read(turn: &Turn, Spilled { handle, cursor, count, from_end }: Spilled) -> Result<String> {
    let handle = handle.trim();
    if handle.is_empty() || !handle.chars().all(|character| character.is_ascii_alphanumeric()) {
        return Err(Error::invalid(format!("`{handle}` is no handle: it stands in the note in place of the result")));
    }
    let count = count.clamp(1, MAX_PARTS);
    let sidecar = turn.tape(TAPE)?.sidecar(APPEND, "spill")?;
    let missing = || Error::not_found(format!("nothing was put aside as `{handle}`"));
    let manifest = behind(&sidecar, &format!("spill/{handle}/manifest"))?.ok_or_else(missing)?;
    let chunks = manifest.json().get("data").and_then(|data| data.get("chunks")?.as_u64());
    let chunks = chunks.ok_or_else(missing)?;
    if cursor >= chunks {
        return Err(Error::invalid(format!("there is no chunk {cursor}: there are {chunks}, from 0")));
    }
    let (first, end) = match from_end {
        true => (chunks.saturating_sub(cursor + count), chunks - cursor),
        false => (cursor, (cursor + count).min(chunks)),
    };
    let mut text = String::new();
    for chunk in first..end {
        let entry = behind(&sidecar, &format!("spill/{handle}/chunk/{chunk}"))?.ok_or_else(missing)?;
        let payload = entry.json();
        text.push_str(payload.get("results").and_then(|results| results.get(0)?.as_str()).unwrap_or_default());
    }
    Ok(format!("{text}\n[chunks {first} to {} of {chunks}]", end - 1))
}

/// The entry after the anchor of that name.
fn behind(tape: &Tape, anchor: &str) -> Result<Option<Entry>> {
    let query = Query { start: Start::AfterAnchor(anchor.to_owned()), limit: Some(1), ..Query::default() };
    match tape.query(&query) {
        Ok(cursor) => Ok(cursor.next(1)?.pop()),
        Err(Error { kind: ErrorKind::NotFound, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
