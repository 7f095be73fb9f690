//! The zone that holds, wherever it stands.

use std::sync::Arc;

use bub_tape::{Draft, Entry, Fork, Search, Store, Tape};
use proptest::prelude::*;

use super::super::{NAME, message};
use super::{Place, all};

fn anchor(end: &str, version: u64) -> Draft {
    let payload = format!(r#"{{"name": "memory/{end}", "state": {{"version": {version}}}}}"#);
    Draft::new("anchor", &payload, r#"{"zone": true}"#).unwrap()
}

fn event(text: &str) -> Draft {
    let payload = format!(r#"{{"name": "memory.long_term", "data": {{"content": "{text}"}}}}"#);
    Draft::new("event", &payload, r#"{"zone": true}"#).unwrap()
}

fn zone(version: u64, text: &str) -> Vec<Draft> {
    vec![anchor("open", version), event(text), anchor("seal", version)]
}

async fn ids(store: &dyn Store, before: Option<u64>) -> Vec<u64> {
    store.section(NAME, "memory", before).await.unwrap().iter().map(|entry| entry.id).collect()
}

pub(super) async fn the_whole_zone_of_the_highest_version_holds(place: &Place) {
    let store = place.open();
    assert!(ids(&*store, None).await.is_empty());
    store.append(NAME, vec![message("user", "one")], None).await.unwrap();
    assert!(ids(&*store, None).await.is_empty());
    for drafts in [zone(1, "a"), vec![message("user", "two")], zone(5, "b"), zone(3, "c")] {
        store.append(NAME, drafts, None).await.unwrap();
    }
    // Cut off: it is no zone. And neither is a seal alone.
    store.append(NAME, vec![anchor("open", 6), event("d"), anchor("seal", 7)], None).await.unwrap();
    assert_eq!(ids(&*store, None).await, [6, 7, 8]);
    assert_eq!(ids(&*store, Some(8)).await, [2, 3, 4], "what stood there before it");
    // As another process finds it.
    assert_eq!(ids(&*place.open(), None).await, [6, 7, 8]);
    store.append(NAME, zone(8, "e"), None).await.unwrap();
    assert_eq!(ids(&*store, None).await, [15, 16, 17]);
    assert!(store.section(NAME, "other", None).await.unwrap().is_empty());
    store.reset(NAME, false).await.unwrap();
    assert!(ids(&*store, None).await.is_empty());
}

pub(super) async fn a_fork_has_its_own_zone_or_what_it_sees_of_its_parents(place: &Place) {
    let store = place.open();
    store.append(NAME, zone(1, "a"), None).await.unwrap();
    let fork = Fork::new(Arc::clone(&store), NAME);
    assert_eq!(ids(&fork, None).await, [1, 2, 3]);
    fork.append(NAME, vec![message("user", "one")], None).await.unwrap();
    // Written by somebody else behind what the fork sees.
    store.append(NAME, zone(2, "b"), None).await.unwrap();
    assert_eq!(ids(&fork, None).await, [1, 2, 3]);
    assert_eq!(ids(&*store, None).await, [4, 5, 6]);
    fork.append(NAME, zone(2, "c"), None).await.unwrap();
    assert_eq!(ids(&fork, None).await, [5, 6, 7]);
    fork.merge().await.unwrap();
    assert_eq!(ids(&*store, None).await, [8, 9, 10], "of two with one version the later");
    let fork = Fork::new(Arc::clone(&store), NAME);
    fork.reset(NAME, false).await.unwrap();
    assert!(ids(&fork, None).await.is_empty());
}

pub(super) async fn a_search_can_leave_out_what_a_zone_held_before(place: &Place) {
    let store = place.open();
    let tape = Tape::open(Arc::clone(&store), NAME).unwrap();
    for drafts in [zone(1, "heron old"), vec![message("user", "heron said")], zone(2, "heron new"), zone(3, "nothing")]
    {
        store.append(NAME, drafts, None).await.unwrap();
    }
    let found = async |current: &[(u64, u64)]| {
        let current = current.iter().map(|ends| ("memory".to_owned(), *ends)).collect();
        let search = Search { text: "heron".to_owned(), current, ..Search::default() };
        let hits = tape.search(&search).await.unwrap();
        hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]).await, [6, 4, 2]);
    assert_eq!(found(&[(5, 7)]).await, [6, 4]);
    assert_eq!(found(&[(8, 10)]).await, [4]);
}

/// What `zone` means, by looking at everything.
fn highest(entries: &[Entry]) -> Vec<u64> {
    let mark = |entry: &Entry| {
        let payload: serde_json::Value = serde_json::from_str(&entry.payload).unwrap();
        let end = payload["name"].as_str()?.strip_prefix("memory/")?.to_owned();
        Some((end, payload["state"]["version"].as_u64()?))
    };
    let marks: Vec<(usize, String, u64)> = entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| mark(entry).map(|(end, version)| (at, end, version)))
        .collect();
    let mut best: Option<(u64, usize, usize)> = None;
    let mut taken = Vec::new();
    for (seal, _, version) in marks.iter().filter(|(_, end, _)| end == "seal") {
        let mut opens = marks.iter().filter(|(at, end, opened)| at < seal && end == "open" && opened == version);
        let Some((open, ..)) = opens.rfind(|(at, ..)| !taken.contains(at)) else { continue };
        taken.push(*open);
        if best.is_none_or(|(highest, ..)| highest <= *version) {
            best = Some((*version, *open, *seal));
        }
    }
    best.map_or_else(Vec::new, |(_, open, seal)| entries[open..=seal].iter().map(|entry| entry.id).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Opens and seals in any order, from several writers that crash.
    #[test]
    fn in_a_file_it_is_the_one_that_looking_at_everything_finds(marks in prop::collection::vec((0..3_u8, 1..4_u64), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let place = Place::file();
            let store = place.open();
            for (what, version) in marks {
                let draft = match what {
                    0 => anchor("open", version),
                    1 => anchor("seal", version),
                    _ => event("x"),
                };
                store.append(NAME, vec![draft], None).await.unwrap();
                let expected = highest(&all(&*store, NAME).await);
                prop_assert_eq!(&ids(&*store, None).await, &expected);
                prop_assert_eq!(&ids(&*place.open(), None).await, &expected);
            }
            Ok(())
        })?;
    }
}
