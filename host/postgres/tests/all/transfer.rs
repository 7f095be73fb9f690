//! Copies of whole stores, between files, SQLite and PostgreSQL.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bub_store_tests::{NAME, SIDE, all, batch, keyed, message};
use bub_tape::transfer::{Holding, Step, Totals, Transfer, compare, copy};
use bub_tape::{
    Commit, Draft, Durability, Entry, Erasure, Error, FileStore, Future, Hit, Outcome, Query, Search, SqliteStore,
    Store, by_reading,
};
use bub_test_support::postgres::Postgres;
use tempfile::TempDir;

/// A name without a second part, which no list shows.
const UNLISTED: &str = "notes";

/// A tape whose lines have ids in no order.
const ODD: &str = "cccc__dddd";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_the_same_after_copies_through_every_kind_of_store() {
    let Some(server) = Postgres::shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    let first = files(&dir, "first");
    fill(&first, &dir.path().join("first")).await;
    let content = content(&first).await;
    assert!(content.iter().filter(|(holding, _)| holding.is_archive).count() == 2, "{:?}", names(&content));
    let all = content.iter().map(|(_, entries)| entries.len() as u64).sum();
    let mut last: Arc<dyn Transfer> = Arc::new(first);
    let others: [Arc<dyn Transfer>; 6] = [
        Arc::new(sqlite(&dir, "second")),
        Arc::new(super::open(&server.database()).await),
        Arc::new(files(&dir, "fourth")),
        Arc::new(super::open(&server.database()).await),
        Arc::new(sqlite(&dir, "sixth")),
        Arc::new(files(&dir, "seventh")),
    ];
    for next in others {
        assert_eq!(written(&*last, &*next).await, all);
        assert_eq!(self::content(&*next).await, content);
        let totals = Totals { tapes: 4, sidecars: 1, archives: 2, entries: all };
        assert_eq!(compare(&*last, &*next, &mut |_, _| {}).await.unwrap(), Ok(totals));
        assert_eq!(next.key(NAME).await.unwrap().as_deref(), Some("the key"));
        let repeated = keyed("the key", vec![batch(NAME, vec![message("user", "x")])]);
        assert_eq!(next.commit(repeated).await.unwrap(), Outcome::Already);
        last = next;
    }
    for file in std::fs::read_dir(dir.path().join("fourth")).unwrap().flatten() {
        let bytes = |dir_name: &str| std::fs::read(dir.path().join(dir_name).join(file.file_name())).unwrap();
        if !file.file_name().to_str().unwrap().ends_with(".lock") {
            assert_eq!(bytes("fourth"), bytes("seventh"), "{:?}", file.file_name());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_fails_at_any_write_goes_on_after_it() {
    let Some(server) = Postgres::shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    let from = files(&dir, "from");
    fill(&from, &dir.path().join("from")).await;
    let content = content(&from).await;
    let all: u64 = content.iter().map(|(_, entries)| entries.len() as u64).sum();
    let targets: [Arc<dyn Transfer>; 3] =
        [Arc::new(sqlite(&dir, "to")), Arc::new(super::open(&server.database()).await), Arc::new(files(&dir, "to"))];
    for target in targets {
        let fails = Failing { store: target.clone(), left: AtomicU64::new(0) };
        let mut copies = 1;
        while copy(&from, &fails, &mut |_, _| {}).await.is_err() {
            copies += 1;
            fails.left.store(1, Ordering::Relaxed);
        }
        assert!(copies > 8, "it was interrupted {copies} times");
        assert_eq!(self::content(&*target).await, content);
        assert_eq!(written(&from, &*target).await, 0, "a repeated copy writes nothing");
        assert_eq!(compare(&from, &*target, &mut |_, _| {}).await.unwrap().unwrap().entries, all);
        // The next copy writes only entries that were added to the source afterwards.
        let more = vec![message("user", "more"), message("assistant", "still more")];
        from.append(NAME, more, None).await.unwrap();
        assert_eq!(written(&from, &*target).await, 2);
        let more = self::content(&from).await;
        assert_eq!(self::content(&*target).await, more);
        let gone: Vec<Entry> = bub_store_tests::all(&from, NAME).await.into_iter().rev().take(2).collect();
        from.erase(NAME, Erasure::new(&gone)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_with_other_entries_under_a_name_is_refused_and_unchanged() {
    let Some(server) = Postgres::shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    let from = files(&dir, "from");
    fill(&from, &dir.path().join("from")).await;
    let targets: [Arc<dyn Transfer>; 3] =
        [Arc::new(sqlite(&dir, "to")), Arc::new(super::open(&server.database()).await), Arc::new(files(&dir, "to"))];
    for target in targets {
        target.append("zzzz__other", vec![message("user", "stays")], None).await.unwrap();
        target.append(ODD, vec![message("user", "another")], None).await.unwrap();
        let before = content(&*target).await;
        let refused = copy(&from, &*target, &mut |_, _| {}).await.unwrap_err().to_string();
        let expected = format!("the target has other entries under `{ODD}`: entry 1 has another kind; copy to a store");
        assert!(refused.starts_with(&expected) && refused.lines().count() == 1, "{refused}");
        assert_eq!(content(&*target).await, before);
        target.reset(ODD, false).await.unwrap();
        written(&from, &*target).await;
        // A turn in the copy makes it a store of its own.
        target.append(NAME, vec![message("user", "a turn")], None).await.unwrap();
        let refused = copy(&from, &*target, &mut |_, _| {}).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("`{NAME}`: entry 1207 is not in the source")), "{refused}");
        assert_eq!(all(&*target, "zzzz__other").await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_changed_entry_is_found_by_the_comparison() {
    let Some(server) = Postgres::shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    let from = files(&dir, "from");
    fill(&from, &dir.path().join("from")).await;
    let address = server.database();
    let to = super::open(&address).await;
    written(&from, &to).await;
    let tape = format!("(SELECT number FROM tape WHERE name = '{NAME}')");
    let found = async |change: &str, back: &str| {
        server.sql(&address, change);
        let difference = compare(&from, &to, &mut |_, _| {}).await.unwrap().unwrap_err();
        server.sql(&address, back);
        assert!(compare(&from, &to, &mut |_, _| {}).await.unwrap().is_ok());
        difference.to_string()
    };
    for column in ["kind", "payload", "meta", "date"] {
        let set = |add: &str| format!("UPDATE entry SET {column} = {add} WHERE tape = {tape} AND id = 700");
        let says =
            found(&set(&format!("{column} || 'x'")), &set(&format!("substr({column}, 1, length({column}) - 1)"))).await;
        assert_eq!(says, format!("`{NAME}`: entry 700 has another {column}"));
    }
    server.sql(&address, &format!("CREATE TABLE kept AS SELECT * FROM entry WHERE tape = {tape} AND id = 9"));
    let delete = format!("DELETE FROM entry WHERE tape = {tape} AND id = 9");
    let says = found(&delete, "INSERT INTO entry SELECT * FROM kept").await;
    assert_eq!(says, format!("`{NAME}`: entry 9 is missing"));
    let says = found("UPDATE family SET key = 'x'", "UPDATE family SET key = 'the key' WHERE key IS NOT NULL");
    assert_eq!(says.await, format!("`{NAME}`: the key of its last commit differs"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_the_target_cannot_hold_is_named() {
    let Some(server) = Postgres::shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    let postgres = super::open(&server.database()).await;
    let large = Holding { name: NAME.to_owned(), is_archive: false };
    let entry = message("user", "far").numbered(1 << 40);
    postgres.add(&large, 0, vec![entry.clone()]).await.unwrap();
    let refused = copy(&postgres, &sqlite(&dir, "small"), &mut |_, _| {}).await.unwrap_err();
    assert_eq!(refused.to_string(), "ids of a tape in SQLite are at most 4294967295");
    let archive = Holding { name: format!("{NAME}.old"), is_archive: true };
    postgres.add(&archive, 0, vec![entry.clone()]).await.unwrap();
    let refused = copy(&postgres, &files(&dir, "to"), &mut |_, _| {}).await.unwrap_err().to_string();
    assert!(refused.contains(&format!("`{NAME}.old` cannot name an archive in files")), "{refused}");
    let other = Holding { is_archive: true, ..large.clone() };
    let sqlite = sqlite(&dir, "other");
    sqlite.add(&large, 0, vec![message("user", "x").numbered(5)]).await.unwrap();
    for store in [&postgres as &dyn Transfer, &sqlite] {
        let refused = store.last_of(&other).await.unwrap_err().to_string();
        assert_eq!(refused, format!("`{NAME}` is an archive in one store and a tape in the other"));
        assert_eq!(store.add(&other, 0, vec![entry.clone()]).await.unwrap_err().to_string(), refused);
        let conflict = store.add(&large, 7, vec![entry.clone()]).await;
        assert!(matches!(conflict, Err(Error::Conflict { .. })), "{conflict:?}");
        let disorder = store.add(&large, 7, vec![message("user", "x").numbered(7)]).await.unwrap_err().to_string();
        assert_eq!(disorder, format!("entry 7 of `{NAME}` follows entry 7"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_tape_is_copied_in_bounded_pages_and_found_by_searches() {
    let Some(server) = Postgres::shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    let from = sqlite(&dir, "from");
    let large = "x".repeat(3 << 20);
    for n in 0..6 {
        let drafts = (0..200).map(|m| message("user", &format!("heron {n} {m}"))).chain([message("user", &large)]);
        from.append(NAME, drafts.collect(), None).await.unwrap();
    }
    let address = server.database();
    let to = super::open(&address).await;
    let held = Holding { name: NAME.to_owned(), is_archive: false };
    let mut steps = Vec::new();
    copy(&from, &to, &mut |step, _| {
        if steps.last() != Some(&step) {
            steps.push(step)
        }
    })
    .await
    .unwrap();
    assert_eq!(steps, [Step::Copying]);
    for store in [&from as &dyn Transfer, &to] {
        let (mut after, mut pages) = (0, 0);
        loop {
            let page = store.page(&held, after).await.unwrap();
            let Some(last) = page.last() else { break };
            let bytes: usize = page.iter().map(bub_tape::transfer::size).sum();
            assert!(page.len() <= 512 && bytes < 8 << 20, "{} entries, {bytes} bytes", page.len());
            (after, pages) = (last.id, pages + 1);
        }
        assert!(after == 1206 && pages >= 3, "{pages} pages up to {after}");
    }
    let search = Search { text: "heron 3 150".to_owned(), ..Search::default() };
    let expected = from.search(NAME, &search, None).await.unwrap();
    assert!(!expected.is_empty() && to.search(NAME, &search, None).await.unwrap() == expected);
    let indexed: u64 = server.sql(&address, "SELECT indexed FROM tape").parse().unwrap();
    assert!(indexed > 1206 - 64, "the copy is indexed up to {indexed}");
}

/// Tapes of every sort: long ones, odd ids, gaps, sidecars, archives, a key, a name that is not listed.
async fn fill(store: &FileStore, dir: &Path) {
    let odd = |id: &str, text: &str| {
        format!(
            "{{\"id\": {id}, \"kind\": \"mess\\u00e4ge\", \"payload\": {{\"content\": \"{text}\", \"a\":  1.50}}, \"meta\": {{\"x\": \"\\u0000\"}}, \"date\": \"2026-11-21T02:36:22+00:00\"}}\n"
        )
    };
    std::fs::create_dir_all(dir).unwrap();
    let lines = [odd("1", "heron"), odd("700", "ストーク"), odd("3", ""), odd("3", "\\u2028"), "no entry\n".to_owned()];
    std::fs::write(dir.join(format!("{ODD}.jsonl")), lines.concat()).unwrap();
    for turn in 0..12 {
        let drafts = (0..100)
            .map(|n| message("user", &format!("turn {turn}, entry {n}")).dated(format!("2026-11-{:02}", turn + 1)));
        store.append(NAME, drafts.collect(), None).await.unwrap();
    }
    store
        .commit(keyed("the key", vec![batch(NAME, vec![message("user", "keyed")]), batch(SIDE, vec![side()])]))
        .await
        .unwrap();
    let gone: Vec<Entry> = all(store, NAME).await.into_iter().filter(|entry| entry.id % 10 == 3).collect();
    let erasure = Erasure::new(&gone).with_receipt("the test").unwrap();
    store.erase(NAME, erasure).await.unwrap();
    store.append(NAME, vec![message("assistant", &"long ".repeat(1 << 20))], None).await.unwrap();
    for n in 0..3 {
        store.append(NAME, vec![message("user", &n.to_string())], None).await.unwrap();
    }
    store.append("eeee__ffff", vec![message("user", "archived")], None).await.unwrap();
    store.append("eeee__ffff__sidecar__notes", vec![side()], None).await.unwrap();
    store.reset("eeee__ffff", true).await.unwrap().unwrap();
    store.append("eeee__ffff", vec![message("user", "after the reset")], None).await.unwrap();
    store.append(UNLISTED, vec![message("user", "not listed")], None).await.unwrap();
}

fn side() -> Draft {
    Draft::new("note", "{\"deep\": [[[{}]]]}", "{\"plugin\": \"x\"}").unwrap()
}

fn files(dir: &TempDir, name: &str) -> FileStore {
    FileStore::open(dir.path().join(name)).unwrap()
}

fn sqlite(dir: &TempDir, name: &str) -> SqliteStore {
    SqliteStore::open(dir.path().join(name.to_owned() + ".sqlite"), Durability::Os, true).unwrap()
}

/// The number of entries that a copy wrote.
async fn written(from: &dyn Transfer, to: &dyn Transfer) -> u64 {
    copy(from, to, &mut |_, _| {}).await.unwrap().entries
}

/// Everything with entries that a store holds.
async fn content(store: &dyn Transfer) -> Vec<(Holding, Vec<Entry>)> {
    let mut content = Vec::new();
    for holding in store.holdings(None, usize::MAX).await.unwrap() {
        let (mut entries, mut after) = (Vec::new(), 0);
        loop {
            let page = store.page(&holding, after).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.id;
            entries.extend(page);
        }
        if !entries.is_empty() {
            assert_eq!(store.last_of(&holding).await.unwrap(), after);
            content.push((holding, entries));
        }
    }
    content
}

fn names(content: &[(Holding, Vec<Entry>)]) -> Vec<&str> {
    content.iter().map(|(holding, _)| holding.name.as_str()).collect()
}

/// A store that fails when a number of writes was done.
struct Failing {
    store: Arc<dyn Transfer>,
    left: AtomicU64,
}

impl Transfer for Failing {
    fn holdings<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<Holding>> {
        self.store.holdings(after, max)
    }

    fn last_of<'a>(&'a self, holding: &'a Holding) -> Future<'a, u64> {
        self.store.last_of(holding)
    }

    fn page<'a>(&'a self, holding: &'a Holding, after: u64) -> Future<'a, Vec<Entry>> {
        self.store.page(holding, after)
    }

    fn add<'a>(&'a self, holding: &'a Holding, after: u64, entries: Vec<Entry>) -> Future<'a, ()> {
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => self.store.add(holding, after, entries),
            Err(_) => Box::pin(async { Err(Error::invalid("the target has failed")) }),
        }
    }

    fn key<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        self.store.key(tape)
    }

    fn set_key<'a>(&'a self, tape: &'a str, key: &'a str) -> Future<'a, ()> {
        self.store.set_key(tape, key)
    }
}

impl Store for Failing {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        self.store.commit(commit)
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        self.store.archive_name(tape)
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        self.store.sidecars(tape)
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        self.store.last_id(tape)
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        self.store.read(tape, after, max)
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        self.store.tail(tape, before, max)
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.store.list(after, max)
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.store.check_writable(tape)
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        by_reading::section(self, tape, name, before)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        by_reading::query(self, tape, query)
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        by_reading::search(self, tape, search, before)
    }
}
