//! `tape context --against`: two selections side by side.

use super::super::text::{self, WIDTH};
use super::outline::content;
use anyhow::Result;
use bub_runtime::imports::stages::Request;
use bub_runtime::turn::Turn;
use bub_tape::{Entry, json};
use serde_json::{Value, json as json_value};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// Entries that are shown of those that only one selection has.
const MAX_SHOWN: usize = 12;

/// Newest entries that are compared: a tape may have millions.
const MAX_ENTRIES: usize = 10_000;

/// Widths of a name and of a number.
const NAME: usize = 24;
const NUMBER: usize = 22;

/// Kinds of entries that are sent to a model.
const MODEL_KINDS: [&str; 4] = ["anchor", "message", "tool_call", "tool_result"];

/// The selection of one selector.
pub(super) struct Side {
    selector: String,
    /// The error of the selector: everything was selected instead.
    fallback: Option<String>,
    messages: usize,
    /// Estimated tokens of each part of the request.
    tokens: Vec<(&'static str, u64)>,
    took: Duration,
    fuel: u64,
    /// Selected entries, unchanged.
    entries: BTreeSet<u64>,
    /// Messages that the selector made.
    own: Vec<String>,
    /// The newest entries that it could select.
    window: Vec<Entry>,
    /// Whether there are further ones.
    is_cut: bool,
}

/// Analyses a request.
pub(super) async fn side(selector: &str, turn: &Arc<Turn>, request: Request) -> Result<Side> {
    let mut window = request.view.newest(MAX_ENTRIES).await?;
    let is_cut = window.len() == MAX_ENTRIES;
    window.retain(|entry| MODEL_KINDS.contains(&&*entry.kind));
    let system: Vec<String> = request.system().into_iter().collect();
    let (about, selected) = (request.view.about(), &request.selected);
    let selection = &selected.selection;
    let new_messages = selection.new_messages.as_ref().unwrap_or(&about.new_messages);
    let tools = about.tools.iter();
    let tools = tools.map(|tool| bub_estimate::chat::tool(&tool.name, &tool.description, &tool.parameters)).sum();
    let tokens = vec![
        ("system prompt", weigh(&system)),
        ("before", weigh(&selection.before)),
        ("history", weigh(&selection.history)),
        ("current input", weigh(new_messages)),
        ("after", weigh(&selection.after)),
        ("tools", tools),
    ];
    let (selector, fallback) = (selector.to_owned(), selected.fallback.as_deref().map(text::line));
    let (took, fuel) = (selected.took, selected.fuel);
    let known: BTreeSet<u64> = window.iter().map(|entry| entry.id).collect();
    let entries = selection.entries.intersection(&known).copied().collect();
    let own = selection.own.clone();
    let messages = request.into_messages(turn).len();
    Ok(Side { selector, fallback, messages, tokens, took, fuel, entries, own, window, is_cut })
}

fn weigh(messages: &[String]) -> u64 {
    let message =
        |message: &String| serde_json::from_str(message).map_or(0, |message| bub_estimate::chat::message(&message));
    messages.iter().map(message).sum()
}

impl Side {
    fn total(&self) -> u64 {
        self.tokens.iter().map(|(_, tokens)| tokens).sum()
    }

    /// Entries that only this side has.
    fn besides<'a>(&'a self, other: &'a Self) -> Vec<&'a Entry> {
        let only = |entry: &&Entry| self.entries.contains(&entry.id) && !other.entries.contains(&entry.id);
        self.window.iter().filter(only).collect()
    }

    fn json(&self, other: &Self) -> Value {
        let tokens: serde_json::Map<String, Value> =
            self.tokens.iter().map(|(name, tokens)| (name.replace(' ', "_"), (*tokens).into())).collect();
        let own: Vec<Value> = self.own.iter().filter_map(|message| serde_json::from_str(message).ok()).collect();
        let left_out = self.window.iter().filter(|entry| !self.entries.contains(&entry.id)).map(|entry| entry.id);
        json_value!({
            "selector": self.selector,
            "fallback": self.fallback,
            "messages": self.messages,
            "tokens": tokens,
            "total": self.total(),
            "micros": u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            "fuel": self.fuel,
            "entries": self.entries,
            "left_out": left_out.collect::<Vec<_>>(),
            "only_here": self.besides(other).iter().map(|entry| entry.id).collect::<Vec<_>>(),
            "own": own,
        })
    }
}

/// Prints both.
pub(super) fn print(out: &mut impl Write, [one, other]: &[Side; 2], as_json: bool) -> Result<()> {
    if as_json {
        writeln!(out, "{:#}", json_value!({ "sides": [one.json(other), other.json(one)] }))?;
        return Ok(());
    }
    let name = |side: &Side| {
        let mark = if side.fallback.is_some() { "*" } else { "" };
        format!("{}{mark}", text::cut(&text::line(&side.selector), NUMBER - 3))
    };
    row(out, "", &name(one), &name(other))?;
    row(out, "messages", &one.messages.to_string(), &other.messages.to_string())?;
    row(out, "tokens, estimated", &one.total().to_string(), &other.total().to_string())?;
    for ((part, tokens), (_, others)) in one.tokens.iter().zip(&other.tokens) {
        row(out, &format!("  {part}"), &tokens.to_string(), &others.to_string())?;
    }
    let time = |side: &Side| format!("{:.2} ms", side.took.as_secs_f64() * 1e3);
    row(out, "time", &time(one), &time(other))?;
    row(out, "fuel", &one.fuel.to_string(), &other.fuel.to_string())?;
    let count = |side: &Side| format!("{} of {}", side.entries.len(), side.window.len());
    row(out, "entries in", &count(one), &count(other))?;
    let left = |side: &Side| (side.window.len() - side.entries.len()).to_string();
    row(out, "entries left out", &left(one), &left(other))?;
    for side in [one, other] {
        if let Some(why) = &side.fallback {
            let name = text::line(&side.selector);
            writeln!(out, "\n* `{name}` did not select, so everything since the latest anchor is selected: {why}")?;
        }
    }
    if one.is_cut {
        writeln!(out, "\nolder entries than the newest {MAX_ENTRIES} are not compared")?;
    }
    for (side, against) in [(one, other), (other, one)] {
        only(out, side, &side.besides(against))?;
    }
    for side in [one, other].into_iter().filter(|side| !side.own.is_empty()) {
        writeln!(out, "\n{}'s own messages:", text::line(&side.selector))?;
        for message in &side.own {
            let role = json::get(message, "role").map(text::value).unwrap_or_default();
            let new_messages = json::get(message, "content").map(first_line).unwrap_or_default();
            writeln!(out, "{}", text::cut(&format!("  {role}: {new_messages}"), WIDTH))?;
        }
    }
    Ok(())
}

fn only(out: &mut impl Write, side: &Side, entries: &[&Entry]) -> io::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nonly in {}'s:", text::line(&side.selector))?;
    for entry in entries.iter().take(MAX_SHOWN) {
        let new_messages = json::get(&entry.payload, "content").unwrap_or(&entry.payload);
        let line = format!("{:>6} {:<11} {}", entry.id, entry.kind, first_line(new_messages));
        writeln!(out, "{}", text::cut(&line, WIDTH))?;
    }
    match entries.len().saturating_sub(MAX_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "       ... {more} more: --json shows them"),
    }
}

/// The text without context and date, cut to a line.
fn first_line(value: &str) -> String {
    let whole = content(value).join("\n");
    let new_messages = whole.split_once("---Date: ").and_then(|(_, rest)| rest.split_once("---\n"));
    text::line(new_messages.map_or(whole.as_str(), |(_, new_messages)| new_messages))
}

fn row(out: &mut impl Write, name: &str, one: &str, other: &str) -> io::Result<()> {
    writeln!(out, "{name:<NAME$}{one:>NUMBER$}{other:>NUMBER$}")
}
