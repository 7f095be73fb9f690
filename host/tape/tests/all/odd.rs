//! Tapes whose lines bear any ids: what every reader makes of them, and how appends go on behind them.
//!
//! To look for more than a plain run does:
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test -p bub-tape --test all -- --exact odd::fuzz::look_for_more --ignored --nocapture
//! ```

mod fuzz;
mod look;
mod made;

use bub_tape::{Entry, Lookup, Query, Start, Store, Tape, Verifier};

use super::{NAME, Room, ids, message};

/// A tape of messages with these ids, as they stand on the lines.
fn lines(ids: &[&str]) -> String {
    let line = |(place, id): (usize, &&str)| {
        format!(
            "{{\"id\": {id}, \"kind\": \"message\", \"payload\": {{\"role\": \"user\", \"content\": \"m{place}\"}}, \"meta\": {{}}}}\n"
        )
    };
    ids.iter().enumerate().map(line).collect()
}

/// The ids as which a tape with these ids is read.
async fn read_as(written: &[&str]) -> (Room, Vec<u64>) {
    let room = Room::new();
    room.write(lines(written));
    let read = ids(&room.tape().read(0, usize::MAX).await.unwrap());
    (room, read)
}

#[tokio::test]
async fn an_entry_whose_id_does_not_increase_gets_the_id_after_the_preceding_one() {
    for (written, expected) in [
        (&["1", "2", "3"][..], &[1, 2, 3][..]),
        (&["4", "9", "10"], &[4, 9, 10]),
        (&["1", "3", "2", "2", "9"], &[1, 3, 4, 5, 9]),
        (&["5", "5", "5"], &[5, 6, 7]),
        (&["9", "8", "7"], &[9, 10, 11]),
        (&["0", "-3", "true", "1"], &[1, 2, 3, 4]),
        (&["1", "9223372036854775806", "2"], &[1, 2, 3]),
        (&["1", "9007199254740991", "2"], &[1, 9_007_199_254_740_991, 9_007_199_254_740_992]),
        (&["1", "9007199254740992", "340282366920938463463374607431768211456", "2"], &[1, 2, 3, 4]),
        // These are no ids, and their lines no entries.
        (&["1", "\"2\"", "1.5", "null", "{}", "2"], &[1, 2]),
    ] {
        assert_eq!(read_as(written).await.1, expected, "{written:?}");
    }
}

#[tokio::test]
async fn ids_above_2_to_the_53_never_advance_the_next_id() {
    for huge in ["9007199254740992", "9223372036854775806", "9223372036854775807", "18446744073709551615", "1e3"] {
        let (room, read) = read_as(&["1", "2", huge]).await;
        let next = read.len() as u64 + 1;
        let fork = room.tape().fork();
        assert_eq!(fork.append(vec![message("user", "x")]).await.unwrap(), next, "{huge}");
        fork.merge().await.unwrap();
        assert_eq!(room.tape().append(vec![message("user", "y")]).await.unwrap(), next + 1, "{huge}");
        assert!(room.file().ends_with('\n') && room.file().contains(&format!("{{\"id\": {}, ", next + 1)), "{huge}");
        assert_eq!(ids(&room.tape().tail(None, 2).await.unwrap()), [next, next + 1]);
        assert_eq!(room.tape().last_id().await.unwrap(), next + 1);
    }
}

#[tokio::test]
async fn an_entry_with_a_lower_id_than_the_preceding_seal_does_not_make_the_section_search_endless() {
    let room = Room::new();
    let line = |id: u64, kind: &str, payload: &str| {
        format!("{{\"id\": {id}, \"kind\": \"{kind}\", \"payload\": {payload}, \"meta\": {{\"zone\": true}}}}\n")
    };
    let anchor = |end: &str| format!(r#"{{"name": "memory/{end}", "state": {{"version": 1}}}}"#);
    let event = r#"{"name": "memory.long_term", "data": {}}"#;
    let zone = [line(10, "anchor", &anchor("open")), line(11, "event", event), line(12, "anchor", &anchor("seal"))];
    room.write(zone.concat() + &lines(&["5"]));
    for before in [None, Some(13), Some(14), Some(u64::MAX)] {
        let found = room.store.section(NAME, "memory", before).await.unwrap();
        assert_eq!(ids(&found), [10, 11, 12], "{before:?}");
    }
    assert!(room.store.section(NAME, "memory", Some(12)).await.unwrap().is_empty());
    assert_eq!(ids(&room.tape().tail(None, 1).await.unwrap()), [13]);
}

#[tokio::test]
async fn a_reader_of_the_end_and_a_reader_of_the_whole_tape_agree_once_a_turn_has_begun() {
    let (room, _) = read_as(&["1", "700", "3", "4"]).await;
    let store = bub_tape::FileStore::open(room.store.dir()).unwrap();
    let store: std::sync::Arc<dyn Store> = std::sync::Arc::new(store);
    store.prepare(NAME).await.unwrap();
    let tape = Tape::open(store, NAME).unwrap();
    assert_eq!(ids(&tape.tail(None, 1).await.unwrap()), [702]);
    assert_eq!(ids(&tape.read(700, 9).await.unwrap()), [701, 702]);
    let newest = tape.newest(&Lookup::Kind("message".to_owned())).await.unwrap();
    assert_eq!(newest.map(|entry| entry.id), Some(702));
    assert_eq!(tape.append(vec![message("user", "x")]).await.unwrap(), 703);
    let behind = Query { start: Start::AfterId(701), ..Query::default() };
    assert_eq!(ids(&tape.query(&behind).await.unwrap()), [702, 703]);
}

#[test]
fn verify_reports_the_id_that_an_entry_is_read_with() {
    let mut verifier = Verifier::new();
    verifier.read(&mut lines(&["1", "700", "3", "9223372036854775806"]).as_bytes(), |_| ()).unwrap();
    let found: Vec<String> = verifier.finish().faults.iter().map(|fault| format!("{fault:?}")).collect();
    assert_eq!(
        found,
        ["Order { id: 3, before: 700, read_as: 701 }", "Order { id: 9223372036854775806, before: 3, read_as: 702 }"]
    );
}

/// Entries with the ids that they are read under.
fn numbered(written: impl Iterator<Item = Entry>) -> Vec<Entry> {
    const LARGEST: u64 = (1 << 53) - 1;
    let mut last = 0;
    let number = |entry: Entry| {
        last = if entry.id > last && entry.id <= LARGEST { entry.id } else { last + 1 };
        Entry { id: last, ..entry }
    };
    written.map(number).collect()
}
