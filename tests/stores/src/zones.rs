//! Which version of a section applies.

use std::sync::Arc;

use bub_tape::{Draft, Fork, Search, Store, Tape};

use crate::Place;
use crate::{NAME, message};

/// An end of the section, of that version.
pub fn anchor(end: &str, version: u64) -> Draft {
    let payload = format!(r#"{{"name": "memory/{end}", "state": {{"version": {version}}}}}"#);
    Draft::new("anchor", &payload, r#"{"zone": true}"#).unwrap()
}

/// The content of a section.
pub fn event(text: &str) -> Draft {
    let payload = format!(r#"{{"name": "memory.long_term", "data": {{"content": "{text}"}}}}"#);
    Draft::new("event", &payload, r#"{"zone": true}"#).unwrap()
}

fn zone(version: u64, text: &str) -> Vec<Draft> {
    vec![anchor("open", version), event(text), anchor("seal", version)]
}

/// The ids of the section that is found before an id.
pub async fn ids(store: &dyn Store, before: Option<u64>) -> Vec<u64> {
    store.section(NAME, "memory", before).await.unwrap().iter().map(|entry| entry.id).collect()
}

pub async fn the_complete_section_of_the_highest_version_applies(place: &Place) {
    let store = place.open();
    assert!(ids(&*store, None).await.is_empty());
    store.append(NAME, vec![message("user", "one")], None).await.unwrap();
    assert!(ids(&*store, None).await.is_empty());
    for drafts in [zone(1, "a"), vec![message("user", "two")], zone(5, "b"), zone(3, "c")] {
        store.append(NAME, drafts, None).await.unwrap();
    }
    // Truncated: the section is incomplete. So is a seal alone.
    store.append(NAME, vec![anchor("open", 6), event("d"), anchor("seal", 7)], None).await.unwrap();
    assert_eq!(ids(&*store, None).await, [6, 7, 8]);
    assert_eq!(ids(&*store, Some(8)).await, [2, 3, 4], "the section before it");
    // As another process finds it.
    assert_eq!(ids(&*place.open(), None).await, [6, 7, 8]);
    store.append(NAME, zone(8, "e"), None).await.unwrap();
    assert_eq!(ids(&*store, None).await, [15, 16, 17]);
    assert!(store.section(NAME, "other", None).await.unwrap().is_empty());
    store.reset(NAME, false).await.unwrap();
    assert!(ids(&*store, None).await.is_empty());
}

pub async fn a_fork_has_its_own_section_or_the_visible_part_of_its_parents(place: &Place) {
    let store = place.open();
    store.append(NAME, zone(1, "a"), None).await.unwrap();
    let fork = Fork::new(Arc::clone(&store), NAME);
    assert_eq!(ids(&fork, None).await, [1, 2, 3]);
    fork.append(NAME, vec![message("user", "one")], None).await.unwrap();
    // Written by another writer after the part that the fork sees.
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

pub async fn a_search_can_exclude_earlier_versions_of_a_section(place: &Place) {
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
