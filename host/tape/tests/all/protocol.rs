//! A model of how turns, appends and resets reach a tape, under random schedules: programs that share the tape and end
//! at any byte, writes that fail, and a machine that loses power.
//!
//! After a power loss `judge` asks of `Durability::Os` what it promises: whole lines, growing ids, and of each
//! file a prefix of its content; a turn's block may stand there twice.

mod commit;
mod disk;
mod format;
mod judge;
mod program;
mod schedule;
mod slot;
mod turn;

use program::Part;
use schedule::{Mode, run};

/// Parts whose loss shows in fewer than one schedule in a thousand are in the protocol but not in the controls below.
const SCHEDULES: u64 = 1500;

fn failure(mode: Mode, left_out: Option<Part>) -> Option<(u64, String)> {
    (0..SCHEDULES).find_map(|seed| Some((seed, run(seed, mode, left_out, false).0?)))
}

#[track_caller]
fn holds(mode: Mode) {
    if let Some((seed, what)) = failure(mode, None) {
        let (_, trace) = run(seed, mode, None, true);
        panic!("schedule {seed}: {what}\n{}", trace.join("\n"));
    }
}

#[test]
fn every_acknowledged_entry_is_there_once_whenever_a_program_ends() {
    holds(Mode::Crashes);
}

#[test]
fn with_fsync_a_power_loss_takes_nothing_that_was_acknowledged() {
    holds(Mode::PowerFsync);
}

#[test]
fn without_fsync_a_power_loss_takes_only_the_end_of_a_file() {
    holds(Mode::PowerOs);
}

#[test]
fn the_protocol_model_detects_each_omitted_step() {
    let controls = [
        (Mode::Crashes, Part::TurnLock),
        (Mode::Crashes, Part::Slot),
        (Mode::Crashes, Part::MergedKey),
        (Mode::Crashes, Part::Checksum),
        (Mode::Crashes, Part::EndChecked),
        (Mode::Crashes, Part::SecondLook),
        (Mode::Crashes, Part::TailRule),
        (Mode::Crashes, Part::TornRecordCut),
        (Mode::PowerFsync, Part::SecondPlace),
        (Mode::PowerFsync, Part::SyncNames),
    ];
    for (mode, part) in controls {
        assert!(failure(mode, Some(part)).is_some(), "without {part:?} nothing fails");
    }
}
