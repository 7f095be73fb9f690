//! Data stored after a turn, in the sidecars: the exchange for retrieval, and summaries. Errors are only logged, since
//! the turn is over.

use crate::digest::{self, Rule, Thread};
use crate::options::{Language, Options};
use crate::source;
use crate::summary::{self, Summary};
use crate::{EVENTS, MODEL, SELECTED, SIDECAR, TAPE, log_line};
use bub_guest::Turn;
use bub_guest::model::Request;
use bub_guest::tape::{Draft, Entry, Query, Start};
use bub_guest::{Error, ErrorKind, Tape};
use serde_json::{Value, json};

/// Prefix of ephemeral sessions.
const EPHEMERAL_PREFIX: &str = "temp/";

/// Stores the data of a turn for which this plugin selected. The selection's note tells, and is checked before the
/// options.
pub fn after_turn(turn: &Turn, options: impl FnOnce() -> Result<Options, Error>) -> Result<(), Error> {
    if turn.session_id().starts_with(EPHEMERAL_PREFIX) {
        return Ok(());
    }
    let tape = turn.tape(TAPE)?;
    let Some(note) = newest(&tape, SELECTED)? else { return Ok(()) };
    if newest(&tape, "loop.start")?.is_none_or(|start| start.id > note.id) {
        return Ok(());
    }
    let Some(metadata) = source::data(&note).and_then(|data| data.get("metadata").cloned()) else { return Ok(()) };
    let options = &options()?;
    if options.enable_summary {
        summarise(turn, &tape, options, &metadata)?;
    }
    Ok(())
}

/// Makes the next summaries, when enough has left the window.
fn summarise(turn: &Turn, tape: &Tape, options: &Options, metadata: &Value) -> Result<(), Error> {
    let Some(window_start) = metadata["windowStart"].as_u64() else { return Ok(()) };
    let sidecar = tape.sidecar(EVENTS, SIDECAR)?;
    let last = newest(&sidecar, summary::EVENT)?.and_then(|entry| Summary::of(&source::data(&entry)?));
    let rule = Rule {
        phase: tape.last_anchor(None, None)?.map_or(0, |anchor| anchor.id),
        window_start,
        after_messages: options.summary_after_messages,
        after_tokens: options.summary_after_tokens,
        most: metadata["budget"].as_u64().unwrap_or(options.total_budget) * options.shares.summary / 100,
    };
    let language = if metadata["language"] == "zh" { Language::Chinese } else { Language::English };
    digest::summarise(
        &AfterTurn { turn, tape, sidecar, model: options.summary_model.as_deref(), language, most: rule.most },
        rule,
        last,
    )
}

/// The thread after its turn.
struct AfterTurn<'a> {
    turn: &'a Turn,
    tape: &'a Tape,
    sidecar: Tape,
    model: Option<&'a str>,
    language: Language,
    most: u64,
}

impl Thread for AfterTurn<'_> {
    fn next(&self, after: u64, max: usize) -> Result<Vec<Entry>, Error> {
        let cursor = self.tape.query(&Query { kinds: Vec::new(), ..source::events(Start::AfterId(after)) })?;
        let mut entries: Vec<Entry> = Vec::new();
        while entries.len() < max {
            let page = cursor.next(u32::try_from(max - entries.len()).unwrap_or(u32::MAX).min(256))?;
            if page.is_empty() {
                break;
            }
            entries.extend(page);
        }
        Ok(entries)
    }

    fn ask(&self, before: Option<&Summary>, lines: &[String]) -> Option<Result<String, Error>> {
        let model = self.model?;
        let asked = ask(self.turn, model, before, lines, self.most, self.language);
        Some(asked.map_err(|error| Error {
            message: format!("model `{model}` did not summarise: {}", error.message),
            ..error
        }))
    }

    fn warn(&self, line: &str) {
        log_line(true, line);
    }

    fn keep(&self, summary: &Summary, messages: usize, is_asked: bool) -> Result<(), Error> {
        let by = self.model.filter(|_| is_asked).unwrap_or("extract");
        write(&self.sidecar, summary::EVENT, &summary.record(messages, by))
    }
}

fn ask(
    turn: &Turn,
    model: &str,
    last: Option<&Summary>,
    lines: &[String],
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
    let conversation = lines.join("\n");
    let request = Request {
        model: Some(model.to_owned()),
        messages: vec![
            json!({ "role": "system", "content": task }).to_string(),
            json!({ "role": "user", "content": format!("{before}\n\n{conversation}").trim() }).to_string(),
        ],
        max_tokens: Some(u32::try_from(most).unwrap_or(u32::MAX).max(64)),
        purpose: "summary".to_owned(),
        ..Request::default()
    };
    let content = MODEL.ask(turn, &request)?;
    if content.trim().is_empty() {
        return Err(Error::new(ErrorKind::Provider, "it said nothing"));
    }
    Ok(content)
}

fn newest(tape: &Tape, name: &str) -> Result<Option<Entry>, Error> {
    Ok(tape.query(&source::newest_events(name, 1))?.next(1)?.pop())
}

/// Writes immediately, bypassing the turn's fork, which is merged already. On a conflict the other writer's entry
/// stays: there is one summary at a time per session.
fn write(sidecar: &Tape, name: &str, data: &Value) -> Result<(), Error> {
    let last = sidecar.tail(None, 1)?.last().map_or(0, |entry| entry.id);
    let draft = Draft { meta: r#"{"context": false}"#.to_owned(), ..Draft::event(name, data) };
    match sidecar.writer(EVENTS).append_if(last, &[draft]) {
        Err(Error { kind: ErrorKind::Conflict, .. }) => Ok(()),
        written => written.map(drop),
    }
}
