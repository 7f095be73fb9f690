//! The export of what is erased: a JSON object a line, written to the disk before anything is erased.

use super::find::{Found, FoundTape};
use crate::cli::text;
use anyhow::{Context, Result};
use bub_gateway::KeptRow;
use bub_tape::Entry;
use jiff::Timestamp;
use serde_json::{Value, json, value::RawValue};
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The longest part of a file's name that is taken from a sender.
const MAX_NAME: usize = 40;

/// Writes the export. Returns its path.
pub(super) fn write(named: Option<&Path>, person: &str, found: &Found, rows: &[KeptRow]) -> Result<PathBuf> {
    let path = named.map_or_else(|| default_path(person), Path::to_owned);
    let shown = text::line(&path.display().to_string());
    let wrong = || format!("nothing is erased: `{shown}` cannot be written");
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).with_context(wrong)?;
    let mut out = BufWriter::new(file);
    let mut write = |value: &Value, entry: Option<&Entry>| -> std::io::Result<()> {
        let mut line = value.to_string();
        if let Some(entry) = entry {
            // As it stands on the tape, byte for byte.
            let raw =
                RawValue::from_string(entry.line()).map_or_else(|_| "null".to_owned(), |raw| raw.get().to_owned());
            line.truncate(line.len() - 1);
            line = format!("{line},\"entry\":{raw}}}");
        }
        writeln!(out, "{line}")
    };
    let head = json!({ "sender": person, "exported": Timestamp::now().to_string(), "format": 1 });
    write(&head, None).with_context(wrong)?;
    for one in &found.tapes {
        let FoundTape { tape, session, turns, derived, superseded, .. } = one;
        let place = |sidecar: Option<&str>| json!({ "tape": tape.name(), "session": session, "sidecar": sidecar });
        for entry in turns {
            write(&place(None), Some(entry)).with_context(wrong)?;
        }
        for (sidecar, entries) in derived.iter().chain(superseded) {
            for entry in entries {
                write(&place(sidecar.as_deref()), Some(entry)).with_context(wrong)?;
            }
        }
        for entry in one.archived.values().chain(one.archived_derived.values()) {
            let place = json!({ "archive": tape.name(), "session": session });
            write(&place, Some(entry)).with_context(wrong)?;
        }
    }
    for line in &found.lines {
        write(&json!({ "memory": line }), None).with_context(wrong)?;
    }
    for KeptRow { table, key, envelope, answer, .. } in rows {
        let mut row = json!({ "inbox": table, "key": key, "envelope": envelope });
        if !answer.is_null() {
            row["answer"] = answer.clone();
        }
        write(&row, None).with_context(wrong)?;
    }
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(wrong)?;
    file.sync_all().with_context(wrong)?;
    Ok(path)
}

/// A file of the current folder.
fn default_path(person: &str) -> PathBuf {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let name: String = person.chars().take(MAX_NAME).map(|c| if is_plain(c) { c } else { '_' }).collect();
    PathBuf::from(format!("forgotten-{name}-{}.jsonl", Timestamp::now().strftime("%Y%m%d-%H%M%S")))
}
