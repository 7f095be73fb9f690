//! Tools that read the tape.

use crate::bub::tape::entries::{Entry, Search};
use crate::bub::tape::tape::Tape;
use crate::bub::types::types::Error;
use serde_json::Value;

/// Maximum anchors that are listed.
const ANCHORS: usize = 20;

/// The prefix of search results, which later searches skip.
const MARK: &str = "[tape.search]";

pub fn info(tape: &Tape) -> Result<String, Error> {
    let info = tape.info()?;
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "None".to_owned());
    Ok(format!(
        "name: {}\nentries: {}\nanchors: {}\nlast_anchor: {}\nentries_since_last_anchor: {}\n\
         last_token_usage: {}\nlast_token_cache_hit_rate: {}",
        info.name,
        info.entries,
        info.anchors,
        or_none(info.last_anchor),
        info.entries_since_last_anchor,
        or_none(info.last_token_usage.map(|tokens| tokens.to_string())),
        or_none(info.cache_hit_rate.map(|rate| format!("{:.2}%", rate * 100.0))),
    ))
}

pub fn search(tape: &Tape, arguments: &Value) -> Result<String, Error> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
    let kinds = match arguments.get("kinds").and_then(Value::as_array) {
        Some(kinds) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        None => vec!["message".to_owned(), "tool_result".to_owned()],
    };
    let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(20);
    let hits = tape.search(&Search {
        text: text("query").unwrap_or_default(),
        kinds,
        since: text("start"),
        until: text("end"),
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        patience: None,
    })?;
    let line =
        |entry: &Entry| format!(r#"{{"date": {}, "content": {}}}"#, Value::from(entry.date.as_str()), entry.payload);
    let all: Vec<String> = hits.iter().map(|hit| line(&hit.entry)).collect();
    let shown: Vec<&String> = all.iter().filter(|line| !line.contains(MARK)).collect();
    let mut answer = format!("{MARK}: {} matches ({} filtered)", shown.len(), all.len() - shown.len());
    for line in shown {
        answer.push('\n');
        answer.push_str(line);
    }
    Ok(answer)
}

pub fn anchors(tape: &Tape) -> Result<String, Error> {
    let mut entries: Vec<Entry> = Vec::new();
    while entries.len() < ANCHORS {
        // One at a time, because a query would also return section anchors, of which there may be any number.
        let Some(anchor) = tape.last_anchor(None, entries.last().map(|entry| entry.id))? else { break };
        entries.push(anchor);
    }
    let name = |entry: &Entry| {
        let payload: Value = serde_json::from_str(&entry.payload).ok()?;
        Some(format!("- {}", payload.get("name")?.as_str()?))
    };
    let names: Vec<String> = entries.iter().rev().filter_map(name).collect();
    Ok(if names.is_empty() { "(no anchors)".to_owned() } else { names.join("\n") })
}
