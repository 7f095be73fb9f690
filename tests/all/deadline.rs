//! A turn that takes longer than it may, and one that is cancelled before and behind its model stage.

use crate::home;
use bub_tests::{Answer, Finished, Home, Server, programs, tape};
use serde_json::Value;

/// The last entry of the tape is an error of that kind, and the user's message precedes it.
#[track_caller]
fn tape_ends_with(home: &Home, kind: &str, said: &str) -> Vec<Value> {
    let tape = tape::read(&home.tape_file("cli:local"));
    let last = tape.last().expect("the tape has entries");
    assert_eq!((&last["kind"], &last["payload"]["kind"]), (&"error".into(), &kind.into()), "{last}");
    assert_eq!(tape.iter().filter(|entry| entry["kind"] == "error").count(), 1, "{tape:?}");
    let is_it = |entry: &&Value| {
        entry["kind"] == "message" && entry["payload"]["content"].as_str().is_some_and(|text| text.ends_with(said))
    };
    assert_eq!(tape.iter().filter(is_it).count(), 1, "{tape:?}");
    tape
}

/// Runs the turn until that hook is reached, and cancels it there.
#[track_caller]
fn cancelled_in(home: &Home, message: &str, hook: &str) -> Finished {
    let started = home.run([message]).watched().start();
    started.wait_for(&format!("\"hook\":\"{hook}\""));
    started.interrupt();
    let finished = started.finish();
    assert!(finished.code == Some(1) && finished.stdout.is_empty(), "{finished}");
    finished
}

fn with(answers: &str) -> Home {
    let home = home();
    home.scripted("a", programs::SCRIPTED, answers);
    home
}

#[test]
fn a_turn_that_exceeds_its_deadline_is_reported_in_one_line() {
    let home = with("");
    home.configure("[limits]\nturn_deadline_ms = 700");
    let server = Server::new([Answer::Silence]);
    home.run(["hurry"]).model(&server).finish().refuses(&["the turn ran longer than 700 ms"]);
    tape_ends_with(&home, "temporary", "hurry");
}

#[test]
fn a_turn_that_takes_too_long_has_its_state_saved() {
    let home = with("");
    home.configure("[limits]\nturn_deadline_ms = 700");
    let server = Server::new([Answer::Silence]);
    let finished = home.run(["hurry"]).model(&server).watched().finish().fails("700 ms");
    let saved = finished.saw_hook("save-state");
    assert_eq!(saved.len(), 1, "{finished}");
    assert!(saved[0]["failure"].as_str().is_some_and(|text| text.contains("700 ms")), "{finished}");
    assert!(!finished.stderr.contains("of plugin `builtin`: took"), "the plugin is blamed\n{finished}");
}

/// The received events are output, and no others are awaited.
#[test]
fn a_model_that_stops_in_the_middle_is_not_waited_for() {
    let home = with("");
    home.configure("[limits]\nturn_deadline_ms = 700");
    let server = Server::new([Answer::stalled("Once upon")]);
    home.run(["hurry"]).model(&server).finish().refuses(&["the turn ran longer than 700 ms"]);
    tape_ends_with(&home, "temporary", "hurry");
}

#[test]
fn a_polite_kill_cancels_the_turn_and_its_state_is_saved() {
    let home = with("");
    let server = Server::new([Answer::Silence]);
    let started = home.run(["hurry"]).model(&server).watched().start();
    server.wait_for(1);
    started.terminate();
    let finished = started.finish();
    assert!(finished.code == Some(1) && finished.stdout.is_empty(), "{finished}");
    assert_eq!(finished.saw_hook("save-state").len(), 1, "{finished}");
    assert!(finished.asked("dispatch-outbound").is_empty(), "{finished}");
    tape_ends_with(&home, "cancelled", "hurry");
}

#[test]
fn a_turn_that_is_cancelled_before_its_model_stage_saves_no_state() {
    let home = with("build-prompt = { wait = 4000 }");
    let finished = cancelled_in(&home, "ECHO:hello", "build-prompt");
    assert!(finished.asked("save-state").is_empty(), "{finished}");
    tape_ends_with(&home, "cancelled", "ECHO:hello");
}

#[test]
fn a_turn_that_is_cancelled_while_it_renders_keeps_its_conversation_and_sends_nothing() {
    let home = with("render-outbound = { wait = 4000 }");
    let finished = cancelled_in(&home, "ECHO:hello", "render-outbound");
    assert_eq!(finished.saw_hook("save-state").len(), 1, "{finished}");
    assert!(finished.asked("dispatch-outbound").is_empty(), "{finished}");
    keeps_the_answer(&home);
}

#[test]
fn a_turn_that_is_cancelled_while_it_dispatches_dispatches_nothing_twice() {
    let home = with("dispatch-outbound = { wait = 4000 }");
    let finished = cancelled_in(&home, "ECHO:hello", "dispatch-outbound");
    assert_eq!(finished.saw_hook("dispatch-outbound").len(), 1, "{finished}");
    assert_eq!(finished.saw_hook("save-state").len(), 1, "{finished}");
    assert!(finished.asked("after-turn").is_empty(), "{finished}");
    keeps_the_answer(&home);
}

#[track_caller]
fn keeps_the_answer(home: &Home) {
    let tape = tape_ends_with(home, "cancelled", "ECHO:hello");
    let answers = tape.iter().filter(|entry| {
        entry["kind"] == "message" && entry["payload"]["role"] == "assistant" && entry["payload"]["content"] == "hello"
    });
    assert_eq!(answers.count(), 1, "{tape:?}");
}
