//! What a tape amounts to.

use super::entry::Entry;
use super::json;

/// Counts of one tape. Zone anchors are entries here, but no anchors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pub name: String,
    pub entries: u64,
    pub anchors: u64,
    /// The name of the newest anchor.
    pub last_anchor: Option<String>,
    /// How many entries stand behind the newest anchor; all, where there is none.
    pub entries_since_last_anchor: u64,
    /// `total_tokens` of the newest `run` event that has them.
    pub last_token_usage: Option<u64>,
}

impl Info {
    pub(super) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Counts the next entry of the tape.
    pub(super) fn count(&mut self, entry: &Entry) {
        self.entries += 1;
        if entry.begins_phase() {
            self.anchors += 1;
            self.last_anchor = entry.anchor_name();
            self.entries_since_last_anchor = 0;
            return;
        }
        self.entries_since_last_anchor += 1;
        if let Some(tokens) = tokens(entry) {
            self.last_token_usage = Some(tokens);
        }
    }
}

fn tokens(entry: &Entry) -> Option<u64> {
    if entry.kind != "event" {
        return None;
    }
    let name = json::get(&entry.payload, "name").and_then(json::string)?;
    let usage = json::get(json::get(&entry.payload, "data")?, "usage")?;
    let total = json::get(usage, "total_tokens")?;
    if name == "run" { total.parse().ok() } else { None }
}
