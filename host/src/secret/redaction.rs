//! All values that this process knows, taken out of texts.

use crate::secret::forms;
use crate::secret::value::Value;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// Most values that are remembered of files that change; the oldest goes first.
const MAX_READ: usize = 256;

/// What stands in the place of a value.
const MARK: &str = "***";

/// The values, and all their spellings.
#[derive(Default)]
pub(super) struct Redaction(RwLock<Known>);

#[derive(Default)]
struct Known {
    /// Written down in `secrets.toml` or the environment, both of which are bounded.
    written: Vec<Value>,
    /// Read from files.
    read: VecDeque<Value>,
    /// All spellings of both, the longest first.
    forms: Vec<String>,
}

impl Known {
    fn add(&mut self, value: &Value) {
        let forms = forms::all(value.expose()).into_iter();
        self.forms.extend(forms.filter_map(|form| String::from_utf8(form).ok()));
    }
}

impl Redaction {
    /// Remembers a value that was written down.
    pub(super) fn learn_written(&self, value: &Value) {
        self.learn(value, |known| {
            known.written.push(value.clone());
            known.add(value);
        });
    }

    /// Remembers a value that was read from a file.
    pub(super) fn learn_read(&self, value: &Value) {
        self.learn(value, |known| {
            known.read.push_back(value.clone());
            if known.read.len() > MAX_READ {
                known.read.pop_front();
                known.forms.clear();
                for value in known.written.clone().iter().chain(&known.read.clone()) {
                    known.add(value);
                }
            } else {
                known.add(value);
            }
        });
    }

    fn learn(&self, value: &Value, keep: impl FnOnce(&mut Known)) {
        let knows = |known: &Known| known.written.iter().chain(&known.read).any(|old| old.expose() == value.expose());
        if value.is_short() || knows(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        keep(&mut known);
        // One value may begin another, and the other's end must not stay behind.
        forms::longest_first(&mut known.forms);
    }

    /// `text` with `***` for every value.
    pub(super) fn clean(&self, text: &str) -> String {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut clean = text.to_owned();
        for form in &known.forms {
            if clean.contains(form.as_str()) {
                clean = clean.replace(form.as_str(), MARK);
            }
        }
        clean
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MARK)
    }
}
