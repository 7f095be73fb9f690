//! The conformance tests of all stores, and candidates of an index that is complete.

use std::sync::Arc;

use bub_postgres::PostgresStore;
use bub_store_tests::{Place, conformance};
use bub_tape::{
    Candidates, Commit, Condition, Entry, Erasure, Future, Hit, Info, Lookup, MemoryStore, Outcome, Query, Search,
    Store,
};
use bub_test_support::postgres::Postgres;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

conformance! { postgres indexed }

fn postgres() -> Place {
    place(|store| Arc::new(store))
}

/// The same, with an index that is built after each write.
fn indexed() -> Place {
    place(|store| Arc::new(Indexed(store)))
}

fn place(open: fn(PostgresStore) -> Arc<dyn Store>) -> Place {
    // Without a server the tests pass on another store; the line that says so is printed once.
    let Some(server) = Postgres::shared() else {
        let store = Arc::new(MemoryStore::new());
        return Place::new(move || store.clone());
    };
    let address = server.database();
    Place::new(move || open(block_in_place(|| Handle::current().block_on(super::open(&address)))))
}

/// A store whose tapes are always indexed.
struct Indexed(PostgresStore);

impl Store for Indexed {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(async move {
            let tapes: Vec<String> = commit.batches.iter().map(|batch| batch.tape.clone()).collect();
            let outcome = self.0.commit(commit).await?;
            for tape in tapes {
                self.0.index(&tape).await?;
            }
            Ok(outcome)
        })
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        self.0.archive_name(tape)
    }

    fn archives<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.0.archives(after, max)
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        self.0.sidecars(tape)
    }

    fn append_numbered<'a>(&'a self, tape: &'a str, after: u64, entries: Vec<Entry>) -> Future<'a, u64> {
        Box::pin(async move {
            let last = self.0.append_numbered(tape, after, entries).await?;
            self.0.index(tape).await?;
            Ok(last)
        })
    }

    fn erase<'a>(&'a self, tape: &'a str, erasure: Erasure) -> Future<'a, u64> {
        self.0.erase(tape, erasure)
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

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        self.0.newest(tape, lookup, before)
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.0.list(after, max)
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.0.check_writable(tape)
    }

    fn find<'a>(&'a self, tape: &'a str, condition: &'a Condition, max: usize) -> Future<'a, Option<Candidates>> {
        self.0.find(tape, condition, max)
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        self.0.section(tape, name, before)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        self.0.query(tape, query)
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        self.0.search(tape, search, before)
    }

    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        self.0.info(tape)
    }
}
