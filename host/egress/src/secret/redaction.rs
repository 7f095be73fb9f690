//! Redaction of all known secrets in texts.

use crate::secret::value::Value;
use bub_redact::{Patterns, encodings};
use parking_lot::RwLock;
use std::collections::VecDeque;
use std::fmt;
use std::sync::OnceLock;

/// Maximum remembered values that were read from files; the oldest is evicted first.
const MAX_READ: usize = 256;

/// The values and their encodings.
#[derive(Default)]
pub(super) struct Redaction(RwLock<Known>);

#[derive(Default)]
struct Known {
    /// From `secrets.toml` or the environment, both of which are bounded.
    written: Vec<Value>,
    /// Read from files.
    read: VecDeque<Value>,
    /// Patterns of both, built at the first redaction.
    patterns: OnceLock<Patterns>,
}

impl Known {
    fn patterns(&self) -> &Patterns {
        self.patterns.get_or_init(|| {
            Patterns::new(self.written.iter().chain(&self.read).flat_map(|value| encodings(value.expose())))
        })
    }
}

impl Redaction {
    /// Adds a value of `secrets.toml` or the environment.
    pub(super) fn learn_written(&self, value: &Value) {
        self.learn(value, |known| known.written.push(value.clone()));
    }

    /// Adds a value that was read from a file.
    pub(super) fn learn_read(&self, value: &Value) {
        self.learn(value, |known| {
            known.read.push_back(value.clone());
            if known.read.len() > MAX_READ {
                known.read.pop_front();
            }
        });
    }

    fn learn(&self, value: &Value, keep: impl FnOnce(&mut Known)) {
        let knows = |known: &Known| known.written.iter().chain(&known.read).any(|old| old.expose() == value.expose());
        if value.is_short() || knows(&self.0.read()) {
            return;
        }
        let mut known = self.0.write();
        keep(&mut known);
        known.patterns = OnceLock::new();
    }

    /// The patterns of all values that are known by now.
    pub(super) fn patterns(&self) -> Patterns {
        self.0.read().patterns().clone()
    }

    /// Replaces every value in `text` by `***`.
    pub(super) fn clean(&self, text: &str) -> String {
        self.0.read().patterns().redact_text(text)
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(bub_redact::REPLACEMENT)
    }
}
