//! How long tool calls took, by the receipts of their turns.

use bub_tape::{Entry, RECEIPTS, Result, Store, sidecar_name};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

/// Entries with receipts that are looked at, the newest.
const MAX_RECEIPTS: usize = 256;

/// Milliseconds of the tool calls in these entries, by the ids of the calls.
pub(super) async fn durations(store: &dyn Store, tape: &str, entries: &[Entry]) -> Result<BTreeMap<String, u64>> {
    let mut calls: BTreeMap<String, &str> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.is("tool_call")) {
        let payload: Value = serde_json::from_str(&entry.payload).unwrap_or_default();
        let ids = payload["calls"].as_array().into_iter().flatten().filter_map(|call| call["id"].as_str());
        calls.extend(ids.map(|id| (id.to_owned(), &*entry.date)));
    }
    let Ok(receipts) = sidecar_name(tape, RECEIPTS) else { return Ok(BTreeMap::new()) };
    if calls.is_empty() {
        return Ok(BTreeMap::new());
    }
    // An id may come again in a later turn: the receipt is the one that was written closest to the call.
    let mut found: BTreeMap<String, (i128, u64)> = BTreeMap::new();
    for entry in store.tail(&receipts, None, MAX_RECEIPTS).await? {
        let payload: Value = serde_json::from_str(&entry.payload).unwrap_or_default();
        let receipts = payload["data"]["receipts"].as_array();
        for receipt in receipts.into_iter().flatten().filter(|receipt| receipt["kind"] == "tool") {
            let (Some(call), Some(ms)) = (receipt["call"].as_str(), receipt["ms"].as_u64()) else { continue };
            let Some(distance) = calls.get(call).and_then(|date| distance(date, &entry.date)) else { continue };
            if found.get(call).is_none_or(|(closest, _)| distance < *closest) {
                found.insert(call.to_owned(), (distance, ms));
            }
        }
    }
    Ok(found.into_iter().map(|(call, (_, ms))| (call, ms)).collect())
}

/// Nanoseconds between two dates.
fn distance(one: &str, other: &str) -> Option<i128> {
    let [one, other] = [one, other].map(|date| date.parse::<Timestamp>().ok().map(Timestamp::as_nanosecond));
    Some((one? - other?).abs())
}
