//! `spill.read`: reads parts of spilled results.

use super::invalid;
use crate::bub::tape::entries::{Entry, Query, Start};
use crate::bub::tape::tape::Tape;
use crate::bub::types::types::ErrorKind;
use crate::{Error, Turn, json};
use serde_json::Value;

const MOST: u64 = 4;

pub fn read(turn: &Turn, arguments: &Value) -> Result<String, Error> {
    let handle = arguments.get("handle").and_then(Value::as_str).unwrap_or_default().trim();
    if handle.is_empty() || !handle.chars().all(|character| character.is_ascii_alphanumeric()) {
        return Err(invalid(format!("`{handle}` is no handle: it stands in the note in place of the result")));
    }
    let number = |key: &str, unset: u64| arguments.get(key).and_then(Value::as_u64).unwrap_or(unset);
    let (cursor, count) = (number("cursor", 0), number("count", 1).clamp(1, MOST));
    let from_end = arguments.get("from_end").and_then(Value::as_bool).unwrap_or(false);
    let sidecar = turn.tape()?.sidecar("spill")?;
    let missing = || Error::new(ErrorKind::NotFound, format!("nothing was put aside as `{handle}`"));
    let manifest = behind(&sidecar, &format!("spill/{handle}/manifest"))?.ok_or_else(missing)?;
    let chunks = json::value(&manifest.payload).get("data").and_then(|data| data.get("chunks")?.as_u64());
    let chunks = chunks.ok_or_else(missing)?;
    if cursor >= chunks {
        return Err(invalid(format!("there is no chunk {cursor}: there are {chunks}, from 0")));
    }
    let (first, end) = match from_end {
        true => (chunks.saturating_sub(cursor + count), chunks - cursor),
        false => (cursor, (cursor + count).min(chunks)),
    };
    let mut text = String::new();
    for chunk in first..end {
        let entry = behind(&sidecar, &format!("spill/{handle}/chunk/{chunk}"))?.ok_or_else(missing)?;
        let payload = json::value(&entry.payload);
        text.push_str(payload.get("results").and_then(|results| results.get(0)?.as_str()).unwrap_or_default());
    }
    Ok(format!("{text}\n[chunks {first} to {} of {chunks}]", end - 1))
}

/// The entry after the anchor of that name.
fn behind(tape: &Tape, anchor: &str) -> Result<Option<Entry>, Error> {
    let query = Query {
        start: Start::AfterAnchor(anchor.to_owned()),
        kinds: Vec::new(),
        name: None,
        text: None,
        since: None,
        until: None,
        newest_first: false,
        limit: Some(1),
    };
    match tape.query(&query) {
        Ok(cursor) => Ok(cursor.next(1)?.pop()),
        Err(Error { kind: ErrorKind::NotFound, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
