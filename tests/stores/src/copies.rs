//! Copies of a tape for a session that goes on from there.

use bub_tape::{
    Draft, Entry, Erasure, Error, JournalSettings, Journals, SESSION_START, SessionMark, Store, TapeCopy, Tapes,
    bootstrap, event, session_mark, tape_name,
};
use std::path::Path;
use std::sync::Arc;

use crate::{NAME, Place, SIDE, all, ids, message};

/// The tapes of a store, whose journals are in that directory.
fn tapes(store: &Arc<dyn Store>, dir: &tempfile::TempDir) -> Tapes {
    Tapes::new(Arc::clone(store), Arc::new(Journals::new(dir.path(), JournalSettings::default())))
}

fn mark() -> SessionMark {
    SessionMark { id: "new".to_owned(), workspace: "/work".to_owned(), channel: "cli".to_owned() }
}

fn new_name() -> String {
    tape_name(Path::new("/work"), "new")
}

async fn made(mut copy: TapeCopy) -> u64 {
    while copy.step().await.unwrap().is_some() {}
    copy.finish().await.unwrap()
}

/// Entries of that day, a second apart.
fn dated(drafts: Vec<Draft>, first: usize) -> Vec<Draft> {
    let date = |at: usize| format!("2026-11-21T10:{:02}:{:02}+00:00", at / 60, at % 60);
    drafts.into_iter().enumerate().map(|(at, draft)| draft.dated(date(first + at))).collect()
}

pub async fn a_copy_has_the_ids_and_dates_of_its_source_up_to_an_entry(place: &Place) {
    let (store, dir) = (place.open(), tempfile::tempdir().unwrap());
    let mut drafts: Vec<Draft> = bootstrap().into();
    drafts.extend((0..200).map(|at| message("user", &format!("message {at}"))));
    store.append(NAME, dated(drafts, 0), None).await.unwrap();
    store.append(SIDE, dated(vec![message("user", "early"), message("user", "late")], 100), None).await.unwrap();
    let chosen: Vec<Entry> = all(&*store, NAME).await.into_iter().filter(|entry| (5..9).contains(&entry.id)).collect();
    // A store that cannot erase has no gaps between its ids.
    drop(store.erase(NAME, Erasure::new(&chosen)).await);
    let source = all(&*store, NAME).await;
    let (tapes, new) = (tapes(&store, &dir), new_name());
    let copy = tapes.copy(NAME, &new, Some(101), Some(mark())).await.unwrap().expect("it is new");
    let copied = made(copy).await;
    let expected: Vec<Entry> = source.into_iter().filter(|entry| entry.id <= 101).collect();
    assert_eq!(copied, expected.len() as u64);
    for store in [&store, &place.open()] {
        let found = all(&**store, &new).await;
        assert_eq!(ids(&found), ids(&expected));
        assert_eq!(found[1..], expected[1..]);
        let whole = |entry: &Entry| (Arc::clone(&entry.kind), Arc::clone(&entry.payload), Arc::clone(&entry.date));
        assert_eq!(whole(&found[0]), whole(&expected[0]));
        assert_eq!(session_mark(&**store, &new).await.unwrap(), Some(mark()), "it is the new session's");
        let beside = all(&**store, &format!("{new}__sidecar__notes")).await;
        assert_eq!(ids(&beside), [1], "as it was when the last entry was written");
        assert_eq!(store.info(&new).await.unwrap().entries, copied);
    }
    assert!(tapes.copy(NAME, &new, None, None).await.unwrap().is_none(), "it exists");
    tapes.open(&new).unwrap().append(vec![message("user", "goes on")]).await.unwrap();
    assert_eq!(store.last_id(&new).await.unwrap(), 102);
}

pub async fn a_copy_of_no_entries_begins_anew_and_a_failed_one_is_removed(place: &Place) {
    let (store, dir) = (place.open(), tempfile::tempdir().unwrap());
    store.append(NAME, (0..150).map(|at| message("user", &format!("{at}"))).collect(), None).await.unwrap();
    let (tapes, new) = (tapes(&store, &dir), new_name());
    for id in [151, u64::MAX] {
        let missing = tapes.copy(NAME, &new, Some(id), None).await.err();
        assert!(matches!(missing, Some(Error::NotFound(_))), "{missing:?}");
    }
    let mut copy = tapes.copy(NAME, &new, Some(150), Some(mark())).await.unwrap().expect("it is new");
    copy.step().await.unwrap();
    assert!(store.last_id(&new).await.unwrap() > 0);
    store.reset(NAME, false).await.unwrap();
    let failed = loop {
        match copy.step().await {
            Ok(page) => assert!(page.is_some(), "the source is not what it was"),
            Err(error) => break error,
        }
    };
    assert!(failed.to_string().contains("was reset while it was copied"), "{failed}");
    copy.discard().await.unwrap();
    assert_eq!(store.last_id(&new).await.unwrap(), 0);
    let copy = tapes.copy(NAME, &new, Some(0), Some(mark())).await.unwrap().expect("it is new");
    assert_eq!(made(copy).await, 0);
    let begun = all(&*store, &new).await;
    assert_eq!((begun.len(), begun[0].anchor_name().as_deref()), (2, Some(SESSION_START)));
    assert_eq!(session_mark(&*store, &new).await.unwrap(), Some(mark()));
}

pub async fn a_copy_that_ends_at_a_tainted_anchor_is_tainted(place: &Place) {
    let (store, dir) = (place.open(), tempfile::tempdir().unwrap());
    let mut drafts: Vec<Draft> = bootstrap().into();
    drafts.extend(bub_tape::handoff("phase", Some("\"from a page\"")).unwrap());
    drafts.push(event("turn.tainted", r#"{"sources": ["tool:web.fetch"]}"#).unwrap());
    drafts.push(message("user", "on"));
    store.append(NAME, drafts, None).await.unwrap();
    let tapes = tapes(&store, &dir);
    for (through, entries) in [(2, 2), (3, 4), (4, 5), (5, 5)] {
        let new = format!("aaaa__c{through}");
        made(tapes.copy(NAME, &new, Some(through), None).await.unwrap().expect("it is new")).await;
        let found = all(&*store, &new).await;
        assert_eq!(found.len(), entries, "{through}");
        let is_tainted = found.last().and_then(Entry::event_name).as_deref() == Some("turn.tainted");
        assert_eq!(is_tainted, through > 2, "{through}");
    }
}

pub async fn a_copy_that_ends_at_a_call_has_a_result_for_it(place: &Place) {
    let (store, dir) = (place.open(), tempfile::tempdir().unwrap());
    let entry = |kind: &str, payload: &str| Draft::new(kind, payload, "{}").unwrap();
    let call = r#"{"calls": [{"id": "a", "function": {"name": "x"}}, {"id": "b", "function": {"name": "y"}}]}"#;
    let drafts = vec![
        message("user", "go"),
        entry("tool_call", call),
        event("loop.step", "{}").unwrap(),
        entry("tool_result", r#"{"results": ["one", "two"]}"#),
        message("assistant", "done"),
    ];
    store.append(NAME, drafts, None).await.unwrap();
    let tapes = tapes(&store, &dir);
    for (through, added) in [(1, false), (2, true), (3, true), (4, false), (5, false)] {
        let new = format!("aaaa__d{through}");
        made(tapes.copy(NAME, &new, Some(through), None).await.unwrap().expect("it is new")).await;
        let found = all(&*store, &new).await;
        assert_eq!(found.len() as u64, through + u64::from(added), "{through}");
        if added {
            let last = found.last().unwrap();
            assert!(last.is("tool_result") && last.payload.matches("may or may not have run").count() == 2, "{last:?}");
        }
    }
}
