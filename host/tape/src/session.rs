//! The session of a tape and its display name. A tape's name is a digest, so both are recorded on the tape: the session
//! in the meta of its first anchor, or in an event on a tape that began without it, and the name in the newest event
//! that gives one.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::draft::{Draft, event};
use super::entry::{Entry, SESSION_MARK};
use super::error::{Error, Result};
use super::forgotten::PLACEHOLDER;
use super::handle::Tape;
use super::lookup::Lookup;
use super::name::tape_name;
use super::store::Store;
use super::{SESSION_START, json};

/// The event that gives a session its name.
pub const SESSION_NAME: &str = "session.name";

/// Maximum length of a session's name, in characters.
pub const MAX_SESSION_NAME: usize = 100;

/// Maximum entries that are examined for the first message.
const FIRST: u64 = 96;
const PAGE: usize = 12;

/// Characters of the first message that are kept.
const WORDS: usize = 200;

/// Maximum lines before the user's own text: the message's context and its date.
const PREFACE: usize = 4;

/// The session of a tape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMark {
    /// The session's id.
    pub id: String,
    /// The workspace, absolute and resolved.
    pub workspace: String,
    /// The channel of its first message.
    pub channel: String,
}

impl SessionMark {
    /// The JSON for an entry.
    pub fn json(&self) -> String {
        serde_json::json!({ "id": self.id, "workspace": self.workspace, "channel": self.channel }).to_string()
    }

    /// Whether the tape of that name is the session's. False for a copied or forged mark.
    pub fn is_of(&self, tape: &str) -> bool {
        tape_name(Path::new(&self.workspace), &self.id) == tape
    }

    fn parse(value: &str, tape: &str) -> Option<Self> {
        serde_json::from_str(value).ok().filter(|mark: &Self| mark.is_of(tape))
    }

    /// Adds the mark to the meta of the tape's first anchor among these drafts.
    ///
    /// # Errors
    ///
    /// None in practice: the mark is valid JSON.
    pub fn stamp(&self, drafts: &mut [Draft]) -> Result<()> {
        for draft in drafts.iter_mut().filter(|draft| is_start(draft)) {
            *draft = draft.clone().with_meta(SESSION_MARK, &self.json())?;
        }
        Ok(())
    }
}

fn is_start(draft: &Draft) -> bool {
    draft.kind() == "anchor"
        && json::get(draft.payload(), "name").and_then(json::string).as_deref() == Some(SESSION_START)
}

/// A session's row in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session; `None` if the tape does not record it.
    pub mark: Option<SessionMark>,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// The beginning of the first message, as it was typed.
    pub first_words: Option<String>,
    /// The id of the last entry.
    pub entries: u64,
    /// Date of the last entry.
    pub date: Option<String>,
    /// Tokens of all model calls.
    pub tokens: u64,
}

/// The session that the tape records.
///
/// # Errors
///
/// The tape cannot be read.
pub async fn session_mark(store: &dyn Store, tape: &str) -> Result<Option<SessionMark>> {
    let first = store.read(tape, 0, 1).await?.pop();
    let at_start = first.as_ref().and_then(|first| json::get(&first.meta, SESSION_MARK));
    if let Some(mark) = at_start.and_then(|mark| SessionMark::parse(mark, tape)) {
        return Ok(Some(mark));
    }
    let event = store.newest(tape, &lookup(SESSION_MARK), None).await?;
    Ok(event.as_ref().and_then(data).and_then(|mark| SessionMark::parse(mark, tape)))
}

/// The summary of a tape's session, without forgotten entries. Reads the beginning and the end of the tape and the
/// store's statistics, not the whole tape.
///
/// # Errors
///
/// The tape cannot be read.
pub async fn session_summary(tape: &Tape) -> Result<SessionSummary> {
    let tape = tape.clone().without_forgotten();
    let last = tape.tail(None, 1).await?.pop();
    let named = tape.newest(&lookup(SESSION_NAME)).await?;
    let forgotten = tape.forgotten().await?;
    let named = named.filter(|event| !forgotten.holds(event));
    let name = named.as_ref().and_then(data).and_then(|data| json::get(data, "name")).and_then(json::string);
    Ok(SessionSummary {
        mark: tape.session_mark().await?,
        name: name.filter(|name| !name.trim().is_empty()),
        first_words: first_words(&tape).await?,
        entries: last.as_ref().map_or(0, |last| last.id),
        date: last.map(|last| last.date.to_string()),
        tokens: tape.info().await?.total_tokens,
    })
}

/// The event that names a session; an empty name removes it.
///
/// # Errors
///
/// [`Error::InvalidInput`] if the name is too long, or not a single line.
pub fn name_session(name: &str) -> Result<Draft> {
    let name = name.trim();
    if name.chars().count() > MAX_SESSION_NAME {
        return Err(Error::invalid(format!("a session's name has at most {MAX_SESSION_NAME} characters")));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::invalid("a session's name is one line without control characters"));
    }
    event(SESSION_NAME, &format!(r#"{{"name": {}}}"#, json::quote(name)))?.with_meta("context", "false")
}

fn lookup(event: &str) -> Lookup {
    Lookup::Named { kind: "event".to_owned(), name: event.to_owned() }
}

fn data(event: &Entry) -> Option<&str> {
    json::get(&event.payload, "data")
}

/// The beginning of the first message of a person.
async fn first_words(tape: &Tape) -> Result<Option<String>> {
    let mut after = 0;
    loop {
        let page = tape.read(after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(None) };
        let read = last.id.max(after + 1);
        if let Some(words) = page.iter().find_map(words_of) {
            return Ok(Some(words));
        }
        after = read;
        if after >= FIRST {
            return Ok(None);
        }
    }
}

fn words_of(entry: &Entry) -> Option<String> {
    if !entry.is("message") || json::get(&entry.payload, "role").and_then(json::string).as_deref() != Some("user") {
        return None;
    }
    let content = json::get(&entry.payload, "content")?;
    let text = json::string(content).or_else(|| first_text(content))?;
    let words: String = typed(&text).trim_start().chars().take(WORDS).collect();
    Some(words).filter(|words| !words.trim().is_empty() && text != PLACEHOLDER)
}

/// The text of the first content part that has one.
fn first_text(parts: &str) -> Option<String> {
    json::elements(parts).ok()?.into_iter().find_map(|part| json::get(part, "text").and_then(json::string))
}

/// The user's own text in a message to the model: without the context and date before it.
pub fn typed(content: &str) -> &str {
    let mut at = 0;
    for line in content.split_inclusive('\n').take(PREFACE) {
        at += line.len();
        let line = line.trim_end();
        if line.starts_with("---Date: ") && line.ends_with("---") {
            return content.get(at..).unwrap_or_default();
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_follows_the_date() {
        for (content, expected) in [
            ("sender_id=human|channel=$cli\n---Date: 2026-11-21T10:00:00+01:00---\nhello\nthere", "hello\nthere"),
            ("---Date: 2026-11-21T10:00:00+01:00---\nhello", "hello"),
            ("hello", "hello"),
            ("a\nb\nc\nd\n---Date: x---\ne", "a\nb\nc\nd\n---Date: x---\ne"),
        ] {
            assert_eq!(typed(content), expected);
        }
    }

    #[test]
    fn a_session_mark_copied_with_another_tape_is_ignored() {
        let mark = SessionMark { id: "cli:local".into(), workspace: "/work".into(), channel: "cli".into() };
        let tape = tape_name(Path::new("/work"), "cli:local");
        assert_eq!(SessionMark::parse(&mark.json(), &tape), Some(mark.clone()));
        assert_eq!(SessionMark::parse(&mark.json(), &tape_name(Path::new("/work"), "other")), None);
        assert_eq!(SessionMark::parse("[1]", &tape), None);
    }

    #[test]
    fn a_name_is_one_line_of_a_hundred_characters_at_most() {
        assert!(name_session(&"x".repeat(MAX_SESSION_NAME)).is_ok());
        assert!(name_session(&"x".repeat(MAX_SESSION_NAME + 1)).is_err());
        assert!(name_session("a\nb").is_err() && name_session("a\u{1b}[2J").is_err());
    }
}
