//! The tools.

use crate::block::TAINTED;
use crate::change::Changed;
use crate::scope::{ALL, Scope};
use crate::snapshot::{Part, Snapshot};
use crate::{APPEND, TAPE, WORKSPACE, day, memory, prompt};
use bub_guest::tape::Forgotten;
use bub_guest::{Error, MessageKind, Principal, Result, Schema, Turn, tool};
use serde::Deserialize;

/// Recommended maximum of the long-term memory, in bytes: it is part of every request.
const LONG: usize = 4 << 10;

/// Maximum length of a text, in bytes.
const TOO_LONG: usize = 64 << 10;

/// Default number of days whose notes are recalled.
const RECALLED: i64 = 7;

/// The notice that cleared text stays on the tape.
const CLEARED: &str = "It is found by no recall and no search any more. The tape still holds it, and so does the \
                       conversation in which it was said.";

/// The notice that forgotten text stays on the tape, and how to erase it.
const ERASED: &str = "The files of the tapes still hold it, and so do archives of them: only the user takes it out, with \
                      `bub-wasm tape erase --forgotten`.";

/// Maximum texts per search.
const MAX_TEXTS: usize = 256;

/// Minimum length of a query, in characters: shorter ones occur nearly everywhere, and are forgotten in the memory
/// only.
const SHORTEST: usize = 3;

/// Minimum length of a removed line, in characters, to be forgotten in the conversation.
const SHORTEST_LINE: usize = 8;

/// Maximum replaced lines that are shown, and their bytes.
const SHOWN_LINES: usize = 40;
const SHOWN_BYTES: usize = 4 << 10;

/// Maximum bytes of such a line.
const SHOWN_LINE: usize = 400;

#[derive(Deserialize, Schema)]
pub struct Saved {
    /// The whole long-term memory.
    content: String,
    /// [default: workspace]
    scope: Option<Scope>,
}

#[derive(Deserialize, Schema)]
pub struct Added {
    /// What is added, a line or more.
    content: String,
    /// [default: workspace]
    scope: Option<Scope>,
}

#[derive(Deserialize, Schema)]
pub struct Noted {
    /// What is added.
    content: String,
    /// As in `2026-02-10` [default: today].
    date: Option<String>,
    /// [default: workspace]
    scope: Option<Scope>,
}

#[derive(Deserialize, Schema)]
pub struct Wanted {
    /// Words that must all be there.
    query: Option<String>,
    /// Days whose notes are looked at, today and those before [default: 7].
    #[schema(minimum = 1, maximum = 36500)]
    days: Option<i64>,
}

#[derive(Deserialize, Schema)]
pub struct Dropped {
    /// A text, upper or lower case, or a date as in `2026-02-10`.
    query: String,
    /// Only list what would be forgotten [default: false].
    dry_run: Option<bool>,
    /// [default: both]
    scope: Option<Scope>,
}

#[derive(Deserialize, Schema)]
pub struct Scoped {
    /// [default: both]
    scope: Option<Scope>,
}

/// The scopes that are meant: the one that is named, or else both.
fn scopes(named: Option<Scope>) -> Vec<Scope> {
    named.map_or_else(|| ALL.to_vec(), |named| vec![named])
}

/// The day that is meant: the one that is named, or else today.
fn meant(named: Option<String>, today: String) -> Result<String> {
    match named {
        None => Ok(today),
        Some(named) if day::is_one(&named) => Ok(named),
        Some(named) => Err(Error::invalid(format!("`{named}` is no date: write it as in `{today}`"))),
    }
}

/// Say what the memory holds: versions, sizes, and the days that have notes.
#[tool(name = "memory.show", effect = read)]
pub fn show(turn: &Turn) -> Result<String> {
    Ok(crate::export::summary(&zones(turn, &ALL)?))
}

/// Give all that is remembered, as Markdown.
#[tool(name = "memory.export", effect = read)]
pub fn export(turn: &Turn, Scoped { scope }: Scoped) -> Result<String> {
    Ok(crate::export::all(&zones(turn, &scopes(scope))?))
}

/// Replace the long-term memory: what lasts, such as preferences and facts. Give all of it, what stands there and what is
/// new. Best below 4 KB.
#[tool(name = "memory.save", effect = write)]
pub fn save(turn: &Turn, Saved { content, scope }: Saved) -> Result<String> {
    let scope = scope.unwrap_or(Scope::Workspace);
    let content = content.trim().to_owned();
    require_fit("the long-term memory", content.len())?;
    let note = summarise("the long-term memory", content.len());
    let part = part(turn, content);
    let lost = memory::change(turn, scope, |zone| {
        let lost = zone.lost_by(&part.content);
        zone.save(part.clone());
        Ok(Changed::Write(lost))
    })?;
    Ok(format!("saved to long-term memory{note}{}", lost.map(|lost| replaced(&lost)).unwrap_or_default()))
}

/// Lists the lines that a save has removed, so that they can be restored.
fn replaced(lost: &Part) -> String {
    let all = lost.content.lines().count();
    let mut shown = String::new();
    let mut count = 0;
    for line in lost.content.lines() {
        if count == SHOWN_LINES || shown.len() > SHOWN_BYTES {
            break;
        }
        let end = line.floor_char_boundary(SHOWN_LINE);
        let cut = if end < line.len() { "..." } else { "" };
        shown.push_str(&format!("\n- {}{cut}", &line[..end]));
        count += 1;
    }
    let more = match all - count {
        0 => String::new(),
        more => format!("\n- and {more} more, which the tape still holds"),
    };
    let tainted = if lost.tainted { format!("\n{TAINTED}") } else { String::new() };
    let what = if all == 1 { "this line".to_owned() } else { format!("these {all} lines") };
    format!(
        "\nno longer remembered, because a save replaces all of it, {what} (`memory.add` adds):{tainted}{shown}{more}"
    )
}

/// Add to the long-term memory, and keep all that stands there.
#[tool(name = "memory.add", effect = write)]
pub fn add(turn: &Turn, Added { content, scope }: Added) -> Result<String> {
    let scope = scope.unwrap_or(Scope::Workspace);
    let content = content.trim().to_owned();
    if content.is_empty() {
        return Err(Error::invalid("there is nothing to add: `content` is empty"));
    }
    let part = part(turn, content);
    let bytes = memory::change(turn, scope, |zone| {
        if !zone.add(part.clone()) {
            return Ok(Changed::Leave(None));
        }
        let bytes = zone.long_term.as_ref().map_or(0, |part| part.content.len());
        require_fit("the long-term memory", bytes)?;
        Ok(Changed::Write(Some(bytes)))
    })?;
    Ok(match bytes {
        Some(bytes) => format!("added to long-term memory{}", summarise("the long-term memory", bytes)),
        None => "that stands in long-term memory already".to_owned(),
    })
}

/// Append to the notes of a day: what was done, decided or left open.
#[tool(name = "memory.daily", effect = write)]
pub fn daily(turn: &Turn, Noted { content, date, scope }: Noted) -> Result<String> {
    let scope = scope.unwrap_or(Scope::Workspace);
    let date = meant(date, day::of(&turn.started()))?;
    let content = content.trim_end().to_owned();
    if content.trim().is_empty() {
        return Err(Error::invalid("there is nothing to note: `content` is empty"));
    }
    let part = part(turn, content);
    let bytes = memory::change(turn, scope, |zone| {
        if !zone.takes_day(&date) {
            let message = "there are notes of 366 days already: forget some first";
            return Err(Error::invalid(message));
        }
        zone.add_note(&date, part.clone());
        let bytes = zone.note(&date).map_or(0, |part| part.content.len());
        require_fit(&format!("the notes of {date}"), bytes)?;
        Ok(Changed::Write(bytes))
    })?;
    Ok(format!("added to the notes of {date}{}", summarise("that day's notes", bytes)))
}

/// Recall what is remembered. With a query the lines that hold all its words, and what was said in this conversation with
/// them.
#[tool(name = "memory.recall", effect = read)]
pub fn recall(turn: &Turn, Wanted { query, days }: Wanted) -> Result<String> {
    let query = query.as_deref().map(str::trim).filter(|query| !query.is_empty());
    let days = days.unwrap_or(RECALLED);
    let today = day::of(&turn.started());
    let mut found = crate::recall::of_zones(&zones(turn, &ALL)?, query, &today, days);
    if let Some(query) = query {
        let said = crate::recall::of_tape(&turn.tape(TAPE)?, query)?;
        if !said.is_empty() {
            found.push(format!("## Said in this conversation\n{}", said.join("\n")));
        }
    }
    let about = match query {
        Some(query) => format!("`{query}`, notes of {days} days until {today}"),
        None => format!("notes of {days} days until {today}"),
    };
    let found = if found.is_empty() { "(nothing is remembered)".to_owned() } else { found.join("\n\n") };
    Ok(format!("{} {about}\n\n{found}", crate::recall::MARK))
}

/// Forget everything.
#[tool(name = "memory.clear", effect = write)]
pub fn clear(turn: &Turn, Scoped { scope }: Scoped) -> Result<String> {
    let mut cleared = Vec::new();
    for scope in scopes(scope) {
        let had = memory::change(turn, scope, |zone| {
            if zone.is_empty() {
                return Ok(Changed::Leave(false));
            }
            zone.clear();
            Ok(Changed::Write(true))
        })?;
        if had {
            cleared.push(scope.name());
        }
    }
    Ok(match cleared.is_empty() {
        true => "nothing was remembered".to_owned(),
        false => format!("cleared the memory of the {}. {CLEARED}", cleared.join(" and the ")),
    })
}

/// Forget what the user wants forgotten: the lines of the memory in which a text stands, or the notes of a day, and
/// everything that was said with it in the sessions of this workspace.
#[tool(name = "memory.forget", effect = write)]
pub fn forget(turn: &Turn, Dropped { query, dry_run, scope }: Dropped) -> Result<String> {
    let query = query.trim();
    if query.is_empty() {
        let message = "`query` is empty: say what is to be forgotten, or use `memory.clear`";
        return Err(Error::invalid(message));
    }
    let dry_run = dry_run.unwrap_or(false);
    let now = day::now();
    let scopes = scopes(scope);
    let mut dropped = Vec::new();
    let mut texts = said(query);
    for scope in scopes.iter().copied() {
        let lines = memory::change(turn, scope, |zone| {
            let lines = zone.forget(query, &now);
            Ok(if dry_run || lines.is_empty() { Changed::Leave(lines) } else { Changed::Write(lines) })
        })?;
        texts.extend(lines.iter().filter_map(|line| text_of(line)));
        dropped.extend(lines.into_iter().map(|line| format!("- {} {line}", scope.name())));
    }
    let conversation = conversation(turn, &scopes, texts, dry_run)?;
    let shown = conversation.as_ref().map_or(0, |forgotten| forgotten.entries);
    let entries = conversation.map(|forgotten| {
        let tapes = if forgotten.tapes == 1 { "one tape".to_owned() } else { format!("{} tapes", forgotten.tapes) };
        format!("entries of what was said and done, on {tapes}: {}", forgotten.entries)
    });
    let entries = entries.filter(|_| shown > 0);
    Ok(match (dropped.is_empty() && shown == 0, dry_run) {
        (true, _) => format!("nothing that is remembered or was said matches `{query}`"),
        (false, true) => {
            dropped.extend(entries.map(|entries| format!("- {entries}")));
            format!("would be forgotten:\n{}", dropped.join("\n"))
        }
        (false, false) => {
            let entries = entries.map_or_else(String::new, |entries| format!("; {entries}"));
            format!(
                "forgotten, lines of the memory: {}{entries}. No view, recall, search or summary gives it any more, from \
                 the end of this turn on. {ERASED}",
                dropped.len()
            )
        }
    })
}

/// The texts to forget in the conversation: not a date, which selects notes and occurs in many texts.
fn said(query: &str) -> Vec<String> {
    let is_text = !day::is_one(query) && query.chars().count() >= SHORTEST;
    is_text.then(|| query.to_owned()).into_iter().collect()
}

/// The text of a removed line, without its origin and its list marker.
fn text_of(line: &str) -> Option<String> {
    let (_, text) = line.split_once(": ")?;
    let text = text.trim_start_matches(['-', '*', '#', ' ']).trim();
    (text.chars().count() >= SHORTEST_LINE).then(|| text.to_owned())
}

/// Has what was said with these texts forgotten: on the session's tape, or on those of all sessions of the workspace where
/// its memory is meant. None: there is nothing to look for, or it is not the owner who speaks.
fn conversation(turn: &Turn, scopes: &[Scope], mut texts: Vec<String>, dry_run: bool) -> Result<Option<Forgotten>> {
    texts.dedup();
    texts.truncate(MAX_TEXTS);
    if texts.is_empty() || turn.principal() != Principal::Owner {
        return Ok(None);
    }
    let tape = if scopes.contains(&Scope::Workspace) { turn.workspace_tape(WORKSPACE)? } else { turn.tape(TAPE)? };
    tape.writer(APPEND).forget(&texts, dry_run).map(Some)
}

/// The zones that the turn may see.
fn zones(turn: &Turn, wanted: &[Scope]) -> Result<Vec<(Scope, Snapshot)>> {
    let seen = prompt::seen(turn).filter(|scope| wanted.contains(scope));
    seen.map(|scope| Ok((scope, memory::read(turn, scope)?.unwrap_or_default()))).collect()
}

/// A text with the current date and taint. A comma command of the owner is untainted, whatever the conversation
/// contains.
fn part(turn: &Turn, content: String) -> Part {
    let is_typed = turn.principal() == Principal::Owner && turn.message().kind == MessageKind::Command;
    Part { content, updated_at: day::now(), tainted: turn.tainted() && !is_typed }
}

fn require_fit(what: &str, bytes: usize) -> Result<()> {
    if bytes <= TOO_LONG {
        return Ok(());
    }
    let message = format!("{what} would have {bytes} bytes, and takes {TOO_LONG}: summarise, and say it again shorter");
    Err(Error::invalid(message))
}

fn summarise(what: &str, bytes: usize) -> String {
    if bytes <= LONG {
        return String::new();
    }
    format!(
        " ({bytes} bytes: {what} should stay below {LONG}, because the model reads it in every request; summarise it)"
    )
}
