//! Texts as they leave the program: without secrets, on one line, and not too long.

use crate::record::MAX_ATTRIBUTE;
use bub_types::text::{clipped, one_line};
use std::sync::Arc;

/// Takes secrets out of a text.
pub(crate) type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The longest attribute, in characters.
const MAX: usize = 1000;

/// Texts that are remembered, as a power of two, and the longest of them, in bytes: most are names, which come again with
/// each span.
const KNOWN_BITS: u32 = 9;
const MAX_KNOWN_LENGTH: usize = 128;

/// Makes texts fit to leave.
pub(crate) struct Cleaner {
    redact: Redact,
    /// Each text has one place. So texts that a stranger has chosen to share a place cost no more than new ones.
    known: Vec<Option<Known>>,
    latest: String,
}

/// A text and what was made of it.
struct Known {
    text: Box<str>,
    clean: Box<str>,
}

impl Cleaner {
    pub(crate) fn new(redact: Redact) -> Self {
        Self { redact, known: (0..1 << KNOWN_BITS).map(|_| None).collect(), latest: String::new() }
    }

    /// Takes secrets out by that function from now on.
    pub(crate) fn redact_with(&mut self, redact: Redact) {
        if !Arc::ptr_eq(&self.redact, &redact) {
            *self = Self::new(redact);
        }
    }

    /// The text of an attribute, a name or a line.
    pub(crate) fn clean(&mut self, text: &str) -> &str {
        let known = match text.len() <= MAX_KNOWN_LENGTH {
            true => self.known.get_mut(place(text)),
            false => None,
        };
        let Some(known) = known else {
            let mut redacted = (self.redact)(text);
            if text.len() > MAX_ATTRIBUTE - 4 {
                // It was cut, and a secret in two: that is not found.
                redacted.truncate(redacted.floor_char_boundary(MAX_ATTRIBUTE / 4 * 3));
            }
            self.latest = clipped(&one_line(&redacted), MAX);
            return &self.latest;
        };
        if known.as_ref().is_none_or(|known| *known.text != *text) {
            let clean = clipped(&one_line(&(self.redact)(text)), MAX);
            *known = Some(Known { text: text.into(), clean: clean.into() });
        }
        known.as_ref().map_or("", |known| &known.clean)
    }

    /// The text of a conversation: that is JSON, and is redacted and no more.
    pub(crate) fn content(&self, text: &str) -> String {
        (self.redact)(text).replace(|c: char| c.is_control(), " ")
    }
}

/// The place of a text.
fn place(text: &str) -> usize {
    let mut mixed = text.len() as u64;
    let mut add = |word: u64| mixed = (mixed.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let (words, rest) = text.as_bytes().as_chunks();
    words.iter().for_each(|word| add(u64::from_le_bytes(*word)));
    add(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    (mixed >> (64 - KNOWN_BITS)) as usize
}
