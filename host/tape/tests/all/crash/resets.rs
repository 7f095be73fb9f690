//! A reset within a turn: where what was written in front of it goes, and that what is written behind it stays.

use std::time::Duration;

use bub_tape::Durability;

use super::driver::Driver;
use super::look::look;
use super::world::World;

/// The content after the operations: the tape, the sidecar, and the entries put away.
async fn after(script: &[&str]) -> [String; 3] {
    let dir = tempfile::tempdir().unwrap();
    let mut driver = Driver::new(dir.path(), Durability::Os, Duration::from_secs(5));
    for operation in script {
        driver.act(operation).await.unwrap();
    }
    let is_discarded = script.contains(&"reset discard");
    assert_eq!(dir.path().join("trash").exists(), is_discarded, "an archive is not in the trash");
    let World { tape, notes, away } = look(dir.path());
    [tape, notes, away].map(|tokens| tokens.join(" ").replace("user:", ""))
}

#[tokio::test]
async fn the_entries_of_the_first_turn_of_a_session_are_archived() {
    let script = ["begin", "say user a", "note b", "reset archive", "say user c", "note d", "merge"];
    assert_eq!(after(&script).await, ["c", "d", "a b"]);
}

#[tokio::test]
async fn concurrent_writes_to_a_new_tape_are_archived() {
    let script = ["begin", "reset archive", "beside a", "say user b", "merge"];
    assert_eq!(after(&script).await, ["b", "", "a"]);
}

#[tokio::test]
async fn two_archives_of_one_turn_are_one() {
    let script =
        ["beside a", "begin", "say user b", "reset archive", "say user c", "reset archive", "say user d", "merge"];
    assert_eq!(after(&script).await, ["d", "", "a b c"]);
}

#[tokio::test]
async fn a_fork_that_is_merged_into_a_turn_keeps_its_entries_on_both_sides_of_its_reset() {
    let fork = ["say user c", "note d", "reset archive", "note e", "say user f", "merge"];
    let script = [&["begin", "say user a", "note b", "fork"][..], &fork, &["note g", "merge"]].concat();
    assert_eq!(after(&script).await, ["f", "e g", "a b c d"]);
}

#[tokio::test]
async fn the_same_is_so_when_the_turn_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let mut driver = Driver::new(dir.path(), Durability::Os, Duration::from_secs(5));
    let fork = ["fork", "say user c", "note d", "reset archive", "note e", "say user f", "merge", "note g"];
    for operation in ["begin", "say user a", "note b"].iter().chain(&fork) {
        driver.act(operation).await.unwrap();
    }
    drop(driver);
    let mut next = Driver::new(dir.path(), Durability::Os, Duration::from_secs(5));
    next.act("begin").await.unwrap();
    let found = look(dir.path());
    assert_eq!(found.tape, ["user:f", "error", "event:turn.recovered"]);
    assert_eq!(found.notes, ["user:e", "user:g"]);
    assert_eq!(found.away, ["user:a", "user:b", "user:c", "user:d"]);
}

#[tokio::test]
async fn a_discarded_tape_includes_the_earlier_entries_of_the_turn() {
    let script = ["beside a", "begin", "say user b", "fork", "reset discard", "note c", "merge", "say user d", "merge"];
    assert_eq!(after(&script).await, ["d", "c", "a"]);
}
