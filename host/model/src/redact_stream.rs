//! Redaction of streamed text.

use bub_redact::{Patterns, RedactStream};

/// Redacts one stream of text.
pub(crate) struct TextRedactor {
    patterns: Patterns,
    stream: RedactStream,
    /// Bytes of an incomplete character.
    cut: Vec<u8>,
}

impl TextRedactor {
    pub(crate) fn new(patterns: Patterns) -> TextRedactor {
        TextRedactor { stream: RedactStream::new(&patterns), patterns, cut: Vec::new() }
    }

    /// Feeds `text`, and returns what can be emitted.
    pub(crate) fn pass(&mut self, text: &str) -> String {
        let passed = self.stream.push(text.as_bytes());
        self.cut.extend(passed);
        let whole = match std::str::from_utf8(&self.cut) {
            Ok(text) => text.len(),
            // Only the end of the input can be an incomplete character.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.cut.len(),
        };
        let rest = self.cut.split_off(whole);
        text_of(std::mem::replace(&mut self.cut, rest))
    }

    /// Ends the stream, and returns what was held back.
    pub(crate) fn end(&mut self) -> String {
        let mut bytes = std::mem::take(&mut self.cut);
        bytes.extend(self.stream.finish());
        self.stream = RedactStream::new(&self.patterns);
        text_of(bytes)
    }

    /// Redacts a complete text.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.patterns.redact_text(text)
    }
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
