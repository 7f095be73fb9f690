//! The measurements and their targets.

use crate::cold;
use crate::figure::{Samples, print_memory};
use crate::tapes::{self, NAME, RARE};
use bub_tape::{Durability, FileStore, Search, SqliteStore, Store, Tape, handoff, view};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const SIZES: [(usize, &str); 3] = [(1_000, "1 k"), (100_000, "100 k"), (1_000_000, "1 M")];

const COLD: Duration = Duration::from_millis(5);
const MEMORY: u64 = 8 * 1024 * 1024;
const LITERAL: Duration = Duration::from_millis(40);
const FORGIVING: Duration = Duration::from_millis(400);
const SQLITE: Duration = Duration::from_millis(5);

/// Prints one line per measurement and size.
pub async fn figures() {
    let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("there is room for tapes");
    let empty = room.path().join("empty");
    tapes::write(&empty, 0);
    let empty = cold::measure(&empty).memory;
    let mut smallest: Option<[Duration; 2]> = None;
    for (entries, size) in SIZES {
        let dir = room.path().join(size);
        tapes::write(&dir, entries);
        let steady = files(&dir, size, empty, smallest).await;
        smallest.get_or_insert(steady);
        if entries == 100_000 {
            search_files(&dir).await;
            search_sqlite(&room.path().join("tapes.sqlite"), entries).await;
        }
        std::fs::remove_dir_all(&dir).expect("the tape can be removed");
    }
}

async fn files(dir: &Path, size: &str, empty: u64, smallest: Option<[Duration; 2]>) -> [Duration; 2] {
    let limit = |which: usize| smallest.map(|smallest| smallest[which] * 3 / 2);
    let colds: Vec<cold::Cold> = (0..15).map(|_| cold::measure(dir)).collect();
    let memory = colds.iter().map(|cold| cold.memory).max().unwrap_or_default();
    Samples::new(colds.iter().map(|cold| cold.took).collect()).print(&format!("cold open to view, {size}"), Some(COLD));
    print_memory(&format!("memory after it, above an empty tape, {size}"), memory.saturating_sub(empty), MEMORY);

    let store = FileStore::indexed(dir, Durability::Os, dir.join("index")).expect("the directory is there");
    let tape = Tape::open(Arc::new(store), NAME).expect("it is a name");
    let warm = Samples::take(5, 200, async |_| {
        view::window(&tape).await.expect("the tape can be read");
    });
    let warm = warm.await;
    warm.print(&format!("warm view, {size}"), limit(0));
    Samples::take(0, 1, async |_| {
        tape.info().await.expect("the tape can be read");
    })
    .await
    .print(&format!("info, first look at a tape without index, {size}"), None);
    Samples::take(1, 100, async |_| {
        tape.info().await.expect("the tape can be read");
    })
    .await
    .print(&format!("info, {size}"), None);
    let append = Samples::take(20, 1_000, async |_| {
        tape.append(vec![handoff("note", None).expect("it is an event")[1].clone()]).await.expect("it can be written");
    });
    let append = append.await;
    append.print(&format!("append, {size}"), limit(1));
    [warm.median(), append.median()]
}

async fn search_files(dir: &Path) {
    let store: Arc<dyn Store> = Arc::new(FileStore::open(dir).expect("the directory is there"));
    search(&store, RARE, 3).await.print("search files, 100 k, words that stand there", Some(LITERAL));
    search(&store, "天津", 0).await.print("search files, 100 k, two characters that do not", Some(FORGIVING));
    search(&store, "chrisoprase", 3).await.print("search files, 100 k, forgiving", Some(FORGIVING));
}

async fn search_sqlite(path: &Path, entries: usize) {
    let store = SqliteStore::open(path, Durability::Os, false).expect("the database can be made");
    let store: Arc<dyn Store> = Arc::new(store);
    let drafts: Vec<_> = tapes::drafts(entries).collect();
    for part in drafts.chunks(1_000) {
        store.append(NAME, part.to_vec(), None).await.expect("it can be written");
    }
    search(&store, RARE, 3).await.print("search sqlite, 100 k, words that stand there", Some(SQLITE));
    search(&store, "上海", 20).await.print("search sqlite, 100 k, two characters", Some(SQLITE));
    search(&store, "chrisoprase", 3).await.print("search sqlite, 100 k, forgiving", Some(FORGIVING));
}

async fn search(store: &Arc<dyn Store>, text: &str, hits: usize) -> Samples {
    let search = Search { text: text.to_owned(), limit: 20, ..Search::default() };
    Samples::take(1, 15, async |_| {
        let found = store.search(NAME, &search, None).await.expect("the tape can be searched");
        assert_eq!(found.len(), hits, "{text}");
    })
    .await
}
