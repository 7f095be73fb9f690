//! The store of the plugin over HTTP, for the cases that every store passes.

use super::{Mood, StandIn, configuration, keep_token};
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_tape::{Batch, Commit, MemoryStore, Outcome, Store};
use bub_tests::programs;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A server in memory, and a host in this process whose plugin keeps its tapes there.
pub struct Kept {
    host: Arc<Host>,
    server: StandIn,
    dir: tempfile::TempDir,
}

/// `bub-wasm serve`, and a host in this process whose plugin keeps its tapes there.
pub struct Served {
    host: Arc<Host>,
    there: bub_tests::serve::Served,
    _dir: tempfile::TempDir,
}

impl Served {
    /// All of it, new, within a runtime of several threads.
    pub fn wait() -> Self {
        let there = crate::home().bare().served();
        let dir = tempfile::tempdir().unwrap();
        let base = there.serve.base();
        let start = host(dir.path(), &base, there.serve.token());
        let host = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(start));
        Self { host, there, _dir: dir }
    }

    /// The store, as a process finds it that begins now.
    pub fn open(&self) -> Arc<dyn Store> {
        self.host.tapes().store().clone()
    }

    /// Where the tapes are files in the end.
    pub fn files(&self) -> PathBuf {
        self.there.home.tapes_dir()
    }
}

/// A host whose plugin keeps its tapes at `base`.
async fn host(dir: &Path, base: &str, token: &str) -> Arc<Host> {
    let home = dir.join("home");
    fs::create_dir_all(home.join("plugins")).unwrap();
    fs::copy(programs::TAPES_HTTP, home.join("plugins/tapes-http.wasm")).unwrap();
    let embedded = "[plugins.builtin]\nenabled = false\n[plugins.offline]\nenabled = false\n";
    // The memory for an entry of eight megabytes.
    let limits = "[plugins.tapes-http.limits]\ndeadline_ms = 60000\n";
    let config = format!("{embedded}{}{limits}", configuration(base));
    fs::write(home.join("config.toml"), config).unwrap();
    keep_token(&home, token);
    // Compiled once for all tests.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    fs::write(home.join(".env"), format!("BUB_CACHE={}\n", cache.display())).unwrap();
    let mut config = Config::load(Some(&home)).unwrap();
    // The tested program compiles the plugins, not this process.
    config.program = env!("CARGO_BIN_EXE_bub-wasm").into();
    Host::start(config, dir, Box::new(Printer)).await.unwrap()
}

impl Kept {
    /// All of it, new.
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = StandIn::new(Arc::new(MemoryStore::new()), Some(super::TOKEN));
        let host = host(dir.path(), &server.base(), super::TOKEN).await;
        Self { host, server, dir }
    }

    /// The other side.
    pub fn server(&self) -> &StandIn {
        &self.server
    }

    /// The same where nothing can be awaited, within a runtime of several threads.
    pub fn wait() -> Self {
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(Self::new()))
    }

    /// The store, as a process finds it that begins now.
    pub fn open(&self) -> Arc<dyn Store> {
        self.host.tapes().store().clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_turn_is_one_write_and_comes_back_in_pages() {
    let kept = Kept::new().await;
    let long = serde_json::Value::from("x".repeat(300 << 10)).to_string();
    // More than a request of any other plugin may hold.
    let drafts: Vec<_> = (0..60).map(|_| bub_tape::event("long", &long).unwrap()).collect();
    let batch = Batch { tape: "a__b".to_owned(), drafts: drafts.clone(), ..Batch::default() };
    let outcome = kept.open().commit(Commit { key: Some("k".to_owned()), batches: vec![batch] }).await.unwrap();
    assert_eq!(outcome, Outcome::Stored(vec![1]));
    let expected: Vec<_> = (1..).zip(drafts).map(|(id, draft)| draft.numbered(id)).collect();
    assert!(kept.open().read("a__b", 0, usize::MAX).await.unwrap() == expected, "an entry changed");
    assert!(kept.open().tail("a__b", None, 7).await.unwrap() == expected[53..], "an entry changed");
    let asked = kept.server.asked();
    assert_eq!(asked.iter().filter(|asked| asked.writes_entries()).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_whose_reply_is_lost_is_not_doubled() {
    let kept = Kept::new().await;
    let mut count = 0;
    kept.server.moody(move |asked| {
        count += u32::from(asked.writes_entries());
        if asked.writes_entries() && count % 2 == 1 { Mood::LoseReply } else { Mood::Well }
    });
    for id in 1..=3 {
        let draft = bub_tape::event("here", "{}").unwrap();
        assert_eq!(kept.open().append("a__b", vec![draft], None).await.unwrap(), id);
    }
    assert_eq!(kept.server.tape("a__b").len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_with_a_store_plugin_uses_it() {
    let kept = Kept::new().await;
    let draft = bub_tape::event("here", "{}").unwrap();
    assert_eq!(kept.open().append("a__b", vec![draft], None).await.unwrap(), 1);
    assert_eq!(kept.open().list(None, 10).await.unwrap(), ["a__b"]);
    assert_eq!(kept.server.tape("a__b").len(), 1);
    assert_eq!(fs::read_dir(kept.dir.path().join("home/tapes")).map_or(0, Iterator::count), 0);
}
