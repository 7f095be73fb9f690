//! Backups through the crate's API.

mod damaged;

use bub_backup::{Home, Manifest, StoredTapes, TapeStore, create, restore, verify};
use bub_tape::{Batch, Commit, Draft, Durability, FileStore, SqliteStore, Store, event};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const TAPE: &str = "0123456789abcdef__fedcba9876543210";
const PASSPHRASE: &str = "correct horse battery";

/// A home with a file of each kind, and tapes in files.
fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    let files = [
        ("config.toml", "model = \"offline:demo\"\n"),
        (".env", "BUB_API_KEY=sk-secret-of-the-test\n"),
        ("secrets.toml", "[openai]\nvalue = \"sk-another-secret\"\n"),
        ("plugins/tool.wasm", "\0asm"),
        ("plugins/.before/tool.wasm", "\0asm before"),
        ("plugins/.shared.lock", ""),
        ("usage/2026-01-02.jsonl", "{\"tokens\":1}\n{\"tok"),
        ("cache/index/x.index", "derived"),
        ("serve.sqlite", "messages"),
        ("audit/key", "a key"),
        ("audit/heads.jsonl", "{}\n"),
    ];
    for (path, text) in files {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    home
}

fn tapes(home: &Path) -> PathBuf {
    home.join("tapes")
}

fn said(text: &str) -> Draft {
    event("said", &serde_json::json!({ "text": text }).to_string()).expect("a draft")
}

async fn write(store: &dyn Store, tape: &str, drafts: Vec<Draft>) {
    let batch = Batch { tape: tape.to_owned(), drafts, ..Batch::default() };
    store.commit(Commit::new(batch)).await.expect("a commit");
}

async fn backup(home: &Path, to: &Path, passphrase: Option<&str>) -> anyhow::Result<Manifest> {
    let store = FileStore::open(tapes(home)).expect("a store");
    create(&Home { path: home, tapes: TapeStore::Files(store) }, to, passphrase).await
}

#[tokio::test]
async fn a_home_comes_back_without_what_is_derived_or_secret() {
    let (home, place) = (home(), tempfile::tempdir().expect("a folder"));
    let store = FileStore::open(tapes(home.path())).expect("a store");
    write(&store, TAPE, vec![said("one"), said("two")]).await;
    let (file, back) = (place.path().join("b.tar.gz"), place.path().join("deep/new-home"));
    let written = backup(home.path(), &file, None).await.expect("a backup");
    assert_eq!((written.tapes(), written.has_secrets, &written.tapes), (1, false, &StoredTapes::Files));
    assert_eq!(verify(&file, None).expect("it is whole"), written);
    restore(&file, &back, None).expect("it is put back");
    let same = |path: &str| assert_eq!(fs::read(home.path().join(path)).ok(), fs::read(back.join(path)).ok(), "{path}");
    same("config.toml");
    same("plugins/tool.wasm");
    same("plugins/.before/tool.wasm");
    same(&format!("tapes/{TAPE}.jsonl"));
    assert_eq!(fs::read_to_string(back.join("usage/2026-01-02.jsonl")).expect("it is there"), "{\"tokens\":1}\n");
    for path in [".env", "secrets.toml", "plugins/.shared.lock", "cache", "serve.sqlite"] {
        assert!(!back.join(path).exists(), "{path}");
    }
    let error = backup(home.path(), &file, None).await.expect_err("the file is there");
    assert!(error.to_string().contains("exists: name a file that does not"), "{error}");
    let error = restore(&file, &back, None).expect_err("the home has files");
    assert!(error.to_string().contains("has files: name an empty or a new one"), "{error}");
}

#[tokio::test]
async fn secrets_are_under_the_passphrase() {
    let (home, place) = (home(), tempfile::tempdir().expect("a folder"));
    let file = place.path().join("b.tar.gz");
    let error = backup(home.path(), &file, Some("short")).await.expect_err("it is short");
    assert!(error.to_string().contains("take a longer one") && !file.exists(), "{error}");
    backup(home.path(), &file, Some(PASSPHRASE)).await.expect("a backup");
    let mut plain = Vec::new();
    let mut unpacked = flate2::read::GzDecoder::new(fs::File::open(&file).expect("a file"));
    std::io::Read::read_to_end(&mut unpacked, &mut plain).expect("it is gzip");
    assert!(!plain.windows(16).any(|text| text == b"sk-secret-of-the"), "the key is in the archive");
    verify(&file, Some(PASSPHRASE)).expect("the passphrase fits");
    let wrong = verify(&file, Some("wrong horse battery")).expect_err("it does not fit");
    assert!(wrong.to_string().contains("the passphrase is not that of the backup's secrets"), "{wrong}");
    let (with, without) = (place.path().join("with"), place.path().join("without"));
    restore(&file, &with, Some("wrong horse battery")).expect_err("it does not fit");
    assert!(!with.exists(), "nothing is left");
    restore(&file, &with, Some(PASSPHRASE)).expect("it is put back");
    assert_eq!(fs::read_to_string(with.join(".env")).expect("it is there"), "BUB_API_KEY=sk-secret-of-the-test\n");
    restore(&file, &without, None).expect("it is put back");
    assert!(!without.join(".env").exists() && without.join("config.toml").exists());
    // The signed heads and their key, or neither.
    assert!(with.join("audit/key").exists() && with.join("audit/heads.jsonl").exists());
    assert!(!without.join("audit").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_has_each_tape_between_two_writes() {
    let (home, place) = (home(), tempfile::tempdir().expect("a folder"));
    let ends = Arc::new(AtomicBool::new(false));
    let writers = (0..4).map(|writer| {
        let (dir, ends) = (tapes(home.path()), Arc::clone(&ends));
        tokio::spawn(async move {
            let store = FileStore::durable(dir, Durability::Os).expect("a store");
            let tape = format!("{writer:016x}__0000000000000000");
            let mut round = 0;
            while !ends.load(Ordering::Relaxed) {
                // Two entries a write: a copy has both or none.
                let drafts = vec![said(&format!("{round} a")), said(&format!("{round} {}", "b".repeat(3000)))];
                write(&store, &tape, drafts).await;
                round += 1;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    for round in 0..5 {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        let (file, back) = (place.path().join(format!("{round}.tar.gz")), place.path().join(format!("home{round}")));
        backup(home.path(), &file, None).await.expect("a backup");
        restore(&file, &back, None).expect("it is put back");
        let mut seen = 0;
        for found in fs::read_dir(tapes(&back)).expect("tapes") {
            let path = found.expect("a file").path();
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            let (copy, now) = (
                fs::read(&path).expect("a tape"),
                fs::read(tapes(home.path()).join(path.file_name().expect("a name"))),
            );
            assert!(now.expect("a tape").starts_with(&copy), "{}", path.display());
            let mut entries = 0;
            for line in copy.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                serde_json::from_slice::<serde_json::Value>(line).expect("a whole line");
                entries += 1;
            }
            assert!(entries % 2 == 0, "{entries} entries of writes of two");
            seen += entries;
        }
        assert!(seen > 0 || round == 0, "nothing was written");
    }
    ends.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.expect("a writer");
    }
}

#[tokio::test]
async fn a_database_of_tapes_comes_back_wherever_it_was() {
    let (home, place) = (home(), tempfile::tempdir().expect("a folder"));
    for (name, path, restored) in [
        ("inside", home.path().join("own.sqlite"), "own.sqlite"),
        ("outside", place.path().join("elsewhere.db"), "tapes.sqlite"),
    ] {
        let store = SqliteStore::open(&path, Durability::Os, false).expect("a store");
        write(&store, TAPE, vec![said(name)]).await;
        let file = place.path().join(format!("{name}.tar.gz"));
        let tapes = TapeStore::Sqlite(SqliteStore::open(&path, Durability::Os, false).expect("a store"));
        create(&Home { path: home.path(), tapes }, &file, None).await.expect("a backup");
        let back = place.path().join(format!("home-{name}"));
        restore(&file, &back, None).expect("it is put back");
        let store = SqliteStore::open(back.join(restored), Durability::Os, false).expect("a store");
        let entries = store.read(TAPE, 0, 10).await.expect("entries");
        assert!(entries.iter().any(|entry| entry.payload.contains(name)), "{entries:?}");
    }
}
