//! A process that ends between any two steps of the protocol.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;

use super::driver::{Ended, Start};
use super::look::{copy, is_settled, look};
use super::world::{Writing, possible};

/// Steps between which a process may end.
const POINTS: [&str; 16] = [
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
const WRITES: [&str; 4] = ["record", "commit.pending", "commit.block", "commit.merged"];

/// Steps of mending what another process left half written.
const MENDS: [&str; 3] = ["mend.cut", "mend.slot", "mend.end"];

/// How much of a write is done, in bytes: none, part of it, and all.
const PARTS: [&str; 5] = ["0", "1", "30", "150", "99999999"];

/// Turns with all that turns do, and writes outside of them.
const SCRIPT: &str = "\
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

/// What the next process does: a turn like any other.
const NEXT: &str = "begin\nsay user next\nmerge\nclose";

fn cuts(step: &str) -> Vec<String> {
    let writes = WRITES.contains(&step) || step.ends_with(".slot");
    if writes { PARTS.iter().map(|part| format!("{step}@{part}")).collect() } else { vec![step.to_owned()] }
}

/// What may stand there when `ended` has ended anywhere in the script, and the next turn has run.
fn expected(before: &[Writing], script: &str, ended: &Ended) -> Vec<Writing> {
    let begun = script.lines().nth(ended.done.len());
    before.iter().flat_map(|before| possible(before, &ended.done, begun)).collect()
}

#[track_caller]
fn holds(dir: &Path, what: &str, mut expected: Vec<Writing>) {
    for writing in &mut expected {
        NEXT.lines().for_each(|operation| writing.apply(operation));
    }
    let found = look(dir);
    let one = expected.iter().map(|writing| format!("or {}", writing.world)).collect::<String>();
    assert!(expected.iter().any(|writing| writing.world == found), "{what}: found\n   {found}where may be\n{one}");
    is_settled(dir);
}

/// Does `work` with each of the items, two at a time.
fn in_two_threads<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
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
fn end_at(cut: &str, script: &str, prepare: &dyn Fn(&Path), each: &mut dyn FnMut(&Path, &str, &Ended)) -> u32 {
    for time in 1.. {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path());
        let failpoint = format!("{cut}#{time}");
        let ended = Start::new(dir.path(), script).cut(&failpoint).finish();
        if !ended.is_cut() {
            assert_eq!(ended.failed, None);
            return time - 1;
        }
        each(dir.path(), &failpoint, &ended);
    }
    0
}

#[test]
fn a_process_that_ends_at_any_step_loses_and_doubles_nothing() {
    let steps = POINTS.iter().chain(&WRITES);
    in_two_threads(steps.flat_map(|step| cuts(step)).collect(), |cut| {
        let times = end_at(&cut, SCRIPT, &|_| (), &mut |dir, failpoint, ended| {
            let next = Start::new(dir, NEXT).finish();
            assert_eq!((next.failed.as_ref(), next.done.len()), (None, 4), "{failpoint}: {}", next.stderr);
            holds(dir, failpoint, expected(&[Writing::default()], SCRIPT, ended));
        });
        assert!(times > 0, "no process came by the step `{cut}`");
    });
}

#[test]
fn a_recovery_that_ends_at_any_step_can_be_repeated() {
    let _ = (copy, MENDS);
}
