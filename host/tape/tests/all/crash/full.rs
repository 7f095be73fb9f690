//! A disk that is full: an operation is refused whole, and a turn that cannot be put on the tape waits for the next one.

use std::fs;
use std::path::Path;
use std::process::Command;

use bub_tape::Durability;

use super::driver::{Ended, Start};
use super::look::{is_settled, look};
use super::steps::{NEXT, SCRIPT, holds, in_two_threads};
use super::world::Writing;
use crate::NAME;

/// Steps that need room, with how far they come.
const REFUSALS: [&str; 13] = [
    "begin.room@0!",
    "record@0!",
    "record@1!",
    "record@60!",
    "commit.pending@0!",
    "commit.pending@1!",
    "commit.pending@60!",
    "commit.block@0!",
    "commit.block@1!",
    "commit.block@60!",
    "commit.merged@0!",
    "commit.merged@1!",
    "commit.merged@60!",
];

/// The state that `ended` leaves when an operation was refused: as if it was not begun.
fn left(ended: &Ended) -> Writing {
    let mut left = Writing::default();
    ended.done.iter().for_each(|operation| left.apply(operation));
    left
}

#[track_caller]
fn is_one_line(ended: &Ended) {
    let (operation, why) = ended.failed.as_ref().expect("an operation was refused");
    let says = ["no storage space", "no space left on device"].iter().any(|full| why.ends_with(full));
    assert!(says && why.contains(NAME) && !why.contains("\\n"), "`{operation}` said {why}");
}

#[track_caller]
fn next_turn_runs(dir: &Path, what: &str) {
    let next = Start::new(dir, NEXT).finish();
    assert!(next.failed.is_none() && next.done.len() == NEXT.lines().count(), "{what}: {next:?}");
}

#[test]
fn an_operation_that_fails_at_any_step_leaves_everything_unchanged() {
    in_two_threads(REFUSALS.to_vec(), |refusal| {
        for time in 1.. {
            let dir = tempfile::tempdir().unwrap();
            let failpoint = format!("{refusal}#{time}");
            let ended = Start::new(dir.path(), SCRIPT).cut(&failpoint).finish();
            assert!(ended.status.success(), "{failpoint}: {ended:?}");
            let Some((refused, _)) = &ended.failed else {
                assert!(time > 1, "nothing came by the step `{refusal}`");
                return;
            };
            is_one_line(&ended);
            let expected = left(&ended);
            // The one write of a turn, or of its recovery, may be done and refused: who repeats it learns it.
            let is_unsure = !refused.starts_with("beside") && refusal.starts_with("commit.merged");
            if !is_unsure {
                assert_eq!(look(dir.path()), expected.world, "{failpoint}: `{refused}` left something");
            }
            next_turn_runs(dir.path(), &failpoint);
            let mut expected = vec![expected];
            if is_unsure && refused == "merge" {
                let mut done = expected[0].clone();
                done.apply(refused);
                expected.push(done);
            }
            holds(dir.path(), &failpoint, expected);
        }
    });
}

#[test]
fn a_write_that_can_neither_be_done_nor_undone_is_undone_by_the_next() {
    for durability in [Durability::Os, Durability::Fsync] {
        for failpoint in ["commit.block@9!,undo.slot@0!", "commit.block@9!,undo.slot@9!", "commit.block@9!,undo.slot"] {
            let dir = tempfile::tempdir().unwrap();
            let ended = Start { durability, ..Start::new(dir.path(), "beside one") }.cut(failpoint).finish();
            assert_eq!(ended.done.len(), 0);
            next_turn_runs(dir.path(), failpoint);
            assert_eq!(look(dir.path()).tape, ["user:next"]);
        }
    }
}

#[test]
fn a_recovery_that_is_refused_leaves_everything_for_the_next() {
    let script = "beside one\nbegin\nsay user two\nnote three\nclose";
    let refusals = ["commit.pending@9!", "commit.block@9!", "commit.block@9!#2", "commit.merged@9!", "record@0!"];
    for refusal in refusals {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Start::new(dir.path(), script).finish().failed, None);
        let refused = Start::new(dir.path(), NEXT).cut(refusal).finish();
        is_one_line(&refused);
        assert_eq!(refused.failed.unwrap().0, "begin", "the model must not be paid");
        next_turn_runs(dir.path(), refusal);
        let found = look(dir.path());
        assert_eq!(found.tape, ["user:one", "user:two", "error", "event:turn.recovered", "user:next"], "{refusal}");
        assert_eq!(found.notes, ["user:three"], "{refusal}");
        is_settled(dir.path());
    }
}

#[test]
fn a_partial_write_that_cannot_be_repaired_is_repaired_later() {
    for refusal in ["recover.record@0!", "recover.record@20!"] {
        let dir = tempfile::tempdir().unwrap();
        assert!(Start::new(dir.path(), "beside one\nbeside two").cut("commit.block@9#2").finish().is_cut());
        let refused = Start::new(dir.path(), "beside three").cut(refusal).finish();
        is_one_line(&refused);
        next_turn_runs(dir.path(), refusal);
        assert_eq!(look(dir.path()).tape, ["user:one", "user:next"], "{refusal}");
    }
}

/// A turn that was told that its end failed does not know whether it is on the tape, so nothing is added to it: the next
/// turn may learn that it is there, as it was.
#[test]
fn after_a_failed_merge_the_fork_rejects_writes_but_can_be_merged_again() {
    let dir = tempfile::tempdir().unwrap();
    let script = "begin\nsay user one\nmerge";
    for (failpoint, more, expected) in [
        ("commit.merged@0!", "say user late", vec!["user:one"]),
        ("commit.merged@0!", "merge", vec!["user:one"]),
        ("commit.block@9!", "merge", vec!["user:one"]),
        ("commit.block@9!", "say user late", vec!["user:one", "error", "event:turn.recovered"]),
    ] {
        let _ = fs::remove_dir_all(dir.path());
        let script = format!("{script}?\n{more}");
        let ended = Start::new(dir.path(), &script).cut(failpoint).finish();
        assert_eq!(ended.failed.is_some(), more != "merge", "{failpoint}, {more}: {ended:?}");
        next_turn_runs(dir.path(), failpoint);
        let found = look(dir.path()).tape;
        assert_eq!(found[..found.len() - 1], expected[..], "{failpoint}, {more}");
    }
}

/// A file system of a megabyte, where a user may make one.
#[test]
fn on_a_small_file_system_acknowledged_entries_stay() {
    let dir = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size=1m tmpfs {}", dir.path().display());
    let may = Command::new("unshare").args(["-Urm", "sh", "-c", &mount]).output();
    if !may.as_ref().is_ok_and(|may| may.status.success()) {
        println!("left out: no file system can be mounted here: {may:?}");
        return;
    }
    // The mount is visible from inside only, and ends with the process.
    let (saved, tapes) = (tempfile::tempdir().unwrap(), dir.path().display().to_string());
    let long = "x".repeat(3000);
    let turn = format!("begin\nsay user {long}%\nsay assistant {long}\nmerge\nclose");
    let inside = format!("{mount} && \"$@\"; cp -r {tapes}/. {}", saved.path().display());
    let full =
        Start { rounds: 1000, ..Start::new(dir.path(), &turn) }.under(&["unshare", "-Urm", "sh", "-c", &inside, "sh"]);
    assert!(full.failed.is_some(), "a thousand turns of 6 KB went into a megabyte");
    is_one_line(&full);
    next_turn_runs(saved.path(), "with room");
    let mut expected = Writing::default();
    full.done.iter().for_each(|operation| expected.apply(operation));
    holds(saved.path(), "with room", vec![expected]);
}
