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

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bub_tape::json as text;
use bub_tape::{Draft, Entry, FileStore, Tape};

/// The name of the tape that most tests write.
const NAME: &str = "aaaa__bbbb";

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

fn golden() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden"))
}

/// The cases of one subject of `edges.json`, each as its JSON text. That file holds `NaN`, which only our own reader
/// takes.
fn edges(subject: &str) -> Vec<String> {
    let all = std::fs::read_to_string(golden().join("edges.json")).unwrap();
    let cases = text::elements(text::get(&all, subject).unwrap()).unwrap();
    cases.into_iter().map(str::to_owned).collect()
}

/// The text under a key of a case.
fn string(case: &str, key: &str) -> String {
    text::string(text::get(case, key).unwrap()).unwrap()
}

fn message(role: &str, content: &str) -> Draft {
    let payload = format!(r#"{{"role": {}, "content": {}}}"#, text::quote(role), text::quote(content));
    Draft::new("message", &payload, "{}").unwrap()
}

fn ids(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.id).collect()
}
