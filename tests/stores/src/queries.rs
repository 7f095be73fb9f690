//! Queries and searches for anything, in tapes that hold anything, compared with those of a file.

use bub_tape::{Draft, Entry, FileStore, Position, Query, Search, Start, Store, Tape};
use proptest::prelude::*;

use crate::histories::check;
use crate::model::shown;
use crate::{NAME, Place, message};

/// Texts that are alike but for case, that JSON escapes, and that a URL does.
const WORDS: [&str; 30] = [
    "alpha",
    "ALPHA beta",
    "zeppelin",
    "Zepellin",
    "ΟΔΟΣ",
    "οδος",
    "straße",
    "STRASSE",
    "STRAẞE",
    "ıstanbul",
    "İstanbul",
    "istanbul",
    "kelvin",
    "\u{212a}elvin",
    "\u{17f}pät",
    "naïve",
    "NAÏVE",
    "привет",
    "ПРИВЕТ",
    "北京烤鸭",
    "京",
    "\"q\"",
    "a\\b",
    "a/b",
    "line\nbreak",
    "\u{1}",
    "%26&=+#?",
    "ŉ",
    "Å \u{212b}",
    "\u{390} \u{1fd3}",
];

const DATES: [&str; 8] = [
    "2026-01-02T12:00:00+00:00",
    "2026-01-02T23:30:00-05:00",
    "2026-01-03T00:30:00.5+01:00",
    "2026-01-03",
    "2026-01-03 12:00:00",
    "2026-01-04T00:00:00Z",
    "2026-01-04T12:00:00",
    "no date",
];

const KINDS: [&str; 4] = ["message", "event", "anchor", "ünusual"];

/// The text as JSON, as another program may spell it: letters as escapes, slashes too.
fn spelled(text: &str, how: u8) -> String {
    let quoted = bub_tape::json::quote(text);
    match how {
        0 => quoted.replace('/', "\\/"),
        1 => quoted.chars().map(escaped).collect(),
        _ => quoted,
    }
}

fn escaped(character: char) -> String {
    let mut units = [0; 2];
    let units = character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
    if character.is_alphabetic() { units.collect() } else { character.to_string() }
}

fn draft() -> impl Strategy<Value = Draft> {
    let word = || prop::sample::select(WORDS.to_vec());
    let kind = prop::sample::select(KINDS.to_vec());
    (kind, word(), word(), 0_u8..6, prop::sample::select(DATES.to_vec())).prop_map(|(kind, one, other, how, date)| {
        let key = if matches!(kind, "event" | "anchor") { "name" } else { "content" };
        let payload = format!(r#"{{"{key}": {}, "more": {}}}"#, spelled(one, how), spelled(other, how));
        let entry = Entry { kind: kind.into(), payload: payload.into(), ..message("user", "").numbered(1) };
        Draft::from(entry).dated(date)
    })
}

fn query() -> impl Strategy<Value = Query> {
    let some = |of: &[&'static str]| prop::option::of(prop::sample::select(of.to_vec()).prop_map(str::to_owned));
    let kinds = prop::collection::vec(prop::sample::select(KINDS.to_vec()).prop_map(str::to_owned), 0..3);
    let dates = [&DATES[..7], &["2026-01-02", "2026-01-04"]].concat();
    (
        (prop_oneof![Just(Start::First), (0..30_u64).prop_map(Start::AfterId)], kinds),
        (some(&WORDS), some(&WORDS), some(&dates), some(&dates)),
        (any::<bool>(), prop::option::of(0..6_usize)),
    )
        .prop_map(|((start, kinds), (name, text, since, until), (newest_first, limit))| {
            let name = name.filter(|name| name.len() % 3 == 0);
            Query { start, kinds, name, text, since, until, newest_first, limit }
        })
}

fn search() -> impl Strategy<Value = Search> {
    let words = prop::collection::vec(prop::sample::select(WORDS.to_vec()), 1..3);
    (words, 0..5_usize, any::<bool>()).prop_map(|(words, limit, of_messages)| {
        let kinds = if of_messages { vec!["message".to_owned()] } else { Vec::new() };
        Search { text: words.join(" "), limit, kinds, ..Search::default() }
    })
}

pub async fn queries_are_answered_as_by_a_file_store(place: &Place) {
    let drafts = prop::collection::vec(draft(), 1..60);
    let asked = (prop::collection::vec(query(), 12), prop::collection::vec(search(), 8), 1..6_usize);
    let number = std::cell::Cell::new(0);
    check(12, (drafts, prop::collection::vec(draft(), 0..6), asked), async |(drafts, behind, asked)| {
        let (queries, searches, step) = asked;
        let name = format!("q{}__a", number.replace(number.get() + 1));
        let dir = tempfile::tempdir().unwrap();
        let file = std::sync::Arc::new(FileStore::open(dir.path()).unwrap());
        let tapes = [place.open(), file as std::sync::Arc<dyn Store>].map(|store| Tape::open(store, &name).unwrap());
        let mut forks = Vec::new();
        for tape in &tapes {
            tape.append(drafts.clone()).await.unwrap();
            let fork = tape.fork();
            fork.append(behind.clone()).await.unwrap();
            forks.push(fork);
        }
        for (here, there) in [(&tapes[0], &tapes[1]), (&forks[0], &forks[1])] {
            for query in &queries {
                let lines = |found: Vec<Entry>| found.iter().map(Entry::line).collect::<Vec<_>>();
                let found = here.query(query).await.map(lines).map_err(|error| error.to_string());
                let expected = there.query(query).await.map(lines).map_err(|error| error.to_string());
                assert_eq!(found, expected, "{query:?}");
                if let (Ok(expected), Ok(mut cursor)) = (expected, here.cursor(query).await) {
                    let mut parts = Vec::new();
                    loop {
                        let part = cursor.next(step).await.unwrap();
                        if part.is_empty() {
                            break;
                        }
                        assert!(part.len() <= step, "{query:?}");
                        parts.extend(lines(part));
                    }
                    assert_eq!(parts, expected, "{query:?}, {step} at once");
                }
            }
            for search in &searches {
                let found = shown(&here.search(search).await.unwrap());
                assert_eq!(found, shown(&there.search(search).await.unwrap()), "{search:?}");
            }
        }
    });
}

/// A tape of more entries than one answer has, and of more than a server looks at for one.
pub async fn a_long_tape_is_searched_to_its_end(place: &Place) {
    let store = place.open();
    let filler = |n: usize| message("user", &format!("filler {n}"));
    let mut drafts: Vec<Draft> = (0..900).map(filler).collect();
    for at in [0, 400, 899] {
        drafts[at] = message("user", &format!("a Heron at {at}"));
    }
    for part in drafts.chunks(300) {
        store.append(NAME, part.to_vec(), None).await.unwrap();
    }
    for newest_first in [false, true] {
        let query = |text: &str| Query { text: Some(text.to_owned()), newest_first, ..Query::default() };
        let found = store.query(NAME, &query("hERON")).await.unwrap();
        let mut ids = super::ids(&found);
        if newest_first {
            ids.reverse();
        }
        assert_eq!(ids, [1, 401, 900]);
        assert_eq!(store.query(NAME, &query("fILLER")).await.unwrap().len(), 897);
        let mut position = Position::new(&*store, NAME, &query("filler")).await.unwrap();
        let mut count = 0;
        while let found = position.next(&*store, NAME, 100).await.unwrap().len()
            && found > 0
        {
            count += found;
        }
        assert_eq!(count, 897);
    }
    // Of the misspelled word too.
    let search = Search { text: "Hreon".to_owned(), ..Search::default() };
    let found = store.search(NAME, &search, None).await.unwrap();
    assert_eq!(found.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), [900, 401, 1]);
}
