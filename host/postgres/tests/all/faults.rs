//! Faults between the program and PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bub_postgres::{Database, PostgresStore, Settings};
use bub_store_tests::{NAME, Place, batch, contents, ids, keyed, message, reset, stored};
use bub_tape::{Erasure, Error, Outcome, Store};
use bub_test_support::postgres::Postgres;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::{open, refusal, store};

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let address = format!("postgres:///bub?host={}&user=bub", dir.path().display());
    let expected = format!("open the tapes in `{address}`: the database cannot be reached: ");
    let refused = refusal(&address).await;
    assert!(refused.starts_with(&expected) && refused.lines().count() == 1, "{refused}");
    // A port on which nothing listens, as this test has closed it.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let refused = refusal(&format!("postgres://bub@127.0.0.1:{port}/bub")).await;
    assert!(refused.contains("the database cannot be reached: Connection refused"), "{refused}");
}

#[tokio::test]
async fn a_missing_database_and_a_refused_user_are_named() {
    let Some(server) = Postgres::shared() else { return };
    let refused = refusal(&server.address("missing")).await;
    assert!(refused.ends_with("database \"missing\" does not exist: `createdb` makes it"), "{refused}");
    let refused = refusal(&server.address("postgres").replace("user=bub", "user=stranger")).await;
    assert!(refused.contains("role \"stranger\" does not exist"), "{refused}");
    server.sql("postgres", "CREATE USER visitor");
    let address = server.database();
    open(&address).await.append(NAME, vec![message("user", "x")], None).await.unwrap();
    // The schema is there, but not for everybody.
    let refused = refusal(&address.replace("user=bub", "user=visitor")).await;
    assert!(refused.ends_with("the database refuses: permission denied for table bub_schema"), "{refused}");
}

#[tokio::test]
async fn a_database_that_can_only_be_read_is_read() {
    let Some((store, address)) = store().await else { return };
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    let name = address.split(['/', '?']).nth(3).unwrap();
    let server = Postgres::shared().unwrap();
    server.sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    let store = open(&address).await;
    assert_eq!(contents(&store.read(NAME, 0, 9).await.unwrap()), ["x"]);
    let expected =
        format!("append to tape `{NAME}`: the database can only be read: it is a standby, or set to read-only");
    assert_eq!(store.check_writable(NAME).await.unwrap_err().to_string(), expected);
    assert_eq!(store.append(NAME, vec![message("user", "y")], None).await.unwrap_err().to_string(), expected);
    let refused = store.reset(NAME, true).await.unwrap_err().to_string();
    assert!(refused.ends_with("it is a standby, or set to read-only"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_free_connections_says_so_and_serves_again() {
    let Some(server) = Postgres::start(&["max_connections=6", "superuser_reserved_connections=1"]) else { return };
    let address = server.database();
    server.sql("postgres", "CREATE USER worker");
    server.sql(&address, "GRANT ALL ON SCHEMA public TO worker");
    let address = address.replace("user=bub", "user=worker");
    let first = opened_soon(&address).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(opened_soon(&address).await);
    }
    let refused = refusal(&address).await;
    assert!(refused.ends_with("raise its `max_connections`, or put a pooler in front"), "{refused}");
    first.append(NAME, vec![message("user", "x")], None).await.unwrap();
    drop(held);
    assert_eq!(opened_soon(&address).await.last_id(NAME).await.unwrap(), 1);
}

/// A store with a connection. The server frees the place of a connection some time after its end.
async fn opened_soon(address: &str) -> PostgresStore {
    let begun = Instant::now();
    loop {
        match Database::connect(Settings::parse(address).unwrap()).await {
            Ok(database) => return PostgresStore::new(database),
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(30), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_server_is_survived_and_a_write_with_a_key_is_done_once() {
    let Some(mut server) = Postgres::start(&[]) else { return };
    let address = server.database();
    let store = open(&address).await;
    let turn = |key: &str| keyed(key, vec![batch(NAME, vec![message("user", key)])]);
    assert_eq!(store.commit(turn("one")).await.unwrap(), stored(&[1]));
    server.restart();
    // The idle connections of the pool have ended, which it may not know yet.
    assert_eq!(ids(&store.read(NAME, 0, 9).await.unwrap()), [1]);
    server.restart();
    assert_eq!(store.commit(turn("one")).await.unwrap(), Outcome::Already);
    server.restart();
    assert_eq!(store.reset(NAME, false).await.unwrap(), None);
    server.restart();
    assert_eq!(store.commit(turn("two")).await.unwrap(), stored(&[1]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_waits_for_another_one_until_the_limit() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let store = open(&address).await;
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    let limited = address.clone() + "&options=-c%20lock_timeout%3D100ms";
    let impatient = open(&limited).await;
    let lock = format!("BEGIN; SELECT 1 FROM family WHERE name = '{NAME}' FOR UPDATE; SELECT pg_sleep(2)");
    let holder = std::thread::spawn(move || server.sql(&address, &lock));
    // Until the lock is held, writes succeed.
    let refused = loop {
        if let Err(refused) = impatient.append(NAME, vec![message("user", "y")], None).await {
            break refused.to_string();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let why = "another process has been writing for longer than the `lock_timeout` of the database";
    assert_eq!(refused, format!("append to tape `{NAME}`: {why}"));
    // This one waits for the end of the transaction.
    store.append(NAME, vec![message("user", "z")], None).await.unwrap();
    holder.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_ended_by_the_server() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let store = open(&address).await;
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    let names = "SELECT string_agg(DISTINCT application_name, ' ') FROM pg_stat_activity WHERE datname = \
                 current_database() AND pid <> pg_backend_pid()";
    assert_eq!(server.sql(&address, names), "bub-wasm");
    let hasty = open(&(address.clone() + "&options=-c%20statement_timeout%3D100ms")).await;
    let lock = format!("BEGIN; SELECT 1 FROM family WHERE name = '{NAME}' FOR UPDATE; SELECT pg_sleep(1)");
    let of = address.clone();
    let holder = std::thread::spawn(move || server.sql(&of, &lock));
    let refused = loop {
        if let Err(refused) = hasty.append(NAME, vec![message("user", "y")], None).await {
            break refused.to_string();
        }
    };
    assert_eq!(refused, format!("append to tape `{NAME}`: the database ended the statement, which took too long"));
    holder.join().unwrap();
    hasty.append(NAME, vec![message("user", "z")], None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_isolation_that_a_database_or_an_address_prefers_changes_nothing() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let name = address.split(['/', '?']).nth(3).unwrap();
    server.sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"));
    // Nor does that of the address.
    let address = address + "&options=-c%20default_transaction_isolation%3Dserializable";
    let place = Place::new(move || Arc::new(block_in_place(|| Handle::current().block_on(open(&address)))));
    bub_store_tests::commits::two_writers_leave_consecutive_ids(&place).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_of_the_server_lose_nothing_that_was_acknowledged_and_repeat_nothing() {
    let Some(mut server) = Postgres::start(&[]) else { return };
    let address = server.database();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..3 {
        let (address, is_over) = (address.clone(), is_over.clone());
        let store = open(&address).await;
        writers.push(tokio::spawn(async move {
            let tape = format!("aaaa__{writer}");
            let (mut written, mut failures) = (Vec::new(), 0);
            while !is_over.load(Ordering::Relaxed) {
                let text = written.len().to_string();
                let mut batches = vec![batch(&tape, vec![message("user", &text)])];
                // Now and then by a transaction of several statements.
                if written.len() % 7 == 3 {
                    batches.push(reset(&format!("{tape}__sidecar__s"), None, vec![message("user", &text)]));
                }
                let commit = keyed(&text, batches);
                // Until it is acknowledged.
                while let Err(error) = store.commit(commit.clone()).await {
                    failures += 1;
                    assert!(matches!(error, Error::Io { .. }) && error.to_string().lines().count() == 1, "{error}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                written.push(text);
            }
            (tape, written, failures)
        }));
    }
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        block_in_place(|| server.restart());
    }
    is_over.store(true, Ordering::Relaxed);
    let mut all_failures = 0;
    for writer in writers {
        let (tape, written, failures) = writer.await.unwrap();
        assert_eq!(contents(&open(&address).await.read(&tape, 0, usize::MAX).await.unwrap()), written, "{tape}");
        all_failures += failures;
    }
    assert!(all_failures > 0, "no crash was met");
}

#[tokio::test]
async fn operations_on_an_absent_tape_leave_no_rows() {
    let Some((store, address)) = store().await else { return };
    store.append("aaaa__kept", vec![message("user", "x")], None).await.unwrap();
    let chosen = Erasure::new(&store.read("aaaa__kept", 0, 9).await.unwrap());
    assert_eq!(store.erase(NAME, chosen).await.unwrap(), 0);
    assert_eq!(store.reset(NAME, true).await.unwrap(), None);
    assert_eq!(store.archive_name(NAME).await.unwrap(), None);
    assert_eq!(Postgres::shared().unwrap().sql(&address, "SELECT string_agg(name, ' ') FROM family"), "aaaa__kept");
}
