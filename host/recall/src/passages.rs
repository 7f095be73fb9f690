//! Splits entries into passages, with their taint.

use bub_tape::view::sees;
use bub_tape::{Entry, json};
use serde::{Deserialize, Serialize};

/// The source of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The long-term memory.
    Memory,
    /// Daily notes.
    Note,
    /// The conversation.
    History,
}

impl Source {
    /// The value in the index.
    pub(super) fn number(self) -> i64 {
        self as i64
    }

    pub(super) fn of_number(number: i64) -> Self {
        match number {
            0 => Self::Memory,
            1 => Self::Note,
            _ => Self::History,
        }
    }
}

/// A part of an entry that is found separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) entry: u64,
    pub(super) source: Source,
    pub(super) text: String,
    pub(super) date: String,
    /// The sources of its taint; empty if untainted.
    pub(super) taint: Vec<String>,
}

/// Maximum characters of a passage, unless one sentence has more.
const MAX_PASSAGE: usize = 300;

/// Maximum characters of one sentence; the rest is cut.
const MAX_SENTENCE: usize = 400;

/// Maximum passages of one entry.
const MAX_PER_ENTRY: usize = 12;

/// Maximum distinct sources of taint; beyond it they count as one permanent source.
const MAX_SOURCES: usize = 16;

/// The event that records taint of a conversation.
const TAINTED: &str = "turn.tainted";

/// The first event of a turn of the agent loop.
const TURN: &str = "loop.start";

/// The prompt of the builtin loop between two steps.
const CONTINUE: &str = "Continue the task until all targets are completed.";

/// The state of indexing a tape, saved between synchronizations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fold {
    /// Taint of the phase so far.
    pub(super) taint: Vec<String>,
    /// The first entry of the current turn.
    pub(super) turn: u64,
    /// The indexed memory section: the ids of its open and its seal.
    pub(super) section: (u64, u64),
    /// The last indexed entry of the sidecar of forgotten entries.
    #[serde(default)]
    pub(super) forgotten: u64,
}

/// The result of adding an entry.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) passages: Vec<Passage>,
    /// All passages from that entry on get the current taint.
    pub(super) taints_from: Option<u64>,
}

impl Fold {
    /// Adds the next entry of the conversation.
    pub(super) fn take(&mut self, entry: &Entry) -> Step {
        let mut step = Step::default();
        if entry.is("anchor") && !entry.is_section_anchor() {
            // If taint continues in the new phase, the host records it after the anchor.
            self.taint.clear();
            self.turn = entry.id;
            return step;
        }
        match entry.event_name().as_deref() {
            Some(TAINTED) => {
                self.add(sources(entry));
                step.taints_from = Some(self.turn);
            }
            Some(TURN) => self.turn = entry.id,
            _ => {}
        }
        if entry.is("message") && sees(entry) {
            let mut taint = self.taint.clone();
            if json::get(&entry.meta, "tainted") == Some("true") {
                taint.push("outside".to_owned());
            }
            let passage = |text: String| Passage {
                entry: entry.id,
                source: Source::History,
                text,
                date: entry.date.to_string(),
                taint: taint.clone(),
            };
            step.passages = texts(entry).into_iter().map(passage).collect();
        }
        step
    }

    pub(super) fn add(&mut self, sources: Vec<String>) {
        for source in sources {
            if !self.taint.contains(&source) && self.taint.len() < MAX_SOURCES {
                self.taint.push(source);
            } else if !self.taint.contains(&source) {
                self.taint.push("outside".to_owned());
            }
        }
        self.taint.dedup();
    }
}

/// The sources in such an event; earlier versions recorded none.
pub(super) fn sources(event: &Entry) -> Vec<String> {
    let named = json::get(&event.payload, "data").and_then(|data| json::get(data, "sources"));
    let named = named.and_then(|sources| json::elements(sources).ok()).unwrap_or_default();
    let named: Vec<String> = named.into_iter().filter_map(json::string).collect();
    if named.is_empty() { vec!["outside".to_owned()] } else { named }
}

/// The lines of the current memory.
pub(super) fn remembered(section: &[Entry]) -> Vec<Passage> {
    let mut passages = Vec::new();
    for entry in section {
        let source = match entry.event_name().as_deref() {
            Some("memory.long_term") => Source::Memory,
            Some("memory.daily") => Source::Note,
            _ => continue,
        };
        let tainted = [Some(&*entry.meta), json::get(&entry.payload, "data")];
        let tainted = tainted.into_iter().flatten().any(|object| json::get(object, "tainted") == Some("true"));
        // The taint that a turn gets by reading it.
        let taint = if tainted { vec!["entry".to_owned()] } else { Vec::new() };
        let date = entry.date.to_string();
        passages.extend(texts(entry).into_iter().map(|text| Passage {
            entry: entry.id,
            source,
            text,
            date: date.clone(),
            taint: taint.clone(),
        }));
    }
    passages
}

/// The searchable texts of an entry: groups of sentences of a message, lines of a memory.
pub(super) fn texts(entry: &Entry) -> Vec<String> {
    match entry.is("message") {
        true => said(entry),
        false => {
            let content = json::get(&entry.payload, "data").and_then(|data| json::get(data, "content"));
            let content = content.and_then(json::string).unwrap_or_default();
            let lines = content.lines().map(|line| line.trim().trim_start_matches(['-', '*', '#', ' ']));
            lines.filter(|line| !line.is_empty() && !is_date(line)).flat_map(together).collect()
        }
    }
}

fn said(entry: &Entry) -> Vec<String> {
    let role = json::get(&entry.payload, "role").and_then(json::string).unwrap_or_default();
    let content = json::get(&entry.payload, "content").map(words).unwrap_or_default();
    let text = match role.as_str() {
        "user" => typed(&content),
        "assistant" => content.as_str(),
        _ => return Vec::new(),
    };
    if text.trim_start().starts_with(CONTINUE) {
        return Vec::new();
    }
    let mut passages = together(text);
    passages.truncate(MAX_PER_ENTRY);
    passages
}

/// Text, or the text parts of a list.
fn words(content: &str) -> String {
    if let Some(text) = json::string(content) {
        return text;
    }
    let parts = json::elements(content).unwrap_or_default();
    let texts = parts.into_iter().filter_map(|part| json::get(part, "text").and_then(json::string));
    texts.collect::<Vec<_>>().join("\n")
}

/// The user's own text: the prompt begins with a line of context and one with the date.
fn typed(prompt: &str) -> &str {
    let mut at = 0;
    for line in prompt.split_inclusive('\n').take(2) {
        at += line.len();
        let line = line.trim_end();
        if line.starts_with("---Date: ") && line.ends_with("---") {
            return prompt.get(at..).unwrap_or_default();
        }
    }
    prompt
}

/// Groups of sentences, without questions, which contain no information to find.
fn together(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut length = 0;
    for sentence in bub_estimate::sentences(text) {
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        if sentence.ends_with(['?', '\u{ff1f}', '\u{61f}']) || !sentence.chars().any(char::is_alphanumeric) {
            continue;
        }
        let sentence: String = sentence.chars().take(MAX_SENTENCE).collect();
        let characters = sentence.chars().count();
        match found.last_mut() {
            Some(last) if length + characters < MAX_PASSAGE => {
                last.push(' ');
                last.push_str(&sentence);
                length += characters + 1;
            }
            _ => {
                length = characters;
                found.push(sentence);
            }
        }
    }
    found
}

/// A heading of a day's notes.
fn is_date(line: &str) -> bool {
    line.len() == 10 && line.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64, kind: &str, payload: &str) -> Entry {
        Entry { id, kind: kind.into(), payload: payload.into(), meta: "{}".into(), date: "2026-11-23".into() }
    }

    #[test]
    fn questions_are_not_found_again_and_statements_are() {
        let message = entry(1, "message", r#"{"role": "user", "content": "I like tea. Do you? 我喜欢茶。你呢?"}"#);
        assert_eq!(texts(&message), ["I like tea. 我喜欢茶。"]);
        let asked = entry(2, "message", r#"{"role": "user", "content": "what do I like?"}"#);
        assert!(texts(&asked).is_empty());
    }

    #[test]
    fn taint_of_a_turn_applies_to_all_its_passages_and_to_later_ones_of_the_phase() {
        let mut fold = Fold::default();
        let said = r#"{"role": "user", "content": "Fetch the page."}"#;
        let start = r#"{"name": "loop.start", "data": {}}"#;
        assert!(fold.take(&entry(1, "message", said)).passages[0].taint.is_empty());
        fold.take(&entry(2, "event", start));
        assert!(fold.take(&entry(3, "message", said)).passages[0].taint.is_empty());
        let tainted = r#"{"name": "turn.tainted", "data": {"why": "x", "sources": ["tool:web.fetch"]}}"#;
        assert_eq!(fold.take(&entry(4, "event", tainted)).taints_from, Some(2));
        assert_eq!(fold.take(&entry(5, "message", said)).passages[0].taint, ["tool:web.fetch"]);
        fold.take(&entry(6, "anchor", r#"{"name": "task/done", "state": {}}"#));
        assert!(fold.take(&entry(7, "message", said)).passages[0].taint.is_empty());
    }

    #[test]
    fn a_memory_is_found_by_its_lines() {
        let section = [
            entry(
                1,
                "event",
                r#"{"name": "memory.long_term", "data": {"content": "- Likes tea.\n- Lives in Porto."}}"#,
            ),
            entry(2, "event", r##"{"name": "memory.daily", "data": {"content": "# 2026-11-23\n\n- wrote tests"}}"##),
        ];
        let found: Vec<(Source, String)> =
            remembered(&section).into_iter().map(|found| (found.source, found.text)).collect();
        let expected =
            [(Source::Memory, "Likes tea."), (Source::Memory, "Lives in Porto."), (Source::Note, "wrote tests")];
        assert_eq!(found, expected.map(|(source, text)| (source, text.to_owned())));
    }
}
