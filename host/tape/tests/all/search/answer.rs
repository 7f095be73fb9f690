use std::ops::ControlFlow;

use bub_tape::{Collector, Entry, Search, Tape};

use super::super::{Room, message};
use super::{found, ids, line, of_kind, search};

#[test]
fn the_newest_come_first_up_to_the_limit() {
    let tape: Vec<String> = (1..=60).map(|id| line(id, &format!("entry {id}"))).collect();
    for limit in [0, 1, 3, 60, usize::MAX] {
        let expected: Vec<u64> = (1..=60).rev().take(limit).collect();
        assert_eq!(ids(&found(&tape, &Search { limit, ..search("entry") })), expected);
    }
    assert_eq!(found(&tape, &search("entry")).len(), 20);
    // The same for what is forgiven.
    assert_eq!(ids(&found(&tape, &Search { limit: 2, ..search("entyr") })), [60, 59]);
}

#[test]
fn of_entries_that_say_the_same_the_newest_is_shown() {
    let date = "2026-01-01";
    let tape = [
        of_kind(1, "message", "again", date),
        of_kind(2, "event", "again", date),
        of_kind(3, "message", "again", date),
        of_kind(4, "message", "again!", date),
        of_kind(5, "message", "again", "2026-01-02"),
    ];
    assert_eq!(ids(&found(&tape, &search("again"))), [5, 4, 2]);
    assert_eq!(ids(&found(&tape, &search("agian"))), [5, 4, 2]);
    // A hit that a filter leaves out hides no other hit.
    assert_eq!(ids(&found(&tape, &Search { until: Some("2026-01-01".to_owned()), ..search("again") })), [4, 3, 2]);
    // An entry that is found by its date is not found again by its words.
    assert_eq!(ids(&found(&tape, &search("again 2026-01-02"))), [5]);
}

#[test]
fn kinds_and_dates_hold_in_both_passes() {
    let tape = [
        of_kind(1, "message", "budget 1", "2026-01-01T12:00:00+00:00"),
        of_kind(2, "event", "budget 2", "2026-01-02T12:00:00+00:00"),
        of_kind(3, "message", "budget 3", "2026-01-03T12:00:00+00:00"),
        of_kind(4, "message", "budget 4", "no date"),
        // A key that occurs twice, and a kind within the payload.
        r#"{"id": 5, "kind": "event", "payload": {"kind": "message", "x": "budget 5"}, "meta": {}, "date": "2026-01-02"}"#
            .to_owned(),
        r#"{"id": 6, "kind": "event", "kind": "message", "payload": {"x": "budget 6"}, "meta": {}, "date": "2026-01-09"}"#
            .to_owned(),
        r#"{"id": 7, "kind": "event", "payload": {"x": "budget 7"}, "\u006bind": "message", "date": "2026-01-09"}"#.to_owned(),
    ];
    for text in ["budget", "bugdet"] {
        let kinds = |kinds: &[&str]| kinds.iter().map(|&kind| kind.to_owned()).collect();
        let dates = |since: Option<&str>, until: Option<&str>| Search {
            since: since.map(str::to_owned),
            until: until.map(str::to_owned),
            ..search(text)
        };
        for (search, expected) in [
            (search(text), vec![7, 6, 5, 4, 3, 2, 1]),
            (Search { kinds: kinds(&["message"]), ..search(text) }, vec![7, 6, 4, 3, 1]),
            (Search { kinds: kinds(&["event", "anchor"]), ..search(text) }, vec![5, 2]),
            (Search { kinds: kinds(&["anchor"]), ..search(text) }, vec![]),
            (dates(Some("2026-01-02"), None), vec![7, 6, 5, 3, 2]),
            (dates(None, Some("2026-01-02")), vec![5, 2, 1]),
            (dates(Some("2026-01-03"), Some("2026-01-03")), vec![3]),
            (Search { kinds: kinds(&["message"]), ..dates(None, Some("2026-01-02")) }, vec![1]),
        ] {
            assert_eq!(ids(&found(&tape, &search)), expected, "{search:?}");
        }
    }
}

#[tokio::test]
async fn a_fork_shows_its_own_hits_before_its_parents() {
    let room = Room::new();
    let tape = room.tape();
    let say = async |tape: &Tape, text: &str| tape.append(vec![message("user", text)]).await.unwrap();
    for text in ["mushroom soup", "mushroom pie", "tea"] {
        say(&tape, text).await;
    }
    let fork = tape.fork();
    for text in ["mushrom risotto", "mushroom pie", "coffee"] {
        say(&fork, text).await;
    }
    let seen = async |limit, text: &str| ids(&fork.search(&Search { limit, ..search(text) }).await.unwrap());
    assert_eq!(seen(20, "mushroom").await, [5, 1, 4]);
    assert_eq!(seen(2, "mushroom").await, [5, 1]);
    assert_eq!(seen(1, "mushroom").await, [5]);
    assert_eq!(seen(20, "risotto").await, [4]);
    assert_eq!(seen(20, "tea").await, [3]);
    assert_eq!(ids(&tape.search(&search("mushroom")).await.unwrap()), [2, 1]);
    // Entries that others append meanwhile appear after the merge.
    say(&tape, "mushroom omelette").await;
    assert_eq!(seen(20, "mushroom").await, [5, 1, 4]);
    fork.merge().await.unwrap();
    assert_eq!(seen(20, "mushroom").await, [6, 4, 1]);
}

#[test]
fn an_answer_is_the_same_wherever_a_tape_is_cut_in_two() {
    let words = ["garden", "gardne", "house", "garden house"];
    let entries: Vec<Entry> = (0..12)
        .map(|n: u64| Entry::parse(&line(n + 1, &format!("{} {}", words[n as usize % 4], n % 5))).unwrap())
        .collect();
    for text in ["garden", "hosue", "garden hosue", "garden 3"] {
        for limit in 0..6 {
            let search = Search { limit, ..search(text) };
            let mut whole = Collector::new(&search).unwrap();
            let _enough = entries.iter().rev().any(|entry| whole.offer(entry.clone()).is_break());
            let whole = whole.finish();
            for cut in 0..=entries.len() {
                let (older, newer) = entries.split_at(cut);
                let mut behind = Collector::new(&search).unwrap();
                let _enough = older.iter().rev().any(|entry| behind.offer(entry.clone()).is_break());
                let mut front = Collector::new(&search).unwrap();
                let _enough = newer.iter().rev().any(|entry| front.offer(entry.clone()).is_break());
                front.adopt(behind.finish());
                assert_eq!(front.finish(), whole, "{search:?} cut at {cut}");
            }
        }
    }
}

#[test]
fn a_collector_stops_when_it_has_enough_hits() {
    let mut collector = Collector::new(&Search { limit: 2, ..search("tree") }).unwrap();
    let mut offer = |id, text: &str| collector.offer(Entry::parse(&line(id, text)).unwrap());
    assert_eq!(offer(9, "tree"), ControlFlow::Continue(()));
    assert_eq!(offer(8, "tree"), ControlFlow::Continue(()));
    assert_eq!(offer(7, "free"), ControlFlow::Continue(()));
    assert_eq!(offer(6, "trees"), ControlFlow::Break(()));
}
