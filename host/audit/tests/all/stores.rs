//! A store with a chain keeps what every store promises.

use bub_audit::ChainedStore;
use bub_store_tests::{Place, conformance};
use bub_tape::{Durability, FileStore, MemoryStore, SqliteStore, Store};
use std::sync::Arc;

conformance! { file sqlite memory }

fn chained(inner: Arc<dyn Store>) -> Arc<dyn Store> {
    Arc::new(ChainedStore::new(inner, None))
}

fn file() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let files = dir.path().join("tapes");
    Place::new(move || chained(Arc::new(FileStore::open(dir.path().join("tapes")).unwrap()))).with_files(files)
}

fn sqlite() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let open = move || SqliteStore::open(dir.path().join("tapes.db"), Durability::Os, true).unwrap();
    Place::new(move || chained(Arc::new(open())))
}

fn memory() -> Place {
    let store = Arc::new(MemoryStore::new());
    Place::new(move || chained(store.clone()))
}
