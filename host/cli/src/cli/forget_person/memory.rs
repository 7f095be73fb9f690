//! The memory: which of its lines a person has had written down, and the memory without them.

use anyhow::Result;
use bub_tape::{Draft, Entry, MEMORY, Tape, Words, section_ids, section_version};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The shortest line that can be someone's, in bytes.
const SHORT: usize = 4;

/// Entries that are read at once.
const PAGE: usize = 256;

/// A call or a command that has changed the memory.
pub(super) struct Writer {
    at: Timestamp,
    entry: Entry,
    is_theirs: bool,
}

impl Writer {
    /// The entry, if it calls a tool of the memory.
    pub(super) fn new(entry: &Entry, is_theirs: bool) -> Option<Self> {
        // The memory's own entries are events too.
        let is_call = entry.is("tool_call") || entry.event_name().is_some_and(|name| name == "command");
        if !is_call || !(entry.payload.contains("memory.") || entry.payload.contains("memory_")) {
            return None;
        }
        Some(Self { at: entry.date.parse().ok()?, entry: entry.clone(), is_theirs })
    }

    /// The lines that a call of the person has written: found also when the memory has lost them.
    fn lines(&self) -> Vec<String> {
        let payload: Value = serde_json::from_str(&self.entry.payload).unwrap_or_default();
        let calls = payload.get("calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let content = |call: &Value| {
            let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str()?).ok()?;
            arguments.get("content")?.as_str().map(str::to_owned)
        };
        let texts = calls.iter().filter_map(content).collect::<Vec<_>>();
        let lines = texts.iter().flat_map(|text| text.lines()).map(bare).filter(|line| line.len() >= SHORT);
        lines.map(str::to_owned).collect()
    }
}

/// The texts of the entries of a memory.
fn content(entry: &Entry) -> Option<String> {
    let payload: Value = serde_json::from_str(&entry.payload).ok()?;
    let name = payload.get("name")?.as_str()?;
    if !entry.is("event") || !name.starts_with("memory.") {
        return None;
    }
    payload.get("data")?.get("content")?.as_str().map(str::to_owned)
}

/// Lines of all versions of a memory.
pub(super) async fn lines(tape: &Tape, lines: &mut BTreeSet<String>) -> Result<()> {
    let mut after = 0;
    loop {
        let page = tape.read(after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.id;
        for text in page.iter().filter_map(content) {
            lines.extend(text.lines().map(|line| bare(line).to_owned()).filter(|line| line.len() >= SHORT));
        }
    }
}

/// The lines that the person was the first to have written down.
pub(super) fn theirs(mut lines: BTreeSet<String>, writers: &mut [Writer]) -> BTreeSet<String> {
    writers.sort_by_key(|writer| writer.at);
    lines.extend(writers.iter().filter(|writer| writer.is_theirs).flat_map(Writer::lines));
    let is_theirs = |line: &String| {
        let words = Words::new([line.as_str()]);
        writers.iter().find(|writer| words.stand_in(&writer.entry)).is_some_and(|writer| writer.is_theirs)
    };
    lines.into_iter().filter(is_theirs).collect()
}

/// A line without the mark of a list.
fn bare(line: &str) -> &str {
    line.trim().trim_start_matches("- ").trim()
}

/// Writes the current memory of a tape again without lines of which `goes` says so, if it has any. Returns whether it had.
pub(super) async fn write_without(tape: &Tape, goes: &dyn Fn(&str) -> bool, dry: bool) -> Result<bool> {
    let last = tape.last_id().await?;
    let section = tape.section(MEMORY).await?;
    let (Some(version), Some(_)) = (section_version(&section), section_ids(&section)) else { return Ok(false) };
    let mut changed = false;
    let mut drafts = Vec::new();
    for entry in &section {
        let mut payload: Value = serde_json::from_str(&entry.payload)?;
        if entry.is("anchor") {
            payload["state"]["version"] = json!(version + 1);
        }
        if let Some(text) = content(entry) {
            let kept: Vec<&str> = text.lines().filter(|line| !goes(bare(line))).collect();
            if kept.len() != text.lines().count() {
                changed = true;
                // A day of which only its heading is left has no notes.
                if kept.iter().all(|line| line.trim().is_empty() || line.starts_with("# ")) {
                    continue;
                }
                payload["data"]["content"] = json!(kept.join("\n"));
            }
        }
        drafts.push(Draft::new(&entry.kind, &payload.to_string(), &entry.meta)?);
    }
    if changed && !dry {
        tape.append_direct(last, drafts).await?;
    }
    Ok(changed)
}

/// The entries of superseded versions that hold lines of which `goes` says so.
pub(super) fn holds(entry: &Entry, goes: &dyn Fn(&str) -> bool) -> bool {
    content(entry).is_some_and(|text| text.lines().any(|line| goes(bare(line))))
}
