//! Takes keys out of what a model says, also where they come in pieces.

use std::sync::Arc;

/// One stream of text on its way.
pub(crate) struct Veil {
    secrets: Arc<[String]>,
    /// The end of what came, held back because a key may begin there.
    held: String,
}

impl Veil {
    pub(crate) fn new(secrets: Arc<[String]>) -> Veil {
        Veil { secrets, held: String::new() }
    }

    /// What can be shown once `text` has come.
    pub(crate) fn pass(&mut self, text: &str) -> String {
        self.held.push_str(text);
        self.held = self.hide(&self.held);
        let begun = self.secrets.iter().map(|secret| begun_at_end(&self.held, secret)).max().unwrap_or_default();
        let rest = self.held.split_off(self.held.len() - begun);
        std::mem::replace(&mut self.held, rest)
    }

    /// What was held back, when no more comes.
    pub(crate) fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// A whole text without keys.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), "***"),
            false => text,
        })
    }
}

/// How many bytes at the end of `text` are the beginning of `secret`, but not all of it.
fn begun_at_end(text: &str, secret: &str) -> usize {
    let lengths = (1..secret.len()).rev().filter(|length| secret.is_char_boundary(*length));
    lengths.into_iter().find(|length| secret.get(..*length).is_some_and(|begin| text.ends_with(begin))).unwrap_or(0)
}
