//! Leases that are lost in mid-turn.

use std::time::Duration;

use bub_store_tests::{NAME, contents, message};
use bub_tape::{Error, Tape, Tapes};
use bub_test_support::postgres::Postgres;

use super::{PATIENT, call, first, worker};

/// Lets another worker take the lease, as if the first had been stopped for longer than it lasts.
async fn steal<T: Send + 'static>(address: &str, take: impl Future<Output = T> + Send + 'static) -> T {
    let stealing = tokio::spawn(take);
    while !stealing.is_finished() {
        Postgres::shared().unwrap().sql(address, "UPDATE lease SET until = now() - interval '1 second'");
    }
    stealing.await.unwrap()
}

async fn begin(tapes: Tapes) -> Tape {
    tapes.begin(NAME).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_looked_for_after_its_lease_expired_can_not_end_any_more() {
    let Some((tapes, address)) = first().await else { return };
    let finder = worker(&address, PATIENT).await;
    let (late, _) = tapes.begin(NAME).await.unwrap();
    late.append(vec![message("user", "late")]).await.unwrap();
    let interrupted = steal(&address, async move { finder.interrupted(NAME).await.unwrap() }).await;
    // It is not on the tape, so it will be repeated: from here on it must not appear there.
    assert_eq!(tapes.open(NAME).unwrap().last_id().await.unwrap(), 0);
    assert!(matches!(late.merge().await, Err(Error::LeaseLost { .. })));
    interrupted.set_aside().await.unwrap();
    let all = tapes.open(NAME).unwrap().read(0, 9).await.unwrap();
    assert!(all.iter().all(|entry| entry.meta.contains("false")), "{all:?}");
    late.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_whose_lease_was_taken_writes_nothing_more() {
    let Some((tapes, address)) = first().await else { return };
    let thief = worker(&address, PATIENT).await;
    let (late, _) = tapes.begin(NAME).await.unwrap();
    late.append(vec![message("user", "late")]).await.unwrap();
    late.keep_tool(&call("one")).await.unwrap();
    late.append(vec![message("user", "not recorded")]).await.unwrap();
    let turn = steal(&address, begin(thief.clone())).await;
    let is_lost = |error: Error| assert!(matches!(error, Error::LeaseLost { .. }), "{error}");
    is_lost(late.merge().await.unwrap_err());
    is_lost(late.keep_tool(&call("two")).await.unwrap_err());
    is_lost(late.keep_prompt("late").unwrap_err());
    is_lost(late.append_direct(0, vec![message("user", "direct")]).await.unwrap_err());
    is_lost(late.stored().append(vec![message("user", "behind")]).await.unwrap_err());
    is_lost(late.check_lease().unwrap_err());
    tokio::time::timeout(PATIENT, late.lease_lost()).await.expect("it hears of it");
    late.close();
    tapes.journals().released().await;
    let all = turn.read(0, 99).await.unwrap();
    assert_eq!(contents(&all[..1]), ["late"]);
    assert!(all.iter().any(|entry| entry.payload.contains("may or may not have run")), "{all:?}");
    // The thief's lease was not released by the other.
    turn.append(vec![message("user", "mine")]).await.unwrap();
    turn.merge().await.unwrap();
    turn.close();
    let last = thief.open(NAME).unwrap().tail(None, 1).await.unwrap();
    assert_eq!(contents(&last), ["mine"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_without_its_database_ends_its_turn_when_the_lease_expires() {
    let Some((tapes, address)) = first().await else { return };
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    let name = address.split(['/', '?']).nth(3).unwrap();
    let server = Postgres::shared().unwrap();
    server.sql("postgres", &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
    server.sql("postgres", &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"));
    tokio::time::timeout(PATIENT, turn.lease_lost()).await.expect("it expires");
    assert!(matches!(turn.keep_tool(&call("one")).await, Err(Error::LeaseLost { .. })));
    assert!(turn.check_lease().is_err());
    server.sql("postgres", &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    turn.close();
    tapes.journals().released().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ended_turn_is_not_told_of_a_loss_and_still_writes_behind_its_answer() {
    let Some((tapes, _)) = first().await else { return };
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    turn.append(vec![message("user", "one")]).await.unwrap();
    turn.merge().await.unwrap();
    turn.close();
    tapes.journals().released().await;
    assert!(tokio::time::timeout(super::LEASE + Duration::from_millis(500), turn.lease_lost()).await.is_err());
    turn.check_lease().unwrap();
    turn.stored().append(vec![message("user", "behind")]).await.unwrap();
    assert!(turn.append(vec![message("user", "in it")]).await.is_err());
    assert_eq!(contents(&turn.stored().read(0, 9).await.unwrap()), ["one", "behind"]);
}
