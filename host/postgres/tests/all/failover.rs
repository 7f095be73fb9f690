//! A database that fails over to its standby.

use bub_postgres::{Database, Leases, PostgresJournals, PostgresStore, Settings, Terms, TurnSettings};
use bub_store_tests::{NAME, contents, message};
use bub_tape::{Batch, Commit, Draft, Error, Journals, Outcome, Store, Tapes};
use bub_test_support::postgres::{Postgres, Standby};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// A commit with a key, as turns make them: done once, however often it is tried.
fn commit(key: &str, drafts: Vec<Draft>) -> Commit {
    let batch = Batch { tape: NAME.to_owned(), drafts, ..Batch::default() };
    Commit { key: Some(key.to_owned()), ..Commit::new(batch) }
}

fn follow(primary: &Postgres, standby: &Standby, address: &str) {
    let written = primary.sql("postgres", "SELECT pg_current_wal_flush_lsn()");
    let has = format!("SELECT pg_last_wal_replay_lsn() >= '{written}'");
    while primary.sql(&standby.address(address), &has) != "t" {
        sleep(Duration::from_millis(20));
    }
}

/// A primary with its standby, a store that knows both, and the address of the primary.
async fn pair() -> Option<(Postgres, Standby, PostgresStore, String)> {
    let primary = Postgres::start(&[])?;
    let address = primary.database();
    let standby = Standby::start(&primary);
    let database = Database::connect(Settings::parse(&Standby::either(&address)).unwrap()).await.unwrap();
    Some((primary, standby, PostgresStore::new(database), address))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_the_standby_lacks_is_noticed_by_the_next_one_and_nothing_is_written_on_top_of_it() {
    let Some((mut primary, standby, store, address)) = pair().await else { return };
    let losses = store.database().losses();
    store.commit(commit("1", vec![message("user", "kept")])).await.unwrap();
    follow(&primary, &standby, &address);
    standby.cut_off(&primary);
    let stored = store.commit(commit("2", vec![message("user", "lost")])).await.unwrap();
    assert!(matches!(&stored, Outcome::Stored(ids) if *ids == [2]), "{stored:?}");
    primary.kill();
    standby.promote(&primary);
    // An entry that follows the lost one does not take its place.
    let mut next = commit("3", vec![message("user", "next")]);
    next.batches[0].expect_last = Some(2);
    let refused = store.commit(next).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { last: 1 }), "{refused}");
    assert_eq!(*losses.borrow(), 1);
    store.commit(commit("4", vec![message("user", "again")])).await.unwrap();
    assert_eq!(contents(&store.read(NAME, 0, 9).await.unwrap()), ["kept", "again"]);
    assert_eq!(*losses.borrow(), 1, "a loss is noticed once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_to_a_standby_that_has_all_writes_is_no_loss() {
    let Some((mut primary, standby, store, address)) = pair().await else { return };
    let losses = store.database().losses();
    store.commit(commit("1", vec![message("user", "kept")])).await.unwrap();
    follow(&primary, &standby, &address);
    primary.kill();
    standby.promote(&primary);
    store.commit(commit("2", vec![message("user", "next")])).await.unwrap();
    assert_eq!(contents(&store.read(NAME, 0, 9).await.unwrap()), ["kept", "next"]);
    assert_eq!(*losses.borrow(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_renewal_of_a_lease_notices_a_loss_while_nothing_else_is_written() {
    let Some((mut primary, standby, store, address)) = pair().await else { return };
    let mut losses = store.database().losses();
    let terms = Terms { renewal: Duration::from_millis(200), ..Terms::default() };
    let lease = Leases::new(store.database().clone(), terms).claim("worker:1").await.unwrap().unwrap();
    follow(&primary, &standby, &address);
    standby.cut_off(&primary);
    store.commit(commit("1", vec![message("user", "lost")])).await.unwrap();
    primary.kill();
    standby.promote(&primary);
    losses.wait_for(|losses| *losses == 1).await.unwrap();
    assert!(lease.is_valid(), "the lease is older than what was lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_finds_no_database_is_repeated_so_that_the_next_turn_need_not_wait_for_the_lease() {
    let Some(mut server) = Postgres::start(&[]) else { return };
    let database = Database::connect(Settings::parse(&server.database()).unwrap()).await.unwrap();
    let leases = Leases::new(database.clone(), Terms::default());
    let store = Arc::new(PostgresStore::new(database));
    // Shorter than the lease.
    let settings = TurnSettings { lock_wait: Duration::from_secs(10), lookups: Vec::new() };
    let journals = PostgresJournals::new(Arc::clone(&store), leases, settings);
    let tapes = Tapes::new(store, Arc::new(Journals::over(Arc::new(journals))));
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    server.stop();
    turn.append(vec![message("user", "in memory")]).await.unwrap();
    turn.close();
    drop(turn);
    // The first attempt has failed, and a program may end now.
    tapes.journals().released().await;
    server.start_again();
    let (turn, recovered) = tapes.begin(NAME).await.unwrap();
    assert!(recovered.is_some(), "what the turn had in memory is in its journal");
    assert_eq!(contents(&turn.read(0, 1).await.unwrap()), ["in memory"]);
}
