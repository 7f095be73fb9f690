//! A store in this process that finds entries as `bub-wasm serve` does for others.

use bub_tape::{Hit, Query, by_reading};
use std::sync::Arc;

use bub_tape::find_candidates;
use bub_tape::{Candidates, Commit, Condition, Draft, Entry, Future, MemoryStore, Outcome, Search, Store};
use proptest::prelude::*;

use bub_store_tests::histories::check;
use bub_store_tests::model::{hits, shown};
use bub_store_tests::{NAME, all, message};

#[derive(Default)]
pub(super) struct Finding(MemoryStore);

impl Store for Finding {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        self.0.commit(commit)
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        self.0.archive_name(tape)
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        self.0.sidecars(tape)
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        self.0.last_id(tape)
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        self.0.read(tape, after, max)
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        self.0.tail(tape, before, max)
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.0.list(after, max)
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.0.check_writable(tape)
    }

    fn append_numbered<'a>(&'a self, tape: &'a str, after: u64, entries: Vec<Entry>) -> Future<'a, u64> {
        self.0.append_numbered(tape, after, entries)
    }

    fn erase<'a>(&'a self, tape: &'a str, erasure: bub_tape::Erasure) -> Future<'a, u64> {
        self.0.erase(tape, erasure)
    }

    fn find<'a>(&'a self, tape: &'a str, condition: &'a Condition, max: usize) -> Future<'a, Option<Candidates>> {
        Box::pin(async move { find_candidates(&self.0, tape, condition, max).await.map(Some) })
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        by_reading::section(self, tape, name, before)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        by_reading::query(self, tape, query)
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        by_reading::search(self, tape, search, before)
    }
}

/// A word with up to three letters dropped, doubled, swapped or replaced.
fn misspelled(word: &str, edits: &[(usize, u8)]) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    for (at, how) in edits {
        let at = at % letters.len().max(1);
        match how {
            _ if letters.is_empty() => {}
            0 => drop(letters.remove(at)),
            1 => letters.insert(at, letters[at]),
            2 if at + 1 < letters.len() => letters.swap(at, at + 1),
            3 => letters[at] = 'ß',
            4 => letters[at] = letters[at].to_uppercase().next().unwrap_or('x'),
            _ => letters[at] = 'İ',
        }
    }
    letters.into_iter().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stores_candidates_include_entries_with_a_misspelled_word() {
    let words =
        ["straße", "STRAẞE", "zeppelin", "ΣΊΣΥΦΟΣ", "οδοστρωτήρας", "İstanbul", "naïve-café", "a1b2c3d4", "ﬁnal/path"];
    let word = || (prop::sample::select(words.to_vec()), prop::collection::vec((0..12_usize, 0..6_u8), 0..4));
    let text = || prop::collection::vec(word().prop_map(|(word, edits)| misspelled(word, &edits)), 1..3);
    let met = std::cell::Cell::new(0);
    check(400, (prop::collection::vec((text(), any::<bool>()), 1..12), text()), async |(said, lookup)| {
        let store = Arc::new(Finding::default());
        let drafts = said.iter().map(|(words, is_foreign)| {
            let mut entry = message("user", &words.join(" ")).numbered(1);
            if *is_foreign {
                entry.payload = entry.payload.replace('ß', "\\u00df").replace('/', "\\/").into();
            }
            Draft::from(entry)
        });
        store.append(NAME, drafts.collect(), None).await.unwrap();
        let search = Search { text: lookup.join(" "), ..Search::default() };
        if search.text.trim().is_empty() {
            return;
        }
        let found = shown(&store.search(NAME, &search, None).await.unwrap());
        assert_eq!(found, shown(&hits(&all(&*store, NAME).await, &search, None)), "{search:?}");
        met.set(met.get() + found.len());
    });
    // Chance makes the histories: far fewer hits would mean that nothing was compared.
    assert!(met.get() > 30, "{}", met.get());
}
