//! A section in one round trip: from the end of the tape, which holds it as a rule.

use bub_tape::{
    Candidates, Commit, Condition, Entry, Error, Future, Hit, Lookup, Outcome, Query, Result, Search, Store, by_reading,
};
use tokio_postgres::types::{ToSql, Type};

use super::{Snapshot, lookup_columns};
use crate::store::PostgresStore;

/// The call of the schema's function for a tape without its sidecars.
const SNAPSHOT: &str = "SELECT what, tape, place, id, kind, payload, meta, date FROM snapshot_1($1, $2, $3, $4, $5, 0)";

/// Limits of what is read at once.
const MAX_ENTRIES: i32 = 128;
const MAX_BYTES: i64 = 256 * 1024;

/// Reads from what was fetched, and asks for the rest.
struct Glimpse<'s> {
    store: &'s PostgresStore,
    snapshot: Snapshot,
}

/// Implements [`Store::section`].
pub(crate) async fn section(store: &PostgresStore, tape: &str, name: &str, before: Option<u64>) -> Result<Vec<Entry>> {
    // An archive is no part of a snapshot.
    if bub_tape::check_tape_name(tape).is_err() {
        return by_reading::section(store, tape, name, before).await;
    }
    let lookups = ["open", "seal"].map(|end| Lookup::anchor(&format!("{name}/{end}")));
    let (kinds, names) = lookup_columns(&lookups);
    let values: [(&(dyn ToSql + Sync), Type); 5] = [
        (&tape, Type::TEXT),
        (&kinds, Type::BYTEA_ARRAY),
        (&names, Type::BYTEA_ARRAY),
        (&MAX_ENTRIES, Type::INT4),
        (&MAX_BYTES, Type::INT8),
    ];
    let rows = store.database().call(&format!("read tape `{tape}`"), SNAPSHOT, &values, true).await?;
    let snapshot = Snapshot::read(tape, &lookups, &rows)?;
    by_reading::section(&Glimpse { store, snapshot }, tape, name, before).await
}

impl Store for Glimpse<'_> {
    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        match self.snapshot.window(tape).and_then(|window| window.read(after, max)) {
            Some(known) => Box::pin(std::future::ready(Ok(known))),
            None => self.store.read(tape, after, max),
        }
    }

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        match self.snapshot.window(tape).and_then(|window| window.newest(lookup, before)) {
            Some(known) => Box::pin(std::future::ready(Ok(known))),
            None => self.store.newest(tape, lookup, before),
        }
    }

    fn commit(&self, _commit: Commit) -> Future<'_, Outcome> {
        Box::pin(std::future::ready(Err(Error::invalid("this view of a tape cannot be written"))))
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        self.store.archive_name(tape)
    }

    fn archives<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.store.archives(after, max)
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        self.store.sidecars(tape)
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        self.store.last_id(tape)
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        self.store.tail(tape, before, max)
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.store.list(after, max)
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.store.check_writable(tape)
    }

    fn find<'a>(&'a self, tape: &'a str, condition: &'a Condition, max: usize) -> Future<'a, Option<Candidates>> {
        self.store.find(tape, condition, max)
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        by_reading::section(self, tape, name, before)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        self.store.query(tape, query)
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        self.store.search(tape, search, before)
    }
}
