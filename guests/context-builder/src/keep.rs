//! What is kept behind a turn, in the sidecars: the exchange, to be found again, and the summary of what has left the
//! window. Nothing here ends a turn: it is over.

use crate::bub::model::chat;
use crate::bub::model::exchange::{Event, Request};
use crate::bub::tape::entries::{Draft, Entry, Query, Start};
use crate::bub::tape::tape::Tape;
use crate::bub::turn::turn::Turn;
use crate::options::{Category, Language, Options};
use crate::source;
use crate::summary::{self, Summary};
use crate::thread::{self, Unit, exchanges};
use crate::{Error, ErrorKind, RECALL, SELECTED, SIDECAR, log_line, retrieval};
use serde_json::{Value, json};

/// Entries that have left the window and are summarised at once, at most: the newest of them.
const MOST: usize = 1_024;

/// Characters of each side of an exchange that are kept to be found again.
const KEPT: usize = 400;

/// Sessions that leave nothing behind.
const PASSING: &str = "temp/";

/// Keeps what the turn has left, where this plugin selected for it. Its note says so, and is looked for before the options.
pub fn after_turn(turn: &Turn, output: &str, options: impl FnOnce() -> Result<Options, Error>) -> Result<(), Error> {
    if turn.session_id().starts_with(PASSING) {
        return Ok(());
    }
    let tape = turn.tape()?;
    let Some(note) = newest(&tape, SELECTED)? else { return Ok(()) };
    let Some(start) = newest(&tape, "loop.start")?.filter(|start| start.id < note.id) else { return Ok(()) };
    let Some(metadata) = source::data(&note).and_then(|data| data.get("metadata").cloned()) else { return Ok(()) };
    let options = &options()?;
    if options.enable_memory_retrieval && options.categories.contains(&Category::History) {
        remember(turn, &tape, &start, output)?;
    }
    if options.enable_summary {
        summarise(turn, &tape, options, &metadata)?;
    }
    Ok(())
}

/// The exchange, short, to be found again when it is no longer shown.
fn remember(turn: &Turn, tape: &Tape, start: &Entry, output: &str) -> Result<(), Error> {
    let said = read(tape, start.id, &["message"], None)?;
    let asked = said.iter().find_map(|entry| {
        let message: Value = serde_json::from_str(&entry.payload).ok()?;
        (message["role"] == "user").then(|| (entry.id, thread::words(&message["content"])))
    });
    let Some((id, asked)) = asked else { return Ok(()) };
    let text = format!("{}\n{}", beginning(thread::typed(&asked)), beginning(output));
    let mut data = json!({ "id": id, "text": text.trim() });
    if turn.tainted() {
        data["tainted"] = true.into();
    }
    write(&tape.sidecar(RECALL)?, retrieval::EVENT, &data)
}

fn beginning(text: &str) -> String {
    text.trim().chars().take(KEPT).collect()
}

/// The next summary, when enough has left the window since the last one.
fn summarise(turn: &Turn, tape: &Tape, options: &Options, metadata: &Value) -> Result<(), Error> {
    let Some(window_start) = metadata["windowStart"].as_u64() else { return Ok(()) };
    let sidecar = tape.sidecar(SIDECAR)?;
    let phase = tape.last_anchor(None, None)?.map_or(0, |anchor| anchor.id);
    let last = newest(&sidecar, summary::EVENT)?.and_then(|entry| Summary::of(&source::data(&entry)?));
    // What was said before this phase is in its anchor.
    let last = last.filter(|last| last.through >= phase);
    let after = last.as_ref().map_or(phase, |last| last.through);
    let left = left_the_window(tape, after, window_start)?;
    let units: Vec<Unit> = exchanges(&left).into_iter().flat_map(|exchange| exchange.units).collect();
    let messages: usize = units.iter().map(Unit::len).sum();
    let tokens: u64 = units.iter().flat_map(Unit::weights).sum();
    let (after_messages, after_tokens) = (options.summary_after_messages, options.summary_after_tokens);
    let Some(through) = left.last().map(|entry| entry.id) else { return Ok(()) };
    if !summary::is_due(messages as u64, tokens, after_messages, after_tokens) {
        return Ok(());
    }
    let texts: Vec<String> = left.iter().filter_map(text).collect();
    let most = metadata["budget"].as_u64().unwrap_or(options.total_budget) * options.shares.summary / 100;
    let (content, by) = match &options.summary_model {
        Some(model) => match ask(turn, model, last.as_ref(), &texts, most, options.language) {
            Ok(content) => (content, model.as_str()),
            Err(error) => {
                log_line(true, &format!("model `{model}` did not summarise: {}; sentences are quoted", error.message));
                (quote(last.as_ref(), &texts, most), "extract")
            }
        },
        None => (quote(last.as_ref(), &texts, most), "extract"),
    };
    if content.trim().is_empty() {
        return Ok(());
    }
    write(&sidecar, summary::EVENT, &Summary { content, through }.record(messages, by))
}

/// Without a model: the sentences that say most, those of the last summary among them.
fn quote(last: Option<&Summary>, texts: &[String], most: u64) -> String {
    let before = last.map(|last| last.content.as_str());
    let texts: Vec<&str> = before.into_iter().chain(texts.iter().map(String::as_str)).collect();
    gist::extract(&texts, most.saturating_sub(16))
}

fn ask(
    turn: &Turn,
    model: &str,
    last: Option<&Summary>,
    texts: &[String],
    most: u64,
    language: Language,
) -> Result<String, Error> {
    let task = match language {
        Language::Chinese => "用中文简洁地概括下面的对话,保留事实、决定、名字、数字和未完成的事项。只输出摘要。",
        Language::English => {
            "Summarise the conversation below. Keep facts, decisions, names, numbers and what is unfinished. Answer with the summary alone."
        }
    };
    let before = last.map(|last| last.shown(language)).unwrap_or_default();
    let conversation = gist::ends(&texts.join("\n"), most * 8, |left| format!("[... {left} characters left out ...]"));
    let request = Request {
        model: Some(model.to_owned()),
        messages: vec![
            json!({ "role": "system", "content": task }).to_string(),
            json!({ "role": "user", "content": format!("{before}\n\n{conversation}").trim() }).to_string(),
        ],
        tools: Vec::new(),
        max_tokens: Some(u32::try_from(most).unwrap_or(u32::MAX).max(64)),
        purpose: "summary".to_owned(),
        options: None,
    };
    let completion = chat::complete(turn, &request)?;
    let mut content = String::new();
    while let Some(event) = completion.next()? {
        if let Event::Text(text) = event {
            content.push_str(&text);
        }
    }
    if content.trim().is_empty() {
        return Err(Error { kind: ErrorKind::Provider, message: "it said nothing".to_owned(), details: None });
    }
    Ok(content)
}

/// A line of the conversation: who, and what.
fn text(entry: &Entry) -> Option<String> {
    let payload: Value = serde_json::from_str(&entry.payload).ok()?;
    match entry.kind.as_str() {
        "message" => {
            let words = thread::words(&payload["content"]);
            let words = thread::typed(&words).trim();
            (!words.is_empty() && !words.starts_with("Continue the task until all targets are completed."))
                .then(|| format!("{}: {words}", payload["role"].as_str().unwrap_or("user")))
        }
        "tool_result" => {
            let results = payload["results"].as_array()?;
            let short = results.iter().map(|result| {
                let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
                gist::to_tokens(&text, 60).to_owned()
            });
            Some(format!("tool: {}", short.collect::<Vec<_>>().join(" | ")))
        }
        _ => None,
    }
}

/// The conversation behind `after` that is in front of the window; of more than is summarised at once the newest.
fn left_the_window(tape: &Tape, after: u64, window_start: u64) -> Result<Vec<Entry>, Error> {
    let mut left: Vec<Entry> = Vec::new();
    loop {
        let before = left.first().map_or(window_start, |first| first.id);
        let mut page = tape.tail(Some(before), 256)?;
        let is_all = page.len() < 256 || page.first().is_some_and(|first| first.id <= after + 1);
        page.retain(|entry| entry.id > after);
        page.append(&mut left);
        left = page;
        if is_all || left.len() >= MOST {
            return Ok(left);
        }
    }
}

fn read(tape: &Tape, after: u64, kinds: &[&str], limit: Option<u32>) -> Result<Vec<Entry>, Error> {
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let query = Query { kinds, limit, ..source::events(Start::AfterId(after)) };
    tape.query(&query)?.next(64)
}

fn newest(tape: &Tape, name: &str) -> Result<Option<Entry>, Error> {
    Ok(tape.query(&source::newest_events(name, 1))?.next(1)?.pop())
}

/// At once, past the turn's fork, which is on the tape already. Should somebody else have written, what they wrote stands:
/// one summary at a time is made of a session.
fn write(sidecar: &Tape, name: &str, data: &Value) -> Result<(), Error> {
    let last = sidecar.tail(None, 1)?.last().map_or(0, |entry| entry.id);
    let payload = json!({ "name": name, "data": data }).to_string();
    let draft = Draft { kind: "event".to_owned(), payload, meta: r#"{"context": false}"#.to_owned() };
    match sidecar.append_if(last, &[draft]) {
        Err(Error { kind: ErrorKind::Conflict, .. }) => Ok(()),
        written => written.map(drop),
    }
}
