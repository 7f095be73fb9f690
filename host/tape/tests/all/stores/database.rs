//! Behavior of SQLite alone.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bub_tape::{Draft, Durability, Error, MemoryStore, Search, SqliteStore, Store, network_file_system};

use bub_store_tests::{NAME, all, contents, ids, message};

fn open(path: &Path) -> bub_tape::Result<SqliteStore> {
    SqliteStore::open(path, Durability::Os, true)
}

fn refusal(path: &Path) -> String {
    match open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

fn dir() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tapes.db");
    (dir, path)
}

#[tokio::test]
async fn a_file_that_is_not_a_tape_database_is_rejected_in_one_line_and_unchanged() {
    let (dir, path) = dir();
    let shown = path.display();
    let missing = dir.path().join("missing").join("tapes.db");
    let (of, not) = (missing.display(), missing.parent().unwrap().display());
    assert_eq!(refusal(&missing), format!("open the tapes in `{of}`: there is no directory `{not}`"));
    assert_eq!(refusal(dir.path()), format!("open the tapes in `{}`: it is not a file", dir.path().display()));
    for bytes in ["x", "no database", &"{\"id\": 1}\n".repeat(1000)] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(refusal(&path), format!("open the tapes in `{shown}`: the file is not a SQLite database"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bytes);
    }
    std::fs::write(&path, "").unwrap();
    open(&path).unwrap().append(NAME, vec![message("user", "x")], None).await.unwrap();
    let other = |offset: u64, number: u32| {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&number.to_be_bytes(), offset).unwrap();
        let before = std::fs::read(&path).unwrap();
        let refusal = refusal(&path);
        assert_eq!(std::fs::read(&path).unwrap(), before);
        refusal
    };
    let ours = u32::from_be_bytes(std::fs::read(&path).unwrap()[68..72].try_into().unwrap());
    // Where the header of a database has its version, and its program.
    let newer = other(60, 9);
    assert!(newer.starts_with(&format!("the tapes in `{shown}` are of version 9, and this program reads")), "{newer}");
    let foreign = other(68, 77);
    assert_eq!(foreign, format!("`{shown}` is a database of another program: name a file of its own for the tapes"));
    assert!(other(68, 0).contains("another program"));
    other_back(&path, ours);
    assert_eq!(ids(&all(&open(&path).unwrap(), NAME).await), [1], "nothing was lost");
}

fn other_back(path: &Path, application: u32) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&application.to_be_bytes(), 68).unwrap();
    file.write_all_at(&1_u32.to_be_bytes(), 60).unwrap();
}

#[tokio::test]
async fn a_database_that_was_removed_takes_nothing_more() {
    let (_dir, path) = dir();
    let store = open(&path).unwrap();
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    let refused = store.append(NAME, vec![message("user", "y")], None).await.unwrap_err();
    let expected = format!("append to tape `{NAME}`: the database was moved or removed while it was in use");
    assert_eq!(refused.to_string(), expected);
    assert_eq!(store.check_writable(NAME).await.unwrap_err().to_string(), expected);
    open(&path).unwrap().append(NAME, vec![message("user", "z")], None).await.unwrap();
    assert_eq!(store.check_writable(NAME).await.unwrap_err().to_string(), expected, "another one is in its place");
}

#[tokio::test]
async fn the_files_belong_to_their_owner_alone() {
    let (dir, path) = dir();
    let store = open(&path).unwrap();
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    let mut files = 0;
    for file in std::fs::read_dir(dir.path()).unwrap() {
        files += 1;
        assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(files, 3, "the log and its index lie beside the database");
    assert_eq!(store.path(), path);
}

#[tokio::test]
async fn a_file_that_can_only_be_read_is_read() {
    let (_dir, path) = dir();
    open(&path).unwrap().append(NAME, vec![message("user", "x")], None).await.unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o400)).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        // The superuser writes it all the same.
        return;
    }
    let store = open(&path).unwrap();
    assert_eq!(contents(&all(&store, NAME).await), ["x"]);
    let refused = store.check_writable(NAME).await.unwrap_err().to_string();
    assert_eq!(refused, format!("append to tape `{NAME}`: the database can only be read"));
}

#[tokio::test]
async fn an_archive_takes_nothing_more() {
    let place = super::sqlite();
    let stores: [std::sync::Arc<dyn Store>; 2] = [place.open(), std::sync::Arc::new(MemoryStore::new())];
    // An archive of a tape whose name is as long as may be has a longer one.
    for (store, tape) in
        stores.iter().flat_map(|store| [(store, NAME.to_owned()), (store, format!("a__{}", "b".repeat(197)))])
    {
        store.append(&tape, vec![message("user", "x")], None).await.unwrap();
        let archive = store.reset(&tape, true).await.unwrap().unwrap();
        assert!(store.append(&archive, vec![message("user", "y")], None).await.is_err());
        assert!(store.reset(&archive, false).await.is_err());
        assert!(store.reset(&archive, true).await.is_err());
        assert_eq!(contents(&all(&**store, &archive).await), ["x"]);
    }
    let refused = stores[0].append(&archive(&*stores[0]).await, vec![message("user", "y")], None).await;
    assert!(matches!(refused, Err(Error::InvalidInput(text)) if text.ends_with("is an archive and cannot be written")));
}

async fn archive(store: &dyn Store) -> String {
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    store.reset(NAME, true).await.unwrap().unwrap()
}

#[tokio::test]
async fn synced_tapes_read_the_same() {
    let (_dir, path) = dir();
    let store = SqliteStore::open(&path, Durability::Fsync, true).unwrap();
    for text in ["one", "two"] {
        store.append(NAME, vec![message("user", text)], None).await.unwrap();
    }
    assert_eq!(contents(&all(&open(&path).unwrap(), NAME).await), ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openings_at_the_same_moment_make_one_database() {
    let (_dir, path) = dir();
    let openings: Vec<_> = (0..4)
        .map(|n| {
            let path = path.clone();
            std::thread::spawn(move || (n, open(&path).unwrap()))
        })
        .collect();
    for opening in openings {
        let (n, store) = opening.join().unwrap();
        store.append(NAME, vec![message("user", &n.to_string())], None).await.unwrap();
    }
    assert_eq!(ids(&all(&open(&path).unwrap(), NAME).await), [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_search_ends_when_its_time_is_over() {
    let place = super::sqlite();
    let store = place.open();
    let drafts: Vec<Draft> = (0..500).map(|n| message("user", &format!("word {n}"))).collect();
    store.append(NAME, drafts, None).await.unwrap();
    let search = Search { text: "word".to_owned(), patience: Some(Duration::ZERO), ..Search::default() };
    assert!(store.search(NAME, &search, None).await.unwrap().is_empty());
    let search = Search { patience: Some(Duration::from_secs(60)), ..search };
    assert_eq!(store.search(NAME, &search, None).await.unwrap().len(), 20);
}

#[test]
fn a_file_system_of_this_machine_is_no_network_file_system() {
    assert_eq!(network_file_system(Path::new("/proc")).unwrap(), None);
    assert!(network_file_system(Path::new("/proc/missing")).is_err());
}

#[tokio::test]
async fn the_index_takes_most_entries_and_keeps_no_removed_ones() {
    let (_dir, path) = dir();
    let store = open(&path).unwrap();
    let indexed = || {
        let database = rusqlite::Connection::open(&path).unwrap();
        database.query_row("SELECT count(*) FROM gram_docsize", (), |row| row.get::<_, u32>(0)).unwrap()
    };
    for n in 0..300 {
        store.append(NAME, vec![message("user", &n.to_string())], None).await.unwrap();
    }
    assert!((150..=300).contains(&indexed()), "{}", indexed());
    store.reset(NAME, false).await.unwrap();
    assert_eq!(indexed(), 0);
}
