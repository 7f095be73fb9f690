//! What the chain and its signed heads add to the commit of a turn: `cargo bench -p bub-audit`.

use bub_audit::{AuditFolder, ChainedStore, Signing};
use bub_tape::{Batch, Commit, Draft, FileStore, Store};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TAPE: &str = "aaaa__bbbb";
const TURNS: usize = 400;

/// A turn of ten entries, one of them long, as its fork is merged.
fn turn(number: usize) -> Commit {
    let message = |size: usize| {
        let payload = serde_json::json!({ "role": "user", "content": "x".repeat(size) }).to_string();
        Draft::new("message", &payload, "{}").expect("it is an entry")
    };
    let drafts = (0..10).map(|at| message(if at == 5 { 8000 } else { 300 })).collect();
    let batch = Batch { tape: TAPE.to_owned(), drafts, ..Batch::default() };
    Commit { key: Some(format!("turn-{number}")), batches: vec![batch] }
}

/// The median of a turn's commit. `is_new`: by a process that begins now, as each `run` is.
fn measure(open: &dyn Fn() -> Arc<dyn Store>, is_new: bool) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio starts");
    let mut store = open();
    let mut times: Vec<Duration> = (0..TURNS)
        .map(|number| {
            if is_new {
                store = open();
            }
            let turn = turn(number);
            let began = Instant::now();
            runtime.block_on(store.commit(turn)).expect("it is written");
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[TURNS / 2]
}

fn main() {
    for is_new in [false, true] {
        let how = if is_new { "each by a new process" } else { "in one process" };
        for (what, layers) in [("plain", 0), ("chained", 1), ("chained and signed", 2)] {
            let home = tempfile::tempdir().expect("a directory");
            let open = || -> Arc<dyn Store> {
                let files = Arc::new(FileStore::open(home.path().join("tapes")).expect("a store"));
                let folder = AuditFolder::new(home.path().join("audit"));
                match layers {
                    0 => files,
                    1 => Arc::new(ChainedStore::new(files, None)),
                    _ => Arc::new(ChainedStore::new(files, Some(Arc::new(Signing::new(folder))))),
                }
            };
            println!("{how}, {what}: {:?}", measure(&open, is_new));
        }
    }
}
