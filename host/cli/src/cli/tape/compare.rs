//! `tape context --against`: two selections side by side.

use super::super::text::{self, WIDTH};
use anyhow::Result;
use bub_runtime::turn::SelectionReport;
use bub_tape::entry_text::content;
use bub_tape::{Entry, json};
use serde_json::{Value, json as json_value};
use std::io::{self, Write};

/// Entries that are shown of those that only one selection has.
const MAX_SHOWN: usize = 12;

/// Widths of a name and of a number.
const NAME: usize = 24;
const NUMBER: usize = 22;

/// The selection of one selector.
pub(super) type Side = SelectionReport;

/// Entries that only `side` has.
fn besides<'a>(side: &'a Side, other: &Side) -> Vec<&'a Entry> {
    let only = |entry: &&Entry| side.entries.contains(&entry.id) && !other.entries.contains(&entry.id);
    side.window.iter().filter(only).collect()
}

fn side_json(side: &Side, other: &Side) -> Value {
    let mut fields = side.to_json();
    let only_here = besides(side, other).iter().map(|entry| entry.id).collect::<Vec<_>>();
    fields.insert("only_here".to_owned(), json_value!(only_here));
    Value::Object(fields)
}

/// Prints both.
pub(super) fn print(out: &mut impl Write, [one, other]: &[Side; 2], as_json: bool) -> Result<()> {
    if as_json {
        writeln!(out, "{:#}", json_value!({ "sides": [side_json(one, other), side_json(other, one)] }))?;
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
            writeln!(
                out,
                "\n* `{name}` did not select, so everything since the latest anchor is selected: {}",
                text::line(why)
            )?;
        }
    }
    if one.is_cut {
        writeln!(out, "\nolder entries than the newest {} are not compared", Side::MAX_ENTRIES)?;
    }
    for (side, against) in [(one, other), (other, one)] {
        only(out, side, &besides(side, against))?;
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
