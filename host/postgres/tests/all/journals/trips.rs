//! The cost of a turn in round trips.

use bub_store_tests::{NAME, message};
use bub_tape::{Lookup, event};
use bub_test_support::postgres::Postgres;
use bub_test_support::round_trips::RoundTrips;

use super::{PATIENT, say, worker};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_claims_reads_and_commits_in_two_round_trips() {
    let Some(server) = Postgres::shared() else { return };
    let counted = RoundTrips::new(server);
    let address = server.database();
    let name = address.split(['/', '?']).nth(3).unwrap();
    let tapes = worker(&counted.address(name), PATIENT).await;
    say(&tapes, "one").await;
    tapes.journals().released().await;
    counted.take();
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    turn.tail(None, 9).await.unwrap();
    turn.last_anchor(None, None).await.unwrap();
    turn.newest(&Lookup::event("unknown")).await.unwrap();
    turn.section("memory").await.unwrap();
    turn.forgotten().await.unwrap();
    turn.session_mark().await.unwrap();
    turn.append(vec![message("user", "two"), event("loop", "{}").unwrap()]).await.unwrap();
    turn.since_anchor().await.unwrap();
    turn.merge().await.unwrap();
    let asked = counted.take();
    assert!(asked.len() == 2 && asked[0].contains("claim_turn_1") && asked[1].contains("append_1"), "{asked:#?}");
    turn.close();
    tapes.journals().released().await;
    let asked = counted.take();
    assert!(asked.len() == 1 && asked[0].contains("end_turn_1"), "{asked:#?}");
}
