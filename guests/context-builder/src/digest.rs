//! Summaries of messages that have left the window, in contiguous parts, so that none is skipped.

use crate::Error;
use crate::summary::{self, Summary};
use crate::thread::{self, Unit, exchanges};
use crate::window::CONTINUE;
use bub_guest::tape::Entry;
use serde_json::Value;

/// Maximum entries of a part.
pub const PART: usize = 1_024;

/// Maximum tokens of a part, which one summary can represent.
const PART_TOKENS: u64 = 16_000;

/// Maximum parts per turn, by quotation and by a model. Further ones wait for the next turn; requests name them until
/// then.
const PARTS: usize = 64;
const ASKED: usize = 4;

/// Maximum tokens of one message in a summary, head and tail: content that was too long for a request must not return
/// through its summary.
const LINE: u64 = 400;

/// Maximum tokens of a tool result.
const RESULT: u64 = 60;

/// The thread to summarize, and where its summaries are stored.
pub trait Thread {
    /// At most `max` entries after that one, oldest first; fewer at the end.
    fn next(&self, after: u64, max: usize) -> Result<Vec<Entry>, Error>;
    /// Summarizes with a model, if one is configured: the previous summary, and new lines.
    fn ask(&self, before: Option<&Summary>, lines: &[String]) -> Option<Result<String, Error>>;
    /// Logs a warning.
    fn warn(&self, line: &str);
    /// Stores a summary, with whether a model made it.
    fn keep(&self, summary: &Summary, messages: usize, is_asked: bool) -> Result<(), Error>;
}

/// The part of a tape to summarize, and the thresholds that start a summary.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The phase's anchor, or 0.
    pub phase: u64,
    /// The first entry in the window.
    pub window_start: u64,
    pub after_messages: u64,
    pub after_tokens: u64,
    /// Maximum tokens of a summary.
    pub most: u64,
}

/// Makes the next summaries, when enough has left the window since the last one. After a model's failure the remaining
/// parts are summarized by quotation, without a model.
pub fn summarise(thread: &dyn Thread, rule: Rule, last: Option<Summary>) -> Result<(), Error> {
    // Earlier phases are summarized in the anchor's state.
    let mut last = last.filter(|last| last.through >= rule.phase);
    let mut after = last.as_ref().map_or(rule.phase, |last| last.through);
    let mut is_due = false;
    let mut fails = false;
    let mut asked = 0;
    for _ in 0..PARTS {
        let Some(part) = Part::next(thread, after, rule)? else { return Ok(()) };
        // If the first part is too small, it is also the last one.
        is_due |=
            summary::is_due(part.messages as u64, part.tokens, rule.after_messages, rule.after_tokens) || part.is_full;
        if !is_due {
            return Ok(());
        }
        let answer = if fails { None } else { thread.ask(last.as_ref(), &part.lines) };
        let (content, is_asked) = match answer {
            Some(Ok(content)) => (bub_estimate::to_tokens(content.trim(), rule.most).to_owned(), true),
            Some(Err(error)) => {
                thread.warn(&format!("{}; sentences are quoted", error.message));
                fails = true;
                (quote(last.as_ref(), &part.lines, rule.most), false)
            }
            None => (quote(last.as_ref(), &part.lines, rule.most), false),
        };
        // For a part without content, the previous summary is extended to cover it.
        let before = || last.as_ref().map(|last| last.content.clone()).unwrap_or_default();
        let content = if content.trim().is_empty() { before() } else { content };
        let summary = Summary { content, through: part.through };
        thread.keep(&summary, part.messages, is_asked)?;
        after = part.through;
        last = Some(summary);
        asked += usize::from(is_asked);
        if asked == ASKED {
            return Ok(());
        }
    }
    Ok(())
}

/// A part of the messages that have left the window.
struct Part {
    lines: Vec<String>,
    messages: usize,
    tokens: u64,
    through: u64,
    /// Whether more may follow.
    is_full: bool,
}

impl Part {
    /// The next part; `None` at the end.
    fn next(thread: &dyn Thread, after: u64, rule: Rule) -> Result<Option<Self>, Error> {
        let mut entries = thread.next(after, PART)?;
        let mut is_full = entries.len() == PART;
        let before = entries.len();
        entries.retain(|entry| entry.id < rule.window_start);
        is_full &= entries.len() == before;
        let Some(mut through) = entries.last().map(|entry| entry.id) else { return Ok(None) };
        let mut lines = Vec::new();
        let mut weight = 0;
        let mut taken = entries.len();
        for (at, entry) in entries.iter().enumerate() {
            let Some(line) = line(entry, LINE) else { continue };
            weight += bub_estimate::estimate(&line) + 1;
            if weight > PART_TOKENS && !lines.is_empty() {
                (taken, is_full) = (at, true);
                through = entries[at - 1].id;
                break;
            }
            lines.push(line);
        }
        entries.truncate(taken);
        // Section and phase anchors are not messages.
        entries.retain(|entry| entry.kind != "anchor");
        // A call and its results are one unit: a summary that ended between them would cover neither.
        if let Some(call) = thread::open_call(&entries) {
            let before = entries.partition_point(|entry| entry.id < call);
            match before.checked_sub(1) {
                Some(last) => {
                    entries.truncate(before);
                    through = entries[last].id;
                }
                // Results that do not come within a whole part are not waited for.
                None if is_full => {}
                None => return Ok(None),
            }
        }
        let units: Vec<Unit> = exchanges(&entries).into_iter().flat_map(|exchange| exchange.units).collect();
        let messages = units.iter().map(Unit::len).sum();
        let tokens = units.iter().flat_map(Unit::weights).sum();
        Ok(Some(Self { lines, messages, tokens, through, is_full }))
    }
}

/// Without a model: the most informative sentences, including those of the previous summary.
fn quote(last: Option<&Summary>, lines: &[String], most: u64) -> String {
    let before = last.map(|last| last.content.as_str());
    let texts: Vec<&str> = before.into_iter().chain(lines.iter().map(String::as_str)).collect();
    bub_estimate::extract(&texts, most.saturating_sub(16))
}

/// A line of the conversation with its speaker, in about that many tokens; `None` for entries that are not messages or
/// have no text.
pub fn line(entry: &Entry, most: u64) -> Option<String> {
    let payload: Value = serde_json::from_str(&entry.payload).ok()?;
    match entry.kind.as_str() {
        "message" => {
            let words = thread::words(&payload["content"]);
            let words = thread::typed(&words).trim();
            let said = || bub_estimate::ends(words, most, |left| format!("[... {left} characters left out ...]"));
            (!words.is_empty() && !words.starts_with(CONTINUE))
                .then(|| format!("{}: {}", payload["role"].as_str().unwrap_or("user"), said()))
        }
        "tool_result" => {
            let results = payload["results"].as_array()?;
            let each = (most / results.len().max(1) as u64).clamp(4, RESULT);
            let short = results.iter().map(|result| {
                let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
                bub_estimate::to_tokens(&text, each).to_owned()
            });
            Some(format!("tool: {}", short.collect::<Vec<_>>().join(" | ")))
        }
        _ => None,
    }
}
