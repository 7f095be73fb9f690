//! The store of one turn: writes are fenced by its lease, and what turns read first comes from the answer to the claim.

mod glimpse;
mod snapshot;
mod window;

use std::sync::Arc;

use bub_tape::{
    Candidates, Commit, Condition, Entry, Erasure, Future, Hit, Info, Lookup, Outcome, Query, Search, Store, by_reading,
};

use super::journal::TurnState;
use super::store::PostgresStore;
pub(crate) use glimpse::section;
pub(crate) use snapshot::{Snapshot, lookup_columns};

/// Limits of the window of a tape. Those of each sidecar are an eighth of the entries, and a sixteenth of the bytes.
pub(crate) const MAX_ENTRIES: i32 = 512;
pub(crate) const MAX_BYTES: i64 = 1024 * 1024;
pub(crate) const MAX_SIDECARS: i32 = 16;

/// Reads what the turn's snapshot has, as long as no other process can have changed that; else asks.
pub(crate) struct TurnStore {
    state: Arc<TurnState>,
}

impl TurnStore {
    pub(crate) fn new(state: Arc<TurnState>) -> Self {
        Self { state }
    }

    /// The answer of the snapshot, if it has one; else that of the database.
    fn either<'a, T: Send + 'a>(
        &'a self,
        known: impl FnOnce(&Snapshot) -> Option<T>,
        ask: impl FnOnce(&'a PostgresStore) -> Future<'a, T>,
    ) -> Future<'a, T> {
        match self.state.snapshot().and_then(|snapshot| known(&snapshot)) {
            Some(known) => Box::pin(std::future::ready(Ok(known))),
            None => ask(self.state.reader()),
        }
    }
}

impl Store for TurnStore {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(async move {
            self.state.forget_snapshot();
            let outcome = self.state.writer()?.commit(commit).await;
            self.state.outcome(outcome)
        })
    }

    fn reset<'a>(&'a self, tape: &'a str, archive: bool) -> Future<'a, Option<String>> {
        Box::pin(async move {
            self.state.forget_snapshot();
            let outcome = self.state.writer()?.reset(tape, archive).await;
            self.state.outcome(outcome)
        })
    }

    fn erase<'a>(&'a self, tape: &'a str, erasure: Erasure) -> Future<'a, u64> {
        Box::pin(async move {
            self.state.forget_snapshot();
            let outcome = self.state.writer()?.erase(tape, erasure).await;
            self.state.outcome(outcome)
        })
    }

    fn invalidate(&self) {
        self.state.forget_snapshot();
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        self.state.reader().archive_name(tape)
    }

    fn archives<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.state.reader().archives(after, max)
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        self.either(|snapshot| snapshot.sidecars(tape), |store| store.sidecars(tape))
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        let known = |snapshot: &Snapshot| Some(snapshot.window(tape)?.last_id());
        self.either(known, |store| store.last_id(tape))
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        let known = move |snapshot: &Snapshot| snapshot.window(tape)?.read(after, max);
        self.either(known, |store| store.read(tape, after, max))
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        let known = move |snapshot: &Snapshot| snapshot.window(tape)?.tail(before, max);
        self.either(known, |store| store.tail(tape, before, max))
    }

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        let known = move |snapshot: &Snapshot| snapshot.window(tape)?.newest(lookup, before);
        self.either(known, |store| store.newest(tape, lookup, before))
    }

    fn since_anchor<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<Entry>> {
        let known = |snapshot: &Snapshot| snapshot.window(tape)?.since_anchor();
        self.either(known, |store| store.since_anchor(tape))
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.state.reader().list(after, max)
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.state.reader().check_writable(tape)
    }

    fn index<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.state.reader().index(tape)
    }

    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        self.state.reader().info(tape)
    }

    fn find<'a>(&'a self, tape: &'a str, condition: &'a Condition, max: usize) -> Future<'a, Option<Candidates>> {
        self.state.reader().find(tape, condition, max)
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
