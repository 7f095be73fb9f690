//! A home with a tape, its chain and signed heads, in files.

use bub_audit::{AuditFolder, ChainedStore, Report, Signing, verify};
use bub_tape::{Batch, Commit, Draft, FileStore, Store, bootstrap, event};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

pub const TAPE: &str = "aaaa__bbbb";
pub const RECEIPTS: &str = "aaaa__bbbb__sidecar__receipts";

static KEYS: AtomicUsize = AtomicUsize::new(0);

pub struct Home {
    pub dir: TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn tapes(&self) -> PathBuf {
        self.dir.path().join("tapes")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.tapes().join(format!("{name}.jsonl"))
    }

    pub fn folder(&self) -> AuditFolder {
        AuditFolder::new(self.dir.path().join("audit"))
    }

    pub fn plain(&self) -> Arc<dyn Store> {
        Arc::new(FileStore::open(self.tapes()).unwrap())
    }

    /// The store, as a process has it that begins now.
    pub fn chained(&self) -> ChainedStore {
        ChainedStore::new(self.plain(), Some(Arc::new(Signing::new(self.folder()))))
    }

    /// Verified as by a process that begins now.
    pub async fn verify(&self) -> Report {
        let folder = self.folder();
        let keys = folder.keys().unwrap();
        let log = folder.heads(&keys).unwrap();
        let mut report = verify(&*self.plain(), TAPE, &log.of(TAPE)).await.unwrap();
        report.faults.extend(keys.faults);
        report.faults.extend(log.faults);
        report
    }

    /// Verified, with nothing to complain of.
    pub async fn is_whole(&self) -> Report {
        let report = self.verify().await;
        assert_eq!(report.faults, [], "{report:?}");
        report
    }

    /// The kinds of what is wrong.
    pub async fn wrong(&self) -> Vec<String> {
        self.verify().await.faults.iter().map(ToString::to_string).collect()
    }
}

pub fn message(text: &str) -> Draft {
    Draft::new("message", &serde_json::json!({ "role": "user", "content": text }).to_string(), "{}").unwrap()
}

pub fn receipt(number: usize) -> Draft {
    event("turn.receipts", &serde_json::json!({ "receipts": [number] }).to_string()).unwrap()
}

/// What a turn writes at its end.
pub fn turn(number: usize) -> Commit {
    let mut drafts = vec![message(&format!("message {number}")), message(&format!("answer {number}"))];
    if number == 0 {
        drafts.splice(0..0, bootstrap());
    }
    let batch = |tape: &str, drafts| Batch { tape: tape.to_owned(), drafts, ..Batch::default() };
    let key = format!("turn-{}", KEYS.fetch_add(1, Ordering::Relaxed));
    Commit { key: Some(key), batches: vec![batch(RECEIPTS, vec![receipt(number)]), batch(TAPE, drafts)] }
}

/// A home with that many turns.
pub async fn with_turns(count: usize) -> Home {
    let home = Home::new();
    for number in 0..count {
        // Each turn in a process of its own, as `run` has them.
        home.chained().commit(turn(number)).await.unwrap();
    }
    home
}
