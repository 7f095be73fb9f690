//! The stores of this crate: the conformance tests of all stores, and tests of single ones.

mod candidates;
mod database;
mod zones;

use bub_store_tests::{Place, conformance};
use bub_tape::{Durability, FileStore, MemoryStore, SqliteStore};
use std::sync::Arc;

conformance! { file sqlite memory finding }

fn file() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let files = dir.path().join("tapes");
    Place::new(move || Arc::new(FileStore::open(dir.path().join("tapes")).unwrap())).with_files(files)
}

fn sqlite() -> Place {
    let dir = tempfile::tempdir().unwrap();
    Place::new(move || Arc::new(SqliteStore::open(dir.path().join("tapes.db"), Durability::Os, true).unwrap()))
}

fn memory() -> Place {
    let store = Arc::new(MemoryStore::new());
    Place::new(move || store.clone())
}

/// A store in this process that finds entries.
fn finding() -> Place {
    let store = Arc::new(candidates::Finding::default());
    Place::new(move || store.clone())
}
