//! The indexes of the tables.

use std::time::Duration;

use bub_store_tests::{NAME, SIDE, batch, ids, keyed, message};
use bub_tape::{Condition, Draft, Erasure, Lookup, Search, Store, event};
use bub_test_support::postgres::Postgres;

use super::store;

fn search(text: &str) -> Search {
    Search { text: text.to_owned(), ..Search::default() }
}

/// Entries that no search below finds, and a few among them that one does.
fn drafts(count: u64) -> Vec<Draft> {
    let text = |n: u64| if n % 500 == 7 { format!("a heron at {n}, 北京") } else { format!("{n} of nothing") };
    (0..count).map(|n| message("user", &text(n))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_reads_few_entries_of_an_indexed_tape() {
    let Some((store, address)) = store().await else { return };
    for tape in [NAME, "other__tape"] {
        store.append(tape, drafts(3_072), None).await.unwrap();
    }
    let condition = |text: &str| Condition { texts: vec![text.to_owned()], newest_first: true, ..Condition::default() };
    let all = store.find(NAME, &condition("heron"), 9_999).await.unwrap().unwrap();
    assert_eq!(all.entries.len(), 3_072, "nothing is indexed yet");
    store.index(NAME).await.unwrap();
    let server = Postgres::shared().unwrap();
    assert_eq!(server.sql(&address, "SELECT count(*) FROM gram"), "3072");
    let expected = [3008, 2508, 2008, 1508, 1008, 508, 8];
    for text in ["heron", "北京", "京"] {
        let found = store.find(NAME, &condition(text), 9_999).await.unwrap().unwrap();
        assert_eq!(ids(&found.entries), expected, "{text}");
        let hits = store.search(NAME, &search(text), None).await.unwrap();
        assert_eq!(hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), expected, "{text}");
    }
    // A page at a time, from either end.
    let first = store.find(NAME, &condition("heron"), 2).await.unwrap().unwrap();
    assert_eq!((ids(&first.entries), first.next), (vec![3008, 2508], Some(2508)));
    let oldest = Condition { newest_first: false, after: 8, ..condition("heron") };
    assert_eq!(ids(&store.find(NAME, &oldest, 2).await.unwrap().unwrap().entries), [508, 1008]);
    // A later entry is found before it is indexed.
    store.append(NAME, vec![message("user", "the last heron")], None).await.unwrap();
    let hits = store.search(NAME, &search("last heron"), None).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), [3073]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_keeps_no_removed_entries() {
    let Some((store, address)) = store().await else { return };
    for tape in [NAME, SIDE] {
        store.append(tape, drafts(1_000), None).await.unwrap();
        store.index(tape).await.unwrap();
    }
    let grams = || Postgres::shared().unwrap().sql(&address, "SELECT count(*) FROM gram");
    assert_eq!(grams(), "2000");
    let herons: Vec<_> = store.search(NAME, &search("heron"), None).await.unwrap();
    assert_eq!(herons.len(), 2);
    store.erase(NAME, Erasure::new(herons.iter().map(|hit| &hit.entry))).await.unwrap();
    assert_eq!(grams(), "1998");
    assert!(store.search(NAME, &search("heron"), None).await.unwrap().is_empty());
    store.reset(NAME, false).await.unwrap();
    assert_eq!(grams(), "0");
    assert_eq!(Postgres::shared().unwrap().sql(&address, "SELECT count(*) FROM entry"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_made_during_an_erasure_keeps_nothing_of_it() {
    let Some((store, address)) = store().await else { return };
    for round in 0..6 {
        store.append(NAME, drafts(768), None).await.unwrap();
        let last = store.last_id(NAME).await.unwrap();
        let indexing = {
            let address = address.clone();
            tokio::spawn(async move { super::open(&address).await.index(NAME).await.unwrap() })
        };
        let mut erased = 0;
        // Entries of the last batches, which are indexed last.
        for id in (last - 300..last).step_by(3) {
            let entry = store.read(NAME, id, 1).await.unwrap();
            erased += store.erase(NAME, Erasure::new(&entry)).await.unwrap();
        }
        assert_eq!(erased, 100, "{round}");
        indexing.await.unwrap();
    }
    store.index(NAME).await.unwrap();
    let server = Postgres::shared().unwrap();
    let left = "SELECT count(*) FROM gram LEFT JOIN entry USING (tape, id) WHERE entry.id IS NULL";
    assert_eq!(server.sql(&address, left), "0");
    let missing = "SELECT count(*) FROM entry e JOIN tape t ON t.number = e.tape LEFT JOIN gram g USING (tape, id) \
                   WHERE g.id IS NULL AND e.id <= t.indexed";
    assert_eq!(server.sql(&address, missing), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_programs_index_a_tape_together() {
    let Some((store, address)) = store().await else { return };
    store.append(NAME, drafts(2_000), None).await.unwrap();
    let others: Vec<_> = (0..4)
        .map(|_| {
            let address = address.clone();
            tokio::spawn(async move { super::open(&address).await.index(NAME).await.unwrap() })
        })
        .collect();
    for other in others {
        other.await.unwrap();
    }
    let server = Postgres::shared().unwrap();
    assert_eq!(server.sql(&address, "SELECT count(*), max(id) FROM gram"), "2000|2000");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rare_entries_of_a_long_tape_are_found_without_reading_it() {
    let Some((store, address)) = store().await else { return };
    store.append(NAME, vec![event("rare", "{}").unwrap()], None).await.unwrap();
    for _ in 0..10 {
        store.append(NAME, drafts(2_000), None).await.unwrap();
    }
    drop(store);
    Postgres::shared().unwrap().sql(&address, "ANALYZE");
    let before = rows_read(&address).await;
    let other = super::open(&address).await;
    for (lookup, expected) in [
        (Lookup::event("rare"), Some(1)),
        (Lookup::Kind("event".to_owned()), Some(1)),
        (Lookup::Phase, None),
        (Lookup::anchor("none"), None),
        (Lookup::Kind("message".to_owned()), Some(20_001)),
    ] {
        let found = other.newest(NAME, &lookup, None).await.unwrap();
        assert_eq!(found.map(|entry| entry.id), expected, "{lookup:?}");
    }
    assert_eq!(other.tail(NAME, None, 10).await.unwrap().len(), 10);
    assert!(other.since_anchor("other__tape").await.unwrap().is_empty());
    drop(other);
    let read = rows_read(&address).await - before;
    assert!(read < 50, "{read} rows of 20,001 were read");
}

/// The rows of the table of entries that were read so far by connections that have ended; waits until all have.
async fn rows_read(address: &str) -> u64 {
    let server = Postgres::shared().unwrap();
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND \
                  backend_type = 'client backend'";
    while server.sql(address, others) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let read = "SELECT coalesce(idx_tup_fetch, 0) + seq_tup_read FROM pg_stat_user_tables WHERE relname = 'entry'";
    server.sql(address, read).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_is_one_statement_and_a_read_is_another() {
    let Some(server) = Postgres::start(&["log_statement=all"]) else { return };
    let store = super::open(&server.database()).await;
    let turn = |n: u32| {
        let batches = [NAME, SIDE].map(|tape| batch(tape, vec![message("user", "x"), message("user", "y")]));
        keyed(&n.to_string(), batches.into())
    };
    // Prepares the statements on each connection that is used.
    store.commit(turn(0)).await.unwrap();
    store.since_anchor(NAME).await.unwrap();
    let statements = || server.log().lines().filter(|line| line.contains("LOG:  execute ")).count();
    let before = statements();
    for n in 1..=5 {
        store.commit(turn(n)).await.unwrap();
        store.since_anchor(NAME).await.unwrap();
    }
    assert_eq!(statements() - before, 10, "{}", server.log());
}
