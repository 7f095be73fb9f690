//! Results of a search. Nearly every case is asked twice: of a file, and of a collector that is shown the entries.

mod answer;
mod lines;
mod property;
mod typing;
mod words;

use bub_tape::{Collector, Entry, Error, Hit, Matcher, Search, json};

use super::Room;

/// The line of an entry whose payload holds one text.
fn line(id: u64, text: &str) -> String {
    of_kind(id, "event", text, "2026-01-01")
}

fn of_kind(id: u64, kind: &str, text: &str, date: &str) -> String {
    let payload = format!(r#"{{"content": {}}}"#, json::quote(text));
    Entry { id, kind: kind.into(), payload: payload.into(), meta: "{}".into(), date: date.into() }.line()
}

fn texts(texts: &[&str]) -> Vec<String> {
    (1..).zip(texts).map(|(id, text)| line(id, text)).collect()
}

fn search(text: &str) -> Search {
    Search { text: text.to_owned(), ..Search::default() }
}

/// The answer of a file, which must equal the answer of a collector that is shown the entries.
fn found(lines: &[impl AsRef<[u8]>], search: &Search) -> Vec<Hit> {
    let room = Room::new();
    room.write(lines.iter().flat_map(|line| [line.as_ref(), b"\n"].concat()).collect::<Vec<u8>>());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let from_file = runtime.block_on(room.tape().search(search)).unwrap();
    let mut collector = Collector::new(search).unwrap();
    let lines = lines.iter().rev().filter_map(|line| str::from_utf8(line.as_ref()).ok());
    let _enough = lines.filter_map(Entry::parse).any(|entry| collector.offer(entry).is_break());
    assert_eq!(from_file, collector.finish(), "{search:?}");
    from_file
}

fn ids(hits: &[Hit]) -> Vec<u64> {
    hits.iter().map(|hit| hit.entry.id).collect()
}

fn refusal(search: &Search) -> String {
    match Collector::new(search).map(|_| ()) {
        Err(Error::InvalidInput(message)) => message,
        other => panic!("{search:?}: {other:?}"),
    }
}

#[test]
fn an_invalid_search_is_refused_with_the_expected_form() {
    let dated = |since: &str, until: &str| Search {
        since: Some(since.to_owned()),
        until: Some(until.to_owned()),
        ..search("x")
    };
    for (search, message) in [
        (search(""), "there is nothing to search for: give at least one word"),
        (search(" \n\t\u{3000}"), "there is nothing to search for: give at least one word"),
        (search(&"x ".repeat(33)), "a search takes at most 32 words, not 33: give fewer"),
        (search(&"x".repeat(1001)), "a search takes at most 1000 characters: give fewer or shorter words"),
        (dated("bad", "2026-01-01"), "`bad` is not an ISO date or date and time"),
        (dated("2026-01-02", "2026-01-01"), "the first date is after the second"),
    ] {
        assert_eq!(refusal(&search), message);
        assert!(Matcher::new(&search).is_err());
    }
    for text in ["ß".repeat(1000), "的".repeat(1000), "ſk".repeat(500), "word ".repeat(32), "\u{1}".repeat(1000)] {
        assert_eq!(found(&[line(1, &text)], &search(&text)).len(), 1);
    }
}
