//! One turn at a time.

use std::time::Duration;

use bub_store_tests::{NAME, contents, message};
use bub_tape::{Erasure, Error};
use bub_test_support::postgres::Postgres;

use super::{PATIENT, crash, first, say, worker};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_turns_of_many_workers_on_a_tape_follow_one_another() {
    let Some((tapes, address)) = first().await else { return };
    let mut turns = Vec::new();
    for number in 0..4 {
        // Two of each process.
        let tapes = if number < 2 { tapes.clone() } else { worker(&address, PATIENT).await };
        for half in 0..2 {
            let tapes = tapes.clone();
            turns.push(tokio::spawn(async move {
                let (turn, _) = tapes.begin(NAME).await.unwrap();
                let before = turn.last_id().await.unwrap();
                turn.append(vec![message("user", &format!("{number}.{half}"))]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
                turn.append(vec![message("assistant", &format!("{number}.{half}"))]).await.unwrap();
                turn.merge().await.unwrap();
                assert_eq!(turn.stored().last_id().await.unwrap(), before + 2, "no other writer came in between");
                turn.close();
            }));
        }
    }
    for turn in turns {
        turn.await.unwrap();
    }
    let all = contents(&tapes.open(NAME).unwrap().read(0, 99).await.unwrap());
    assert_eq!(all.len(), 16);
    assert!(all.chunks(2).all(|turn| turn[0] == turn[1]), "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_waits_too_long_says_which_process_runs_the_other() {
    let Some((tapes, address)) = first().await else { return };
    let hasty = worker(&address, Duration::from_millis(300)).await;
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    let holder = hasty.journals().holder(NAME).await.expect("it is known");
    assert_eq!((holder.pid, holder.host), (std::process::id(), None));
    let Err(error @ Error::Busy { .. }) = hasty.begin(NAME).await.map(drop) else { panic!("two turns") };
    let process =
        format!("another turn of this session still runs in process {}, after 0.3 seconds", std::process::id());
    assert!(error.to_string().starts_with(&process), "{error}");
    // In the queue of one process, too.
    let (other, _) = hasty.begin("aaaa__cccc").await.unwrap();
    assert!(matches!(hasty.begin("aaaa__cccc").await, Err(Error::Busy { .. })));
    other.close();
    let server = Postgres::shared().unwrap();
    server.sql(&address, r"UPDATE lease SET holder = '17 b\007x'");
    let shown = hasty.journals().holder(NAME).await.unwrap().to_string();
    assert!(shown.starts_with("process 17 on `b") && !shown.contains('\u{7}'), "{shown:?}");
    server.sql(&address, r"UPDATE lease SET holder = '\xff00'");
    assert_eq!(hasty.journals().holder(NAME).await, None, "another program wrote it");
    turn.close();
    tapes.journals().released().await;
    say(&hasty, "hello").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_given_up_leaves_no_lease() {
    let Some((tapes, address)) = first().await else { return };
    let other = worker(&address, PATIENT).await;
    for pause in 0..20 {
        let waiting = tapes.begin(NAME);
        let _given_up = tokio::time::timeout(Duration::from_millis(pause), waiting).await;
    }
    // At once, and not when a lease has expired.
    let free = "SELECT count(*) FROM lease WHERE until IS NOT NULL";
    let server = Postgres::shared().unwrap();
    let begun = tokio::time::Instant::now();
    while server.sql(&address, free) != "0" {
        assert!(begun.elapsed() < PATIENT);
    }
    say(&other, "hello").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_and_an_erasure_wait_for_the_turn_and_release_the_lease() {
    let Some((tapes, address)) = first().await else { return };
    let other = worker(&address, PATIENT).await;
    say(&tapes, "one").await;
    say(&tapes, "two").await;
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    let stored = other.open(NAME).unwrap();
    let chosen = Erasure::new(&stored.read(0, 1).await.unwrap());
    let erasing = tokio::spawn(async move { stored.erase(None, chosen).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!erasing.is_finished());
    turn.append(vec![message("user", "three")]).await.unwrap();
    turn.merge().await.unwrap();
    turn.close();
    assert_eq!(erasing.await.unwrap().unwrap(), 1);
    let kept = contents(&other.open(NAME).unwrap().read(0, 9).await.unwrap());
    assert_eq!(kept, ["two", "three"]);
    other.open(NAME).unwrap().reset(true).await.unwrap().expect("an archive");
    let held = Postgres::shared().unwrap().sql(&address, "SELECT count(*) FROM lease WHERE until IS NOT NULL");
    assert_eq!(held, "0");
    say(&tapes, "four").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_whose_process_is_gone_is_waited_for_a_little_longer_than_allowed() {
    let Some((_, address)) = first().await else { return };
    crash(&address, |_, _| async {}).await;
    // As long as the lease itself.
    let next = worker(&address, super::LEASE).await;
    say(&next, "hello").await;
}
