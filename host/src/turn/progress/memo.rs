//! What a turn need not find out again in each of its steps.

use super::super::Turn;
use crate::plugin::bindings::Prompt;
use crate::tape::{Entry, Piece};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Bytes of entries that a turn keeps taken apart.
const MAX_KEPT: usize = 8 << 20;

/// What a system prompt was made of: where any of it differs, it is made anew.
#[derive(PartialEq, Eq)]
pub(crate) struct Made {
    /// Whether it has parts, and its text.
    prompt: (bool, String),
    /// Digests of those who were asked, in their order.
    asked: Vec<String>,
    changes: u64,
    is_tainted: bool,
}

/// The system prompt of an earlier step.
pub(crate) struct Memo {
    made: Made,
    text: String,
}

/// Entries taken apart to be messages, by their ids. A tape that was emptied gives the same ids again, so what the entry
/// said stands beside it.
#[derive(Default)]
pub(crate) struct Pieces {
    kept: BTreeMap<u64, (Arc<str>, Arc<Piece>)>,
    bytes: usize,
}

impl Pieces {
    fn of(&mut self, entry: &Entry) -> Arc<Piece> {
        if let Some((payload, piece)) = self.kept.get(&entry.id)
            && *payload == entry.payload
        {
            return piece.clone();
        }
        let piece = Arc::new(Piece::of(entry));
        let bytes = self.bytes.saturating_add(entry.payload.len());
        if bytes <= MAX_KEPT {
            self.bytes = bytes;
            self.kept.insert(entry.id, (entry.payload.clone(), piece.clone()));
        }
        piece
    }
}

impl Turn {
    /// What an entry of the turn's tape adds to a conversation, kept for the next step; none of kinds that are made as quickly
    /// as they are copied.
    pub(crate) fn piece(&self, entry: &Entry) -> Option<Arc<Piece>> {
        let is_slow = matches!(&*entry.kind, "tool_call" | "tool_result");
        is_slow.then(|| self.pieces.lock().unwrap_or_else(PoisonError::into_inner).of(entry))
    }

    /// Something in this turn may have changed what hooks would answer: a tool has run that does not only read, or a plugin
    /// that is not the agent has written.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// What a system prompt for that prompt is made of at this moment, by those plugins.
    pub(crate) fn making(&self, prompt: &Prompt, asked: Vec<String>) -> Made {
        let prompt = match prompt {
            Prompt::Text(text) => (false, text.clone()),
            Prompt::Parts(parts) => (true, parts.clone()),
        };
        let changes = self.changes.load(Ordering::Relaxed);
        Made { prompt, asked, changes, is_tainted: self.tainted().is_some() }
    }

    /// The system prompt that was made of the same.
    pub(crate) fn told_before(&self, made: &Made) -> Option<String> {
        let memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        memo.as_ref().filter(|memo| memo.made == *made).map(|memo| memo.text.clone())
    }

    /// Keeps it for the next step.
    pub(crate) fn keep_told(&self, made: Made, text: &str) {
        *self.memo.lock().unwrap_or_else(PoisonError::into_inner) = Some(Memo { made, text: text.to_owned() });
    }
}
