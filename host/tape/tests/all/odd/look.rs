//! Everything that reads a tape, on a tape that was made up: as a store reads that numbers its entries itself, and in a
//! number of steps that the number of entries bounds.

use std::path::Path;
use std::sync::Arc;

use bub_tape::{
    Batch, Commit, Draft, Durability, Entry, FileStore, JournalSettings, Journals, Lookup, MemoryStore, Query,
    Renderer, Search, Start, Store, Tape, Tapes, Verifier, view,
};

use super::super::{NAME, ids, message};
use super::numbered;
use bub_test_support::Chance;

/// Lays out the tape, reads it in every way, and writes behind it.
pub(super) async fn look(bytes: &[u8], seed: u64) {
    let mut chance = Chance::new(seed ^ 0x0dd);
    let dir = tempfile::tempdir().unwrap();
    let tapes = dir.path().join("tapes");
    std::fs::create_dir(&tapes).unwrap();
    for name in [NAME.to_owned(), format!("{NAME}__sidecar__notes")] {
        std::fs::write(tapes.join(format!("{name}.jsonl")), bytes).unwrap();
    }
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let entry = |line: &[u8]| Entry::parse(std::str::from_utf8(line).ok()?);
    // A torn line, or what stands behind the last newline.
    lines.pop_if(|line| entry(line).is_none());
    let all = numbered(lines.iter().filter_map(|line| entry(line)));
    // A store that numbers entries itself holds the same, one by one.
    let plain = MemoryStore::new();
    let drafts = all.iter().cloned().map(Draft::from).collect();
    plain.commit(Commit::new(Batch { tape: NAME.to_owned(), drafts, ..Batch::default() })).await.unwrap();
    for _ in 0..2 {
        // Nothing is known of the tape, in whatever order it is read.
        let store = open(dir.path());
        for _ in 0..4 {
            makes_progress(&*store, all.len(), &mut chance).await;
        }
        store.prepare(NAME).await.unwrap();
        agrees(&*store, &plain, &all, &mut chance).await;
        zones_and_windows(&store, &plain, &all, &mut chance).await;
    }
    let sidecar = Tape::open(open(dir.path()), NAME).unwrap().sidecar("notes").unwrap();
    sidecar.bootstrap().await.unwrap();
    makes_progress(&*open(dir.path()), all.len(), &mut chance).await;
    let mut verifier = Verifier::new();
    verifier.read(&mut &*bytes, |_| ()).unwrap();
    assert_eq!(verifier.finish().entries, all.len() as u64);
    goes_on(dir.path(), &all).await;
}

fn open(dir: &Path) -> Arc<FileStore> {
    Arc::new(FileStore::indexed(dir.join("tapes"), Durability::Os, dir.join("index")).unwrap())
}

/// Reads in pages from some end: each brings what was not brought before, and there is an end.
async fn makes_progress(store: &dyn Store, count: usize, chance: &mut Chance) {
    // Each page of a long tape numbers a stretch of it.
    let step = 1 + chance.below(9) + count / 20;
    match chance.below(5) {
        0 => {
            let (mut after, mut steps) = (0, 0);
            while let Some(last) = store.read(NAME, after, step).await.unwrap().last() {
                assert!(last.id > after, "{} behind {after}", last.id);
                after = last.id;
                steps += 1;
                assert!(steps <= count, "{steps} pages of {count} entries");
            }
        }
        1 => {
            let (mut before, mut steps) = (None, 0);
            while let Some(first) = store.tail(NAME, before, step).await.unwrap().first() {
                assert!(before.is_none_or(|before| first.id < before), "{} before {before:?}", first.id);
                before = Some(first.id);
                steps += 1;
                assert!(steps <= count, "{steps} pages of {count} entries");
            }
        }
        2 => {
            let name = *chance.one_of(&["memory/seal", "notes/open", "phase"]);
            let lookup = Lookup::anchor(name);
            let (mut before, mut steps) = (None, 0);
            while let Some(found) = store.newest(NAME, &lookup, before).await.unwrap() {
                assert!(before.is_none_or(|before| found.id < before) && lookup.matches(&found));
                before = Some(found.id);
                steps += 1;
                assert!(steps <= count, "{steps} anchors of {count} entries");
            }
        }
        3 => {
            store.section(NAME, "memory", None).await.unwrap();
            let info = store.info(NAME).await.unwrap();
            assert!(info.entries <= count as u64);
        }
        _ => {
            let back = Query { newest_first: true, limit: Some(count + 1), ..Query::default() };
            assert!(store.query(NAME, &back).await.unwrap().len() <= count);
            store.since_anchor(NAME).await.unwrap();
            store.last_id(NAME).await.unwrap();
        }
    }
}

/// Whether both hold the same entries, under whatever ids.
#[track_caller]
fn same(found: &[Entry], expected: &[Entry], all: &[Entry]) {
    let by_place: Vec<&Entry> = expected.iter().filter_map(|entry| all.get(entry.id as usize - 1)).collect();
    assert_eq!(found.iter().collect::<Vec<_>>(), by_place);
}

async fn agrees(store: &dyn Store, plain: &MemoryStore, all: &[Entry], chance: &mut Chance) {
    assert_eq!(store.read(NAME, 0, usize::MAX).await.unwrap(), all);
    assert_eq!(store.tail(NAME, None, usize::MAX).await.unwrap(), all);
    assert_eq!(store.last_id(NAME).await.unwrap(), all.last().map_or(0, |last| last.id));
    let info = store.info(NAME).await.unwrap();
    let expected = plain.info(NAME).await.unwrap();
    assert_eq!(
        (info.entries, info.anchors, info.last_anchor),
        (expected.entries, expected.anchors, expected.last_anchor)
    );
    for _ in 0..6 {
        // Behind or before which entry, and how its id stands in each of the two.
        let place = chance.below(all.len() + 1);
        let theirs = place as u64 + 1;
        let ours = all.get(place).map_or(u64::MAX, |entry| entry.id);
        let max = 1 + chance.below(20);
        let after = place.checked_sub(1).and_then(|before| all.get(before)).map_or(0, |before| before.id);
        let (found, expected) =
            (store.read(NAME, after, max).await.unwrap(), plain.read(NAME, theirs - 1, max).await.unwrap());
        same(&found, &expected, all);
        let (found, expected) =
            (store.tail(NAME, Some(ours), max).await.unwrap(), plain.tail(NAME, Some(theirs), max).await.unwrap());
        same(&found, &expected, all);
        let kinds = [
            Lookup::Phase,
            Lookup::Anchor,
            Lookup::anchor("memory/seal"),
            Lookup::event("heron"),
            Lookup::Kind("message".to_owned()),
        ];
        for lookup in kinds {
            let found = store.newest(NAME, &lookup, Some(ours)).await.unwrap();
            let expected = plain.newest(NAME, &lookup, Some(theirs)).await.unwrap();
            same(found.as_slice(), expected.as_slice(), all);
        }
        for (start, of_plain) in [
            (Start::AfterId(after), Start::AfterId(theirs - 1)),
            (Start::LastAnchor, Start::LastAnchor),
            (Start::AfterAnchor("notes/open".to_owned()), Start::AfterAnchor("notes/open".to_owned())),
        ] {
            let (newest_first, kinds) = (chance.below(2) == 0, vec!["message".to_owned(), "event".to_owned()]);
            let query = Query { start, newest_first, kinds, limit: Some(max), ..Query::default() };
            let expected = plain.query(NAME, &Query { start: of_plain, ..query.clone() }).await;
            match (store.query(NAME, &query).await, expected) {
                (Ok(found), Ok(expected)) => same(&found, &expected, all),
                (found, expected) => assert_eq!(found.is_err(), expected.is_err()),
            }
        }
        let search = Search { text: (*chance.one_of(&["heron", "storc"])).to_owned(), limit: max, ..Search::default() };
        let found = store.search(NAME, &search, Some(ours)).await.unwrap().into_iter().map(|hit| hit.entry);
        let expected = plain.search(NAME, &search, Some(theirs)).await.unwrap().into_iter().map(|hit| hit.entry);
        same(&found.collect::<Vec<_>>(), &expected.collect::<Vec<_>>(), all);
    }
}

async fn zones_and_windows(store: &Arc<FileStore>, plain: &MemoryStore, all: &[Entry], chance: &mut Chance) {
    for name in ["memory", "notes", "other"] {
        let place = chance.below(all.len() + 1);
        for before in [None, all.get(place).map(|entry| entry.id)] {
            // Which of two zones of one version holds where opens and seals are mixed is not asked here.
            let found = store.section(NAME, name, before).await.unwrap_or_default();
            assert!(found.iter().all(|entry| before.is_none_or(|before| entry.id < before) && all.contains(entry)));
            assert!(found.is_sorted_by(|one, next| one.id < next.id));
        }
    }
    same(&store.since_anchor(NAME).await.unwrap(), &plain.since_anchor(NAME).await.unwrap(), all);
    let tape = Tape::open(Arc::clone(store) as Arc<dyn Store>, NAME).unwrap();
    let mut renderer = Renderer::new();
    view::window(&tape).await.unwrap().iter().for_each(|entry| renderer.push(entry));
    renderer.finish();
}

/// Entries that were read stay as they were, and new ones follow them.
async fn goes_on(dir: &Path, all: &[Entry]) {
    let store = open(dir);
    let journals = Arc::new(Journals::new(dir.join("tapes"), JournalSettings::default()));
    let tapes = Tapes::new(Arc::clone(&store) as Arc<dyn Store>, journals);
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    turn.bootstrap().await.unwrap();
    let first = turn.append(vec![message("user", "one"), message("assistant", "two")]).await.unwrap();
    assert!(all.last().is_none_or(|last| first > last.id));
    assert_eq!(turn.tail(None, usize::MAX).await.unwrap()[..all.len()], *all);
    turn.merge().await.unwrap();
    turn.close();
    let direct = tapes.open(NAME).unwrap();
    let last = direct.last_id().await.unwrap();
    assert_eq!(direct.append_direct(last, vec![message("user", "three")]).await.unwrap(), last + 1);
    for _ in 0..2 {
        let again = open(dir);
        again.prepare(NAME).await.unwrap();
        let read = again.read(NAME, 0, usize::MAX).await.unwrap();
        assert_eq!(read[..all.len()], *all);
        assert!(ids(&read).is_sorted_by(|one, next| one < next));
        assert_eq!(read.last().map(|last| last.id), Some(last + 1));
    }
    direct.reset(true).await.unwrap();
    assert_eq!(direct.append(vec![message("user", "new")]).await.unwrap(), 1);
    assert_eq!(ids(&direct.read(0, 9).await.unwrap()), [1]);
}
