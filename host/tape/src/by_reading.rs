//! Sections, queries and searches for a [`Store`] without an index: by reading the tape page by page, or by asking
//! [`Store::find`] for candidates.

use super::entry::Entry;
use super::position::Position;
use super::query::Query;
use super::search::{Hit, Search, walk};
use super::section;
use super::store::{Future, Store};

/// Implements [`Store::section`], from the end of the tape.
pub fn section<'a, S: Store + ?Sized>(
    store: &'a S,
    tape: &'a str,
    name: &'a str,
    before: Option<u64>,
) -> Future<'a, Vec<Entry>> {
    Box::pin(section::walk(store, tape, name, before))
}

/// Implements [`Store::query`].
pub fn query<'a, S: Store + ?Sized>(store: &'a S, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
    Box::pin(async move {
        let mut position = Position::new(store, tape, query).await?;
        position.next(store, tape, usize::MAX).await
    })
}

/// Implements [`Store::search`].
pub fn search<'a, S: Store + ?Sized>(
    store: &'a S,
    tape: &'a str,
    search: &'a Search,
    before: Option<u64>,
) -> Future<'a, Vec<Hit>> {
    Box::pin(walk(store, tape, search, before))
}
