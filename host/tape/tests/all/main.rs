//! The tape, through what the rest of the host sees of it.

mod bytes;
mod crash;
mod fork;
mod fuzz;
mod index;
mod json;
mod long;
mod many;
mod media;
mod odd;
mod protocol;
mod query;
mod render;
mod search;
mod store;
mod stores;

use std::path::PathBuf;
use std::sync::Arc;

use bub_store_tests::{NAME, ids, message, string};
use bub_tape::json as text;
use bub_tape::{FileStore, Tape};

/// A directory of tapes, removed at the end of the test.
struct Room {
    dir: tempfile::TempDir,
    store: Arc<FileStore>,
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tapes")).unwrap();
        let store = Arc::new(FileStore::open(dir.path().join("tapes")).unwrap());
        Self { dir, store }
    }

    fn tape(&self) -> Tape {
        Tape::open(self.store.clone(), NAME).unwrap()
    }

    fn path(&self) -> PathBuf {
        self.store.dir().join(format!("{NAME}.jsonl"))
    }

    fn write(&self, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(), bytes).unwrap();
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }
}

/// The cases of one subject of `edges.json`, each as its JSON text. That file holds `NaN`, which only our own reader
/// takes.
fn edges(subject: &str) -> Vec<String> {
    let all = bub_test_support::golden::edges();
    let cases = text::elements(text::get(&all, subject).unwrap()).unwrap();
    cases.into_iter().map(str::to_owned).collect()
}
