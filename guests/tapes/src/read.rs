//! Tools that read the tape.

use crate::TAPE;
use bub_guest::tape::{Entry, Search};
use bub_guest::{Result, Schema, Turn, tool};
use serde::Deserialize;

/// Maximum anchors that are listed.
const ANCHORS: usize = 20;

/// The prefix of search results, which later searches skip.
const MARK: &str = "[tape.search]";

/// Say how long this conversation's record is, where its latest anchor stands, and what the last model call used.
#[tool(name = "tape.info", effect = read)]
pub fn info(turn: &Turn) -> Result<String> {
    let info = turn.tape(TAPE)?.info()?;
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

#[derive(Deserialize, Schema)]
pub struct Asked {
    /// Words that must all be there.
    query: String,
    /// Hits, at most.
    #[serde(default = "twenty")]
    #[schema(minimum = 1, maximum = 256, default = 20)]
    limit: u32,
    /// ISO date, or date and time, from which on.
    start: Option<String>,
    /// ISO date, or date and time, up to which.
    end: Option<String>,
    /// Kinds of entries, as `message`, `tool_call`, `tool_result`, `event`, `anchor` [default: message, tool_result].
    #[serde(default = "conversation")]
    kinds: Vec<String>,
}

fn twenty() -> u32 {
    20
}

fn conversation() -> Vec<String> {
    vec!["message".to_owned(), "tool_result".to_owned()]
}

/// Find what was said earlier in this conversation, also what is no longer in view. Words may stand anywhere, in any script;
/// where little is found typing errors are forgiven.
#[tool(name = "tape.search", effect = read)]
pub fn search(turn: &Turn, asked: Asked) -> Result<String> {
    let Asked { query: text, limit, start: since, end: until, kinds } = asked;
    let hits = turn.tape(TAPE)?.search(&Search { text, kinds, since, until, limit, patience: None })?;
    let line = |entry: &Entry| {
        let date = serde_json::to_string(&entry.date)?;
        Ok(format!(r#"{{"date": {date}, "content": {}}}"#, entry.payload))
    };
    let all: Vec<String> = hits.iter().map(|hit| line(&hit.entry)).collect::<Result<_>>()?;
    let shown: Vec<&String> = all.iter().filter(|line| !line.contains(MARK)).collect();
    let mut answer = format!("{MARK}: {} matches ({} filtered)", shown.len(), all.len() - shown.len());
    for line in shown {
        answer.push('\n');
        answer.push_str(line);
    }
    Ok(answer)
}

#[derive(Deserialize)]
struct Anchor {
    name: String,
}

/// List the latest anchors: the phases of this conversation.
#[tool(name = "tape.anchors", effect = read)]
pub fn anchors(turn: &Turn) -> Result<String> {
    let tape = turn.tape(TAPE)?;
    let mut entries: Vec<Entry> = Vec::new();
    while entries.len() < ANCHORS {
        // One at a time, because a query would also return section anchors, of which there may be any number.
        let Some(anchor) = tape.last_anchor(None, entries.last().map(|entry| entry.id))? else { break };
        entries.push(anchor);
    }
    let name = |entry: &Entry| entry.read::<Anchor>().ok().map(|anchor| format!("- {}", anchor.name));
    let names: Vec<String> = entries.iter().rev().filter_map(name).collect();
    Ok(if names.is_empty() { "(no anchors)".to_owned() } else { names.join("\n") })
}
