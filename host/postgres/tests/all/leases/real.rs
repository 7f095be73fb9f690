//! Leases in a real database.

use std::time::Duration;

use bub_postgres::{Database, Leases, PostgresStore, Settings, Terms};
use bub_store_tests::{NAME, batch, contents, message, reset};
use bub_tape::{Commit, Erasure, Error, Outcome, Store};
use bub_test_support::postgres::Postgres;

const SHORT: Terms = Terms { lease: Duration::from_millis(600), renewal: Duration::from_millis(200) };

/// Never renewed.
const SILENT: Terms = Terms { lease: Duration::from_millis(300), renewal: Duration::from_secs(600) };

async fn database() -> Option<(Database, String)> {
    let address = Postgres::shared()?.database();
    Some((Database::connect(Settings::parse(&address).unwrap()).await.unwrap(), address))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_workers_has_a_lease_and_the_next_gets_it_after_the_release() {
    let Some((database, _)) = database().await else { return };
    let workers: Vec<_> = (0..6)
        .map(|_| {
            let leases = Leases::new(database.clone(), Terms::default());
            tokio::spawn(async move { leases.claim("session").await.unwrap() })
        })
        .collect();
    let mut held = Vec::new();
    for worker in workers {
        held.extend(worker.await.unwrap());
    }
    assert_eq!(held.len(), 1);
    let other = Leases::new(database.clone(), Terms::default());
    assert!(other.claim("session").await.unwrap().is_none());
    assert!(other.claim("another session").await.unwrap().is_some());
    assert!(held[0].is_valid());
    assert!(held.remove(0).release().await.unwrap());
    assert!(other.claim("session").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_outlives_its_terms_as_long_as_it_is_renewed() {
    let Some((database, _)) = database().await else { return };
    let (one, other) = (Leases::new(database.clone(), SHORT), Leases::new(database, SHORT));
    let lease = one.claim("session").await.unwrap().unwrap();
    let end = tokio::time::Instant::now() + 3 * SHORT.lease;
    while tokio::time::Instant::now() < end {
        assert!(other.claim("session").await.unwrap().is_none() || !lease.is_valid());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Without renewals it ends, and another worker gets it.
    drop(lease);
    while other.claim("session").await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_theft_nothing_is_written_and_the_holder_hears_of_it() {
    let Some((database, address)) = database().await else { return };
    let store = PostgresStore::new(database.clone());
    let zombie = Leases::new(database.clone(), SHORT).claim("session").await.unwrap().unwrap();
    let late = store.fenced(zombie.fence().clone());
    late.append(NAME, vec![message("user", "one"), message("user", "gone")], None).await.unwrap();
    // As if it had been stopped for longer than the lease.
    Postgres::shared().unwrap().sql(&address, "UPDATE lease SET until = now() - interval '1 second'");
    let thief = loop {
        if let Some(thief) = Leases::new(database.clone(), Terms::default()).claim("session").await.unwrap() {
            break thief;
        }
        // The zombie renewed it in between.
        Postgres::shared().unwrap().sql(&address, "UPDATE lease SET until = now() - interval '1 second'");
    };
    let fenced = store.fenced(thief.fence().clone());
    fenced.append(NAME, vec![message("user", "two")], None).await.unwrap();
    let all = store.read(NAME, 0, 9).await.unwrap();
    let chosen = Erasure::new(&all[1..2]);
    let appended = late.append(NAME, vec![message("user", "late")], None).await.map(drop);
    let committed = late.commit(Commit::new(reset(NAME, None, Vec::new()))).await.map(drop);
    for refused in
        [appended, committed, late.reset(NAME, true).await.map(drop), late.erase(NAME, chosen).await.map(drop)]
    {
        let Err(lost @ Error::LeaseLost { .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(lost.to_string(), "another process has taken over `session`, so nothing more is written here");
    }
    assert_eq!(contents(&store.read(NAME, 0, 9).await.unwrap()), ["one", "gone", "two"]);
    zombie.lost().await;
    assert!(!zombie.is_valid());
    assert!(!zombie.release().await.unwrap(), "it is the thief's now");
    fenced.append(NAME, vec![message("user", "three")], None).await.unwrap();
    assert!(thief.is_valid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_waits_for_a_write_that_has_begun() {
    let Some((database, address)) = database().await else { return };
    let store = PostgresStore::new(database.clone());
    let first = Leases::new(database.clone(), SILENT).claim("session").await.unwrap().unwrap();
    let writer = store.fenced(first.fence().clone());
    // The family's row is locked, so the write stands in its transaction with the lease's row locked.
    store.append(NAME, vec![message("user", "zero")], None).await.unwrap();
    let holder = hold(&address);
    let write = write_behind(writer, &address).await;
    tokio::time::sleep(SILENT.lease).await;
    assert!(!first.is_valid(), "its time is over");
    // The claim is answered after the write, so the next owner reads it completely.
    let next = Leases::new(database, SILENT).claim("session").await.unwrap();
    assert!(next.is_some());
    assert_eq!(contents(&store.read(NAME, 0, 9).await.unwrap()), ["zero", "one"]);
    write.await.unwrap().unwrap();
    holder.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_while_a_write_in_its_name_waits() {
    let Some((database, address)) = database().await else { return };
    let store = PostgresStore::new(database.clone());
    store.append(NAME, vec![message("user", "zero")], None).await.unwrap();
    let lease = Leases::new(database.clone(), SHORT).claim("session").await.unwrap().unwrap();
    let until = || Postgres::shared().unwrap().sql(&address, "SELECT until FROM lease");
    let holder = hold(&address);
    let write = write_behind(store.fenced(lease.fence().clone()), &address).await;
    let first = until();
    while until() == first {
        assert!(!write.is_finished(), "it was not renewed before the write was done");
    }
    assert!(lease.is_valid());
    write.await.unwrap().unwrap();
    holder.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_was_released_is_not_renewed_and_permits_no_write() {
    let Some((database, address)) = database().await else { return };
    let store = PostgresStore::new(database.clone());
    let server = Postgres::shared().unwrap();
    let lease = Leases::new(database.clone(), SHORT).claim("session").await.unwrap().unwrap();
    let fenced = store.fenced(lease.fence().clone());
    fenced.append(NAME, vec![message("user", "one")], None).await.unwrap();
    // As if the answer to the release had been lost.
    server.sql(&address, "UPDATE lease SET until = NULL");
    lease.lost().await;
    assert_eq!(server.sql(&address, "SELECT until IS NULL FROM lease"), "t");
    assert!(fenced.append(NAME, vec![message("user", "two")], None).await.is_err());
    assert!(fenced.reset(NAME, false).await.is_err());
    assert_eq!(contents(&store.read(NAME, 0, 9).await.unwrap()), ["one"]);
}

/// Locks the row of the tape's family for a while, in which a write to the tape stands in its transaction.
fn hold(address: &str) -> std::thread::JoinHandle<String> {
    let server = Postgres::shared().unwrap();
    let lock = format!("BEGIN; SELECT 1 FROM family WHERE name = '{NAME}' FOR UPDATE; SELECT pg_sleep(1.5)");
    let of = address.to_owned();
    let holder = std::thread::spawn(move || server.sql(&of, &lock));
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(1.5)' \
                    AND wait_event = 'PgSleep'";
    while server.sql(address, sleeping) != "1" {}
    holder
}

/// A write that waits for that lock.
async fn write_behind(writer: PostgresStore, address: &str) -> tokio::task::JoinHandle<bub_tape::Result<Outcome>> {
    let write =
        tokio::spawn(async move { writer.commit(Commit::new(batch(NAME, vec![message("user", "one")]))).await });
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while Postgres::shared().unwrap().sql(address, waiting) != "1" {}
    write
}
