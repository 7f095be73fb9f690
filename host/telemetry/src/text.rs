//! Texts as they leave the program: without secrets, on one line, and not too long.

use crate::record::{CONTENT, MAX_ATTRIBUTE};
use bub_types::text::{clipped, one_line};
use std::collections::HashMap;
use std::sync::Arc;

/// Takes secrets out of a text.
pub(crate) type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The longest attribute, in characters.
const MAX: usize = 1000;

/// Texts that are remembered, and the longest of them, in bytes: most are names, which come again with each span.
const MAX_KNOWN: usize = 512;
const MAX_KNOWN_LENGTH: usize = 128;

/// Makes texts fit to leave.
pub(crate) struct Cleaner {
    redact: Redact,
    known: HashMap<String, String>,
}

impl Cleaner {
    pub(crate) fn new(redact: Redact) -> Self {
        Self { redact, known: HashMap::new() }
    }

    /// Writes the text of an attribute, a name or a line.
    pub(crate) fn clean<R>(&mut self, text: &str, write: impl FnOnce(&str) -> R) -> R {
        if text.len() > MAX_KNOWN_LENGTH {
            let mut redacted = (self.redact)(text);
            if text.len() > MAX_ATTRIBUTE - 4 {
                // It was cut, and a secret in two: that is not found.
                redacted.truncate(redacted.floor_char_boundary(MAX_ATTRIBUTE / 4 * 3));
            }
            return write(&clipped(&one_line(&redacted), MAX));
        }
        if let Some(clean) = self.known.get(text) {
            return write(clean);
        }
        let clean = clipped(&one_line(&(self.redact)(text)), MAX);
        let outcome = write(&clean);
        if self.known.len() < MAX_KNOWN {
            self.known.insert(text.to_owned(), clean);
        }
        outcome
    }

    /// Writes an attribute, which may be a conversation: that is JSON, and is redacted and no more.
    pub(crate) fn attribute<R>(&mut self, name: &str, text: &str, write: impl FnOnce(&str) -> R) -> R {
        match CONTENT.contains(&name) {
            true => write(&(self.redact)(text).replace(|c: char| c.is_control(), " ")),
            false => self.clean(text, write),
        }
    }
}
