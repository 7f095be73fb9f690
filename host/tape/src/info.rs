//! Statistics of a tape.

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::json;

/// Maximum length of an anchor's name in bytes, since it is kept in memory and in the index file.
const MAX_NAME: usize = 1024;

/// Statistics of one tape. Section anchors count as entries, not as anchors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// The name of the tape.
    pub name: String,
    /// The number of entries.
    pub entries: u64,
    /// The number of anchors.
    pub anchors: u64,
    /// The name of the newest anchor, truncated to 1,024 bytes.
    pub last_anchor: Option<String>,
    /// Entries after the newest anchor; all, if there is none.
    pub entries_since_last_anchor: u64,
    /// `total_tokens` of the newest `run` event that has them.
    pub last_token_usage: Option<u64>,
    /// `total_tokens` of all `run` events together.
    #[serde(default)]
    pub total_tokens: u64,
    /// The share of that run's prompt tokens that the provider read from its cache, from 0 to 1; `None` if the provider
    /// does not report it, or there was no prompt.
    #[serde(with = "bits")]
    pub cache_hit_rate: Option<f64>,
    /// Unreadable lines. Only stores whose tapes other programs can write have any.
    pub unreadable: u64,
}

impl Info {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds the statistics of later entries.
    pub(super) fn add(&mut self, behind: &Self) {
        self.entries = self.entries.saturating_add(behind.entries);
        self.unreadable = self.unreadable.saturating_add(behind.unreadable);
        self.anchors = self.anchors.saturating_add(behind.anchors);
        if behind.anchors > 0 {
            self.last_anchor.clone_from(&behind.last_anchor);
            self.entries_since_last_anchor = 0;
        }
        let since = self.entries_since_last_anchor.saturating_add(behind.entries_since_last_anchor);
        self.entries_since_last_anchor = since;
        self.total_tokens = self.total_tokens.saturating_add(behind.total_tokens);
        if behind.last_token_usage.is_some() {
            (self.last_token_usage, self.cache_hit_rate) = (behind.last_token_usage, behind.cache_hit_rate);
        }
    }

    /// Counts the next entry of the tape.
    pub fn count(&mut self, entry: &Entry) {
        self.count_named(entry, entry.name().as_deref());
    }

    /// Like `count`, with a known [`Entry::name`]: parsing it reads the whole payload.
    pub(super) fn count_named(&mut self, entry: &Entry, name: Option<&str>) {
        // Saturating: saved counts may be corrupt.
        self.entries = self.entries.saturating_add(1);
        if entry.begins_phase() {
            self.anchors = self.anchors.saturating_add(1);
            self.last_anchor = name.map(cut);
            self.entries_since_last_anchor = 0;
            return;
        }
        self.entries_since_last_anchor = self.entries_since_last_anchor.saturating_add(1);
        if let Some((tokens, rate)) = usage(entry, name) {
            self.last_token_usage = Some(tokens);
            self.total_tokens = self.total_tokens.saturating_add(tokens);
            self.cache_hit_rate = rate;
        }
    }
}

fn cut(name: &str) -> String {
    name.get(..name.floor_char_boundary(MAX_NAME)).unwrap_or_default().to_owned()
}

/// Tokens and cache-hit rate of a run that has tokens.
fn usage(entry: &Entry, name: Option<&str>) -> Option<(u64, Option<f64>)> {
    if !entry.is("event") || name != Some("run") {
        return None;
    }
    let usage = json::get(json::get(&entry.payload, "data")?, "usage")?;
    let number = |object: &str, key: &str| json::get(object, key)?.parse::<u64>().ok();
    let total = number(usage, "total_tokens")?;
    let cached = json::get(usage, "prompt_tokens_details").and_then(|details| number(details, "cached_tokens"));
    let rate = match (cached, number(usage, "prompt_tokens")) {
        (Some(cached), Some(prompt)) if prompt > 0 => Some(cached as f64 / prompt as f64),
        _ => None,
    };
    Some((total, rate))
}

/// Saves a float by its bits: its decimal form may be read back as a neighbouring value.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(rate: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        rate.map(f64::to_bits).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(f64::from_bits))
    }
}
