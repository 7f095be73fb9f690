//! The thread's summary: a derived record in the sidecar, never an edit of the tape.

use crate::SIDECAR;
use crate::options::Language;
use crate::source::{self, Source};
use bub_guest::Error;
use serde_json::{Value, json};

/// The event of a summary.
pub const EVENT: &str = "context.summary";

/// A summary and the range that it covers.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub content: String,
    /// The last entry that it covers.
    pub through: u64,
}

impl Summary {
    /// The newest summary.
    pub fn newest(source: &dyn Source) -> Result<Option<Self>, Error> {
        Ok(source::newest(source, Some(SIDECAR), EVENT)?.and_then(|data| Self::of(&data)))
    }

    /// Parses a record. One with empty content covers messages without anything to summarize.
    pub fn of(data: &Value) -> Option<Self> {
        let content = data.get("content")?.as_str()?.trim().to_owned();
        let through = data.get("through")?.as_u64()?;
        Some(Self { content, through })
    }

    /// The record to store; its author is for people.
    pub fn record(&self, messages: usize, by: &str) -> Value {
        json!({ "content": self.content, "through": self.through, "messages": messages, "by": by })
    }

    /// The message for the model.
    pub fn shown(&self, language: Language) -> String {
        format!("{}\n{}", label(language), self.content)
    }
}

pub fn label(language: Language) -> &'static str {
    match language {
        Language::Chinese => "[对话背景摘要]",
        Language::English => "[Conversation summary]",
    }
}

/// Whether enough has left the window since the last summary.
pub fn is_due(messages: u64, tokens: u64, after_messages: u64, after_tokens: u64) -> bool {
    messages >= after_messages || tokens >= after_tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_messages_or_two_thousand_tokens_are_enough_and_one_less_is_not() {
        assert!(is_due(10, 0, 10, 2_000) && is_due(0, 2_000, 10, 2_000));
        assert!(!is_due(9, 1_999, 10, 2_000));
    }

    #[test]
    fn a_summary_record_round_trips_and_an_invalid_record_is_ignored() {
        let summary = Summary { content: "谈了猫。".to_owned(), through: 12 };
        assert_eq!(Summary::of(&summary.record(3, "extract")), Some(summary.clone()));
        assert_eq!(summary.shown(Language::Chinese), "[对话背景摘要]\n谈了猫。");
        assert_eq!(summary.shown(Language::English), "[Conversation summary]\n谈了猫。");
        for data in [json!({}), json!({"content": 1, "through": 1}), json!({"content": "x"}), json!(null)] {
            assert_eq!(Summary::of(&data), None, "{data}");
        }
    }
}
