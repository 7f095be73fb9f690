//! The one place that a program never comes back from: `where` of its configuration names it.

use crate::bub::plugin::config;
use std::hint::black_box;

/// Does not come back, where it is the place that is meant.
pub fn pass(place: &str) {
    let meant: Option<String> = config::get("where").and_then(|text| serde_json::from_str(&text).ok());
    let mut rounds = 0u64;
    while meant.as_deref() == Some(place) {
        rounds = black_box(rounds.wrapping_add(1));
    }
}
