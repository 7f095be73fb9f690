//! Tapes as plain lists, and every question answered by looking at all of a list.

use std::collections::BTreeMap;

use bub_tape::{Collector, Draft, Entry, Hit, Info, Lookup, Query, Search, Start, Store, event};
use proptest::prelude::*;

use crate::{ids, message};

/// The entries of each tape.
#[derive(Clone, Debug, Default)]
pub struct Model(pub BTreeMap<String, Vec<Entry>>);

impl Model {
    pub fn append(&mut self, tape: &str, drafts: &[Draft]) {
        if drafts.is_empty() {
            return;
        }
        let entries = self.0.entry(tape.to_owned()).or_default();
        for draft in drafts {
            let id = entries.last().map_or(1, |last| last.id + 1);
            entries.push(draft.clone().numbered(id));
        }
    }

    /// A tape and its sidecars.
    pub fn reset(&mut self, tape: &str) {
        self.0.retain(|name, _| name != tape && !name.starts_with(&format!("{tape}__sidecar__")));
    }

    pub fn of(&self, tape: &str) -> &[Entry] {
        self.0.get(tape).map_or(&[], Vec::as_slice)
    }
}

/// Asks the store everything, and compares.
pub async fn assert_same(store: &dyn Store, tape: &str, expected: &[Entry]) {
    let last = expected.last().map_or(0, |last| last.id);
    assert_eq!(store.last_id(tape).await.unwrap(), last);
    assert_eq!(store.read(tape, 0, usize::MAX).await.unwrap(), expected);
    for (at, max) in [(0, 0), (0, 1), (1, 3), (last / 2, 2), (last / 2, 400), (last, 5), (last + 7, 5), (u64::MAX, 5)] {
        let behind: Vec<u64> = ids(expected).into_iter().filter(|id| *id > at).take(max).collect();
        assert_eq!(ids(&store.read(tape, at, max).await.unwrap()), behind, "{max} behind {at}");
        let mut before: Vec<u64> = ids(expected).into_iter().rev().filter(|id| *id < at).take(max).collect();
        before.reverse();
        assert_eq!(ids(&store.tail(tape, Some(at), max).await.unwrap()), before, "{max} before {at}");
    }
    assert_eq!(store.tail(tape, None, usize::MAX).await.unwrap(), expected);
    for lookup in [
        Lookup::Phase,
        Lookup::Anchor,
        Lookup::Kind("event".to_owned()),
        Lookup::Kind("nothing".to_owned()),
        Lookup::anchor("a"),
        Lookup::anchor("记忆"),
        Lookup::event("run"),
        Lookup::Named { kind: "message".to_owned(), name: "a".to_owned() },
    ] {
        for before in [None, Some(0), Some(last / 2), Some(last), Some(last + 9), Some(u64::MAX)] {
            let in_reach = |entry: &&Entry| before.is_none_or(|before| entry.id < before);
            let newest = expected.iter().rev().filter(in_reach).find(|entry| lookup.matches(entry));
            assert_eq!(store.newest(tape, &lookup, before).await.unwrap().as_ref(), newest, "{lookup:?} {before:?}");
        }
    }
    let phase = expected.iter().rposition(Entry::begins_phase).unwrap_or_default();
    assert_eq!(store.since_anchor(tape).await.unwrap(), expected[phase..]);
    assert_eq!(store.info(tape).await.unwrap(), info(tape, expected));
    for query in queries() {
        let found = store.query(tape, &query).await.map(|found| ids(&found));
        match answer(expected, &query) {
            Some(answer) => assert_eq!(found.unwrap(), answer, "{query:?}"),
            None => assert!(found.is_err(), "{query:?}"),
        }
    }
    for search in searches() {
        for before in [None, Some(last)] {
            let found = store.search(tape, &search, before).await.unwrap();
            assert_eq!(shown(&found), shown(&hits(expected, &search, before)), "{search:?} {before:?}");
        }
    }
}

/// The answer of a search, as the rules of searching give it.
pub fn hits(entries: &[Entry], search: &Search, before: Option<u64>) -> Vec<Hit> {
    let mut found = Collector::new(search).unwrap();
    for entry in entries.iter().rev().filter(|entry| before.is_none_or(|before| entry.id < before)) {
        let _more = found.offer(entry.clone());
    }
    found.finish()
}

/// Hits, so that they can be compared and read.
pub fn shown(hits: &[Hit]) -> Vec<(u64, String)> {
    hits.iter().map(|hit| (hit.entry.id, format!("{:.6} {}", hit.score, hit.entry.line()))).collect()
}

fn info(tape: &str, entries: &[Entry]) -> Info {
    let phase = entries.iter().rposition(Entry::begins_phase);
    let run = entries.iter().rev().find(|entry| entry.payload.contains("total_tokens"));
    Info {
        name: tape.to_owned(),
        entries: entries.len() as u64,
        anchors: entries.iter().filter(|entry| entry.begins_phase()).count() as u64,
        last_anchor: phase.and_then(|phase| entries[phase].anchor_name()),
        entries_since_last_anchor: phase.map_or(entries.len(), |phase| entries.len() - phase - 1) as u64,
        last_token_usage: run.map(|_| 7),
        total_tokens: 7 * entries.iter().filter(|entry| entry.payload.contains("total_tokens")).count() as u64,
        cache_hit_rate: run.map(|_| 0.5),
        ..Info::default()
    }
}

/// The ids that a query finds; `None` where an anchor is missing.
fn answer(entries: &[Entry], query: &Query) -> Option<Vec<u64>> {
    let named = |name: &str, before: u64| {
        let is = |entry: &&Entry| entry.id < before && entry.anchor_name().as_deref() == Some(name);
        entries.iter().rev().find(is).map(|entry| entry.id)
    };
    let (after, before) = match &query.start {
        Start::First => (0, u64::MAX),
        Start::AfterId(id) => (*id, u64::MAX),
        Start::LastAnchor => (entries.iter().rev().find(|entry| entry.begins_phase())?.id, u64::MAX),
        Start::AfterAnchor(name) => (named(name, u64::MAX)?, u64::MAX),
        Start::BetweenAnchors(first, second) => {
            let end = named(second, u64::MAX)?;
            (named(first, end)?, end)
        }
    };
    let wanted = |entry: &&Entry| {
        entry.id > after
            && entry.id < before
            && (query.kinds.is_empty() || query.kinds.iter().any(|kind| entry.is(kind)))
            && query.text.as_ref().is_none_or(|text| entry.line().to_lowercase().contains(&text.to_lowercase()))
            // Every date here is a day's noon.
            && query.since.as_ref().is_none_or(|since| entry.date[..10] >= since[..])
            && query.until.as_ref().is_none_or(|until| entry.date[..10] <= until[..])
    };
    let mut found: Vec<u64> = entries.iter().filter(wanted).map(|entry| entry.id).collect();
    if query.newest_first {
        found.reverse();
    }
    found.truncate(query.limit.unwrap_or(usize::MAX));
    Some(found)
}

fn queries() -> Vec<Query> {
    let text = |text: &str| Some(text.to_owned());
    vec![
        Query::default(),
        Query { start: Start::LastAnchor, ..Query::default() },
        Query { start: Start::AfterAnchor("a".to_owned()), limit: Some(2), ..Query::default() },
        Query { start: Start::BetweenAnchors("a".to_owned(), "b".to_owned()), ..Query::default() },
        Query { start: Start::AfterId(3), kinds: vec!["message".to_owned()], newest_first: true, ..Query::default() },
        Query { text: text("ALPHA"), newest_first: true, limit: Some(3), ..Query::default() },
        Query { text: text("北京"), since: text("2026-01-02"), until: text("2026-01-04"), ..Query::default() },
    ]
}

fn searches() -> Vec<Search> {
    let search = |text: &str| Search { text: text.to_owned(), ..Search::default() };
    vec![
        search("北京"),
        search("京"),
        Search { limit: 1, ..search("烤鸭") },
        search("alpha beta"),
        search("aplha"),
        search("a"),
        search("ü"),
        Search { kinds: vec!["event".to_owned()], limit: 4, ..search("RUN") },
        Search { since: Some("2026-01-03".to_owned()), limit: 2, ..search("e") },
    ]
}

/// Drafts of every sort, of few words, so that tapes repeat themselves.
pub fn drafts(most: usize) -> impl Strategy<Value = Vec<Draft>> {
    prop::collection::vec(draft(), 0..most)
}

fn draft() -> impl Strategy<Value = Draft> {
    let word = prop::sample::select(vec![
        "alpha",
        "Beta",
        "gamma",
        "北京",
        "烤鸭",
        "北京烤鸭",
        "ÜBER",
        "naïve",
        "\"x\\",
        "e\n",
    ]);
    let text = prop::collection::vec(word, 0..4).prop_map(|words| words.join(" "));
    let name = prop::sample::select(vec!["a", "b", "记忆", "session/start"]);
    let made = prop_oneof![
        4 => text.prop_map(|text| message("user", &text)),
        2 => name.clone().prop_map(|name| anchor(name, "{}")),
        1 => name.prop_map(|name| anchor(name, r#"{"zone": true}"#)),
        1 => Just(event("step", "{\"a\": 1}").unwrap()),
        1 => Just(event("run", RUN).unwrap()),
    ];
    (made, 1..6).prop_map(|(draft, day)| draft.dated(format!("2026-01-0{day}T12:00:00+00:00")))
}

const RUN: &str =
    r#"{"usage": {"prompt_tokens": 4, "total_tokens": 7, "prompt_tokens_details": {"cached_tokens": 2}}}"#;

fn anchor(name: &str, meta: &str) -> Draft {
    Draft::new("anchor", &format!(r#"{{"name": "{name}"}}"#), meta).unwrap()
}
