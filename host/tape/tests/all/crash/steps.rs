//! A process that ends between any two steps of the protocol.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Mutex;

use bub_tape::Durability;
use bub_test_support::tier::{in_full, is_full};

use super::driver::{Ended, Start};
use super::look::{copy, is_settled, look};
use super::world::{Writing, possible};

/// Steps between which a process may end.
pub(super) const POINTS: [&str; 16] = [
    "begin.header",
    "begin.end",
    "record.written",
    "tool.written",
    "commit.locked",
    "commit.moved",
    "commit.reset",
    "commit.begun",
    "commit.written",
    "commit.end",
    "end.stored",
    "end.emptied",
    "begin.room",
    "recover.read",
    "recover.stored",
    "recover.emptied",
];

/// Steps that write, in the middle of which it may end too.
pub(super) const WRITES: [&str; 4] = ["record", "commit.pending", "commit.block", "commit.merged"];

/// Steps of mending what another process left half written.
const RECOVERY: [&str; 3] = ["recover.cut", "recover.record", "recover.end"];

/// How much of a write is done, in bytes: nothing, part of it, all but the last, and all.
const PARTS: [&str; 5] = ["0", "1", "60", "-1", "99999999"];

/// Turns with all that turns do, and writes outside of them.
pub(super) const SCRIPT: &str = "\
beside before
begin
prompt one
say user one
call a b
tool a
tool b
result done done
note first
fork
say assistant kept
note second
merge
fork
say assistant dropped
drop
handoff phase
say assistant end more
merge
close
note between
begin
prompt two
say user two
call c
reset archive
say assistant after
note third
merge
close
reset archive
say user outside
begin
prompt three
tool d
beside meanwhile
reset discard
call e
merge
close
begin
prompt four
say user four
close
reset discard
begin
say user five
merge
close";

/// The script of the next process: a turn like any other.
pub(super) const NEXT: &str = "begin\nsay user next\nmerge\nclose";

fn cuts(step: &str, parts: &[&str]) -> Vec<String> {
    let writes = WRITES.contains(&step);
    if writes { parts.iter().map(|part| format!("{step}@{part}")).collect() } else { vec![step.to_owned()] }
}

/// The possible content when `ended` has ended anywhere in the script, and the next turn has run.
pub(super) fn expected(before: &[Writing], script: &str, ended: &Ended) -> Vec<Writing> {
    let begun = script.lines().nth(ended.done.len());
    before.iter().flat_map(|before| possible(before, &ended.done, begun)).collect()
}

#[track_caller]
pub(super) fn holds(dir: &Path, what: &str, mut expected: Vec<Writing>) {
    for writing in &mut expected {
        NEXT.lines().for_each(|operation| writing.apply(operation));
    }
    let found = look(dir);
    let one = expected.iter().map(|writing| format!("or {}", writing.world)).collect::<String>();
    assert!(expected.iter().any(|writing| writing.world == found), "{what}: found\n   {found}where may be\n{one}");
    is_settled(dir);
}

/// Does `work` with each of the items, two at a time.
pub(super) fn in_two_threads<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
    let queue = Mutex::new(VecDeque::from(items));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(item) = { queue.lock().unwrap().pop_front() } {
                    work(item);
                }
            });
        }
    });
}

/// Ends a process there, the first time, the second and so on, and shows `each` what it left.
fn end_at(
    cut: &str,
    script: &str,
    durability: Durability,
    prepare: &dyn Fn(&Path),
    each: &mut dyn FnMut(&Path, &str, &Ended),
) -> u32 {
    for time in 1.. {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path());
        let failpoint = format!("{cut}#{time}");
        let ended = Start { durability, ..Start::new(dir.path(), script) }.cut(&failpoint).finish();
        if !ended.is_cut() {
            assert_eq!(ended.failed, None);
            return time - 1;
        }
        each(dir.path(), &failpoint, &ended);
    }
    0
}

#[track_caller]
fn loses_and_doubles_nothing(durability: Durability, script: &str, parts: &[&str]) {
    let steps = POINTS.iter().chain(&WRITES);
    in_two_threads(steps.flat_map(|step| cuts(step, parts)).collect(), |cut| {
        let times = end_at(&cut, script, durability, &|_| (), &mut |dir, failpoint, ended| {
            let next = Start { durability, ..Start::new(dir, NEXT) }.finish();
            assert_eq!((next.failed.as_ref(), next.done.len()), (None, 4), "{failpoint}: {}", next.stderr);
            holds(dir, failpoint, expected(&[Writing::default()], script, ended));
        });
        assert!(times > 0, "no process came by the step `{cut}`");
    });
}

#[test]
fn a_process_that_ends_at_any_step_loses_and_doubles_nothing() {
    loses_and_doubles_nothing(Durability::Os, SCRIPT, in_full(&PARTS, &PARTS[2..3]));
}

#[test]
fn nor_does_one_that_waits_for_the_disk() {
    loses_and_doubles_nothing(Durability::Fsync, SHORT, &["60"]);
}

/// A script whose end another process must repair: a turn with all that may be half done at its merge, and writes
/// outside of turns. Short, because each step of the recovery meets each step of the script.
const SHORT: &str = "\
beside before
note beforehand
begin
prompt one
say user one
call a
reset archive
note first
say assistant end
tool b
merge
close
say user outside
begin
prompt two
close
reset archive";

#[test]
fn a_recovery_that_ends_at_any_step_can_be_repeated() {
    let halves = WRITES.iter().map(|step| format!("{step}@60"));
    let first: Vec<String> = POINTS.iter().map(|step| (*step).to_owned()).chain(halves).collect();
    let then = first.iter().filter(|step| *step != "tool.written").cloned();
    let then: Vec<String> = then.chain(RECOVERY.iter().map(|step| format!("{step}@60"))).collect();
    let met = Mutex::new(BTreeSet::new());
    in_two_threads(first, |cut| {
        end_at(&cut, SHORT, Durability::Os, &|_| (), &mut |left, first, ended| {
            // One record is as good as another for who reads them.
            if first.starts_with("record") && !first.ends_with("#4") {
                return;
            }
            for (number, again) in then.iter().enumerate() {
                // A sample pairs each end with an eighth of the ends of its recovery, and with those that are yet to be
                // met.
                let of_sample = (number + ended.done.len()).is_multiple_of(8);
                if !is_full() && !of_sample && met.lock().unwrap().contains(again) {
                    continue;
                }
                let repair = |dir: &Path| copy(left, dir);
                let times = end_at(again, NEXT, Durability::Os, &repair, &mut |dir, second, repairing| {
                    let next = Start::new(dir, NEXT).finish();
                    assert_eq!((&next.failed, next.done.len()), (&None, 4), "{first}, {second}: {}", next.stderr);
                    let left = expected(&[Writing::default()], SHORT, ended);
                    holds(dir, &format!("{first}, {second}"), expected(&left, NEXT, repairing));
                });
                if times > 0 {
                    met.lock().unwrap().insert(again.clone());
                }
            }
        });
    });
    for step in then {
        assert!(met.lock().unwrap().contains(&step), "no recovery came by the step `{step}`");
    }
}
