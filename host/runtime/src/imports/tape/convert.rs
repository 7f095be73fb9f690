//! Conversions between the types of a guest and of a tape.

use crate::guest::bindings::entries;
use crate::guest::bindings::entries::{Draft, Entry, Hit, Info};
use crate::turn::Turn;
use bub_tape::Tape;
use std::collections::BTreeMap;
use std::path::Path;

/// Writes what plugins want kept beside an archive. The archive has all of it too, so nothing is refused for it.
pub fn attach(dir: &Path, archive: &str, attachments: &[(String, String)]) {
    for (name, text) in attachments {
        match bub_tape::attach(dir, archive, name, text) {
            Ok(path) => tracing::info!("`{}` is kept beside the archive", path.display()),
            Err(error) => tracing::warn!("`{name}` is not kept beside the archive `{archive}`: {error}"),
        }
    }
}

/// The bytes that drafts make a turn hold: the media of a message too.
pub(super) fn weight(turn: &Turn, drafts: &[Draft]) -> usize {
    let media = |draft: &Draft| if draft.kind == "message" { turn.scope.media.weight(&draft.payload) } else { 0 };
    drafts.iter().map(|draft| draft.payload.len() + draft.meta.len() + media(draft)).fold(0, usize::saturating_add)
}

/// The zones of which a guest's search finds only what holds. A session's memory is in a sidecar: where that has a later
/// version, no entry that an earlier version of the program left on the tape holds.
pub async fn current(tape: &Tape) -> bub_tape::Result<BTreeMap<String, (u64, u64)>> {
    let mut zone = tape.section(bub_tape::MEMORY).await?;
    if !zone.is_empty() && bub_tape::section_version(&tape.memory().await?) != bub_tape::section_version(&zone) {
        zone.clear();
    }
    let ends = |entry: Option<&bub_tape::Entry>| entry.map_or(0, |entry| entry.id);
    Ok(BTreeMap::from([(bub_tape::MEMORY.to_owned(), (ends(zone.first()), ends(zone.last())))]))
}

/// An entry as guests see it: with marks in the place of a message's media.
pub(super) fn into_entry(turn: &Turn, entry: bub_tape::Entry) -> Entry {
    turn.taint_by_entry(&entry);
    let payload = match &*entry.kind {
        "message" => turn.scope.media.extract(&entry.payload).into_owned(),
        _ => entry.payload.to_string(),
    };
    let [kind, meta, date] = [entry.kind, entry.meta, entry.date].map(|text| text.to_string());
    Entry { id: entry.id, kind, payload, meta, date }
}

/// Converts entries for a guest, and taints the turn with what is tainted in them.
pub fn into_entries(turn: &Turn, entries: Vec<bub_tape::Entry>) -> Vec<Entry> {
    entries.into_iter().map(|entry| into_entry(turn, entry)).collect()
}

/// Converts search hits for a guest, and taints the turn with what is tainted in them.
pub fn into_hits(turn: &Turn, hits: Vec<bub_tape::Hit>) -> Vec<Hit> {
    hits.into_iter().map(|hit| Hit { entry: into_entry(turn, hit.entry), score: hit.score }).collect()
}

/// Converts the summary of a tape for a guest.
pub fn into_info(info: bub_tape::Info) -> Info {
    Info {
        name: info.name,
        entries: info.entries,
        anchors: info.anchors,
        last_anchor: info.last_anchor,
        entries_since_last_anchor: info.entries_since_last_anchor,
        last_token_usage: info.last_token_usage,
        cache_hit_rate: info.cache_hit_rate,
        unreadable: info.unreadable,
    }
}

/// Converts a guest's query.
pub fn from_query(query: entries::Query) -> bub_tape::Query {
    let start = match query.start {
        entries::Start::First => bub_tape::Start::First,
        entries::Start::LastAnchor => bub_tape::Start::LastAnchor,
        entries::Start::AfterAnchor(name) => bub_tape::Start::AfterAnchor(name),
        entries::Start::BetweenAnchors((from, to)) => bub_tape::Start::BetweenAnchors(from, to),
        entries::Start::AfterId(id) => bub_tape::Start::AfterId(id),
    };
    bub_tape::Query {
        start,
        kinds: query.kinds,
        name: query.name,
        text: query.text,
        since: query.since,
        until: query.until,
        newest_first: query.newest_first,
        limit: query.limit.map(|limit| limit as usize),
    }
}
