//! Limits of one call of a guest, and of all calls of a turn. Each ends the call with a fault that names the limit, and
//! the next turn runs.

use crate::home;
use bub_tests::component::with_started_module;
use bub_tests::{Finished, Home, programs, tape};
use std::fs;

/// The most memory that the program may have had in the meantime: a turn holds 64 MiB, a guest as much again, and what
/// crosses from one to the other is there twice.
const ROOM: u64 = 400 << 20;

/// A glutton that does `amount` of that deed.
fn glutton(deed: &str, amount: u64) -> Home {
    let home = home();
    home.configure("[plugins.glutton]\ngrants = [\"tape:read\", \"tape:append\"]");
    home.configure(&format!("[plugins.glutton.config]\ndeed = \"{deed}\"\namount = {amount}"));
    home.plugin("glutton", programs::GLUTTON);
    home
}

/// The turn ends with that fault; the one after it, without the glutton, is answered.
#[track_caller]
fn is_stopped(home: &Home, fault: &str) -> Finished {
    let fault = format!("hook `run-model-stream` of plugin `glutton`: {fault}");
    let finished = home.run(["hi"]).finish().fails(&fault);
    assert!(finished.peak < ROOM, "it took {} MiB\n{finished}", finished.peak >> 20);
    let tape = tape::read(&home.tape_file("cli:local"));
    let last = tape.last().expect("the failed turn is on the tape");
    assert_eq!((&last["kind"], &last["payload"]["message"]), (&"error".into(), &fault.into()));
    home.remove_plugin("glutton");
    home.run(["ECHO:next"]).finish().says("[cli:local]\nnext\n");
    finished
}

#[test]
pub(crate) fn glutton_with_little_appetite_is_answered() {
    for (deed, amount) in [("emit", 0), ("set", 3), ("append", 2), ("handoff", 2), ("say", 2), ("hold", 20)] {
        let finished = glutton(deed, amount).run(["hi"]).finish();
        assert!(finished.code == Some(0) && finished.stdout.ends_with("full\n"), "{deed}\n{finished}");
    }
}

#[test]
fn the_events_of_a_turn_are_limited() {
    is_stopped(&glutton("emit", 300), "made its turn hold more than 64 MiB");
}

#[test]
fn the_state_of_a_turn_is_bounded() {
    is_stopped(&glutton("set", 300), "made its turn hold more than 64 MiB");
}

#[test]
fn the_entries_of_a_turn_are_limited() {
    is_stopped(&glutton("append", 300), "made its turn hold more than 64 MiB");
}

#[test]
fn the_handoffs_of_a_turn_are_limited() {
    is_stopped(&glutton("handoff", 20), "made its turn hold more than 64 MiB");
}

#[test]
fn the_data_of_one_host_call_is_limited() {
    is_stopped(&glutton("say", 17), "handed over more than 16 MiB at once");
}

/// A hook that streams calls the host with every token: it has a hundred times the number.
#[test]
fn calls_of_the_host_are_counted() {
    let home = glutton("call", 20_000);
    home.configure("[limits]\ncalls = 100");
    is_stopped(&home, "called the host more than 10000 times");
}

#[test]
fn a_hook_that_does_not_stream_has_the_number_itself() {
    let home = home().bare();
    home.scripted("a", programs::SCRIPTED, "");
    home.configure("[plugins.a.limits]\ncalls = 2");
    home.run(["hi"]).finish().fails("of plugin `a`: called the host more than 2 times");
}

#[test]
fn handles_are_counted() {
    is_stopped(&glutton("hold", 5_000), "held more than 1000 handles");
}

#[test]
fn tables_count_as_memory() {
    let home = home();
    let program = fs::read(programs::PROMPT_UPPER).expect("the program was built");
    let hungry = with_started_module(&program, TABLES);
    fs::write(home.bub_home().join("plugins/tables.wasm"), hungry).expect("the home can be written");
    let finished = home.run(["ECHO:next"]).finish().says("[cli:local]\nnext\n");
    finished.mentions("plugin `tables` did not load: hook `load` of plugin `tables`: out of memory: more than 64 MiB");
}

/// A core module that grows a table by 10,000,000 elements as soon as it is there:
/// `(module (table 0 funcref) (start 0) (func (drop (table.grow 0 (ref.null func) (i32.const 10000000)))))`.
const TABLES: &[u8] = &[
    0, b'a', b's', b'm', 1, 0, 0, 0, // The header.
    1, 4, 1, 0x60, 0, 0, // A type: nothing to nothing.
    3, 2, 1, 0, // A function of it.
    4, 4, 1, 0x70, 0, 0, // A table.
    8, 1, 0, // The function runs at the start.
    10, 15, 1, 13, 0, 0xd0, 0x70, 0x41, 0x80, 0xad, 0xe2, 0x04, 0xfc, 0x0f, 0, 0x1a, 0x0b,
];

#[test]
pub fn counter_is_denied_calls_without_a_grant() {
    let home = home();
    home.configure("[plugins.counter.config]\nrounds = 3\ngated = true");
    home.plugin("counter", programs::COUNTER);
    home.run(["hi"]).finish().says("[cli:local]\n3\n");
    home.configure("[plugins.counter]\ngrants = [\"secret:bench\"]");
    home.run(["hi"]).finish().says("[cli:local]\n0\n");
}

/// 10,000 pieces are 20 MiB together, and rendering them passes more than a call may.
const TRICKLE: u64 = 10_000;

#[test]
fn a_later_stage_that_has_no_room_left_names_the_plugin_that_filled_the_turn() {
    let home = glutton("trickle", TRICKLE);
    let finished = home.run(["hi"]).finish();
    let fault = "hook `run-model-stream` of plugin `glutton`: made its turn hold 19 MiB, which broke another call: \
        hook `render-outbound` of plugin `builtin`: handed over more than 16 MiB at once";
    assert_eq!(finished.code, Some(1), "{} bytes on stdout", finished.stdout.len());
    assert!(finished.stderr.contains(fault), "{}", finished.stderr);
}

#[test]
fn a_plugin_that_fills_its_turns_is_quarantined() {
    let home = glutton("trickle", TRICKLE);
    for _ in 0..3 {
        assert_eq!(home.run(["hi"]).finish().code, Some(1));
    }
    let breakers = fs::read_to_string(home.bub_home().join("quarantine/breakers.json")).expect("something broke");
    assert!(breakers.contains("run-model-stream") && breakers.contains("glutton"), "{breakers}");
    // It is not asked any more, so the next one answers.
    home.run(["ECHO:next"]).finish().says("[cli:local]\nnext\n");
}
