//! Plugins that keep breaking are not asked for a while, where they broke.

mod callers;
mod kept;
mod missed;

use crate::home;
use bub_tests::{Finished, Home, programs, tape};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const TRAP: &str = "{ trap = true }";

/// A home with the one plugin `weak`, which answers that hook so.
fn weak(hook: &str, answer: &str) -> Home {
    let home = home().bare();
    home.scripted("weak", programs::SCRIPTED, &format!("{hook} = {answer}"));
    home
}

/// From here on it answers differently.
fn answers(home: &Home, hook: &str, answer: &str) {
    let file = home.bub_home().join("config.toml");
    let config: toml::Table = fs::read_to_string(&file).expect("it is there").parse().expect("it is TOML");
    let mut config = config;
    config["plugins"]["weak"]["config"]["answers"] =
        format!("{hook} = {answer}").parse::<toml::Table>().expect("TOML").into();
    fs::write(file, config.to_string()).expect("it can be written");
}

fn run_in(home: &Home, session: &str) -> Finished {
    home.run(["hi", "--session-id", session]).watched().finish()
}

/// A turn of that session in which the plugin is asked, and breaks it.
#[track_caller]
pub(crate) fn breaks(home: &Home, session: &str) -> Finished {
    run_in(home, session).fails("hook `build-prompt` of plugin `weak`: trapped: ")
}

/// A turn of that session that runs, and in which the plugin is not asked.
#[track_caller]
pub(crate) fn is_passed_over(home: &Home, session: &str) -> Finished {
    let finished = run_in(home, session).says(&format!("[{}]\nhi\n", "cli:local"));
    assert_eq!(finished.asked("build-prompt"), [""; 0], "{finished}");
    finished
}

/// The callers in quarantine, from `plugin list --json`.
pub(crate) fn listed(home: &Home) -> Vec<Value> {
    let finished = home.bub(["plugin", "list", "--json"]).finish();
    let all: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}\n{finished}"));
    all["quarantined"].as_array().cloned().unwrap_or_default()
}

fn book(home: &Home) -> PathBuf {
    home.bub_home().join("quarantine/breakers.json")
}

/// All pauses are over.
fn time_passes(home: &Home) {
    let text = fs::read_to_string(book(home)).expect("it is there");
    let mut book_now: Value = serde_json::from_str(&text).expect("it is JSON");
    end_pauses(&mut book_now);
    fs::write(book(home), book_now.to_string()).expect("it can be written");
}

fn end_pauses(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(until) = object.get_mut("until") {
                *until = 0.into();
            }
            object.values_mut().for_each(end_pauses);
        }
        Value::Array(list) => list.iter_mut().for_each(end_pauses),
        _ => {}
    }
}

/// The seconds for which the one thing that is listed is not asked, rounded up to whole minutes.
#[track_caller]
fn minutes(home: &Home) -> u64 {
    let listed = listed(home);
    let seconds = listed.iter().filter_map(|held| held["seconds"].as_u64()).max();
    seconds.unwrap_or_else(|| panic!("nothing is listed")).div_ceil(60)
}

#[test]
fn three_faults_in_a_row_are_one_too_many() {
    let home = weak("build-prompt", TRAP);
    breaks(&home, "a");
    breaks(&home, "a");
    assert_eq!(listed(&home), [Value::Null; 0]);
    let third = breaks(&home, "a");
    let line = "hook `build-prompt` of plugin `weak` is in quarantine in session `a` for ";
    third.mentions(line).mentions("to lift it: bub-wasm plugin unquarantine weak");
    is_passed_over(&home, "a").mentions(line);

    let listed = listed(&home);
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["plugin"], &listed[0]["session"]), (&"weak".into(), &"a".into()));
    assert_eq!(listed[0]["hook"], "build-prompt");
    let text = home.bub(["plugin", "list"]).finish();
    assert!(text.stdout.contains("hook `build-prompt` is in quarantine in session `a`"), "{text}");

    let tape = tape::read(&home.tape_file("a"));
    let event = tape.iter().find(|entry| entry["payload"]["name"] == "plugin.quarantined");
    let event = event.unwrap_or_else(|| panic!("the tape does not say so: {tape:?}"));
    assert_eq!(event["meta"]["context"], false, "{event}");
    assert_eq!(event["payload"]["data"]["everywhere"], false, "{event}");
}

#[test]
fn one_session_alone_switches_off_nothing_for_others() {
    let home = weak("build-prompt", TRAP);
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    is_passed_over(&home, "a");
    breaks(&home, "b");
}

#[test]
fn two_sessions_switch_it_off_for_all() {
    let home = weak("build-prompt", TRAP);
    for session in ["a", "b"] {
        (0..3).for_each(|_| drop(breaks(&home, session)));
    }
    is_passed_over(&home, "c").mentions("is in quarantine in all sessions");
}

#[test]
fn a_success_resets_the_count() {
    let home = weak("build-prompt", TRAP);
    for _ in 0..2 {
        breaks(&home, "a");
        breaks(&home, "a");
        answers(&home, "build-prompt", "\"well\"");
        run_in(&home, "a").says("[cli:local]\nwell\n");
        answers(&home, "build-prompt", TRAP);
    }
    assert_eq!(listed(&home), [Value::Null; 0]);
    breaks(&home, "a");
}

#[test]
fn its_own_error_is_no_fault() {
    let home = weak("build-prompt", r#"{ error = "not today" }"#);
    (0..4).for_each(|_| drop(run_in(&home, "a").fails("not today")));
    assert!(!book(&home).exists());
}

#[test]
fn after_a_pause_one_trial_call_is_made_and_each_pause_doubles() {
    let home = weak("build-prompt", TRAP);
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    for minutes_now in [1, 2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(minutes(&home), minutes_now);
        is_passed_over(&home, "a");
        time_passes(&home);
        breaks(&home, "a");
    }
    time_passes(&home);
    answers(&home, "build-prompt", "\"well again\"");
    run_in(&home, "a").says("[cli:local]\nwell again\n");
    // It is trusted again as it was at first.
    answers(&home, "build-prompt", TRAP);
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    assert_eq!(minutes(&home), 1);
}

#[test]
fn a_plugin_that_was_quarantined_for_all_recovers_for_all() {
    let home = weak("build-prompt", TRAP);
    for session in ["a", "b"] {
        (0..3).for_each(|_| drop(breaks(&home, session)));
    }
    time_passes(&home);
    answers(&home, "build-prompt", "\"well again\"");
    for session in ["c", "a", "b"] {
        run_in(&home, session).says("[cli:local]\nwell again\n");
    }
    assert_eq!(listed(&home), [Value::Null; 0]);
}

#[test]
fn other_bytes_start_without_faults() {
    let home = weak("build-prompt", TRAP);
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    let bytes = fs::read(programs::SCRIPTED).expect("it was built");
    let other = bub_tests::component::with_section(&bytes, "mended", b"");
    fs::write(home.bub_home().join("plugins/weak.wasm"), other).expect("it can be written");
    breaks(&home, "a");
}

#[test]
fn unquarantine_lifts_it() {
    let home = weak("build-prompt", TRAP);
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    is_passed_over(&home, "a");
    home.bub(["plugin", "unquarantine", "weka"])
        .finish()
        .refuses(&["`weka` is not in quarantine", "did you mean `weak`"]);
    home.bub(["plugin", "unquarantine", "weak"]).finish().says("plugin `weak` is no longer in quarantine\n");
    assert_eq!(listed(&home), [Value::Null; 0]);
    breaks(&home, "a");
}

#[test]
fn the_former_name_of_unquarantine_still_works_and_help_does_not_show_it() {
    let home = weak("build-prompt", TRAP);
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    home.bub(["plugin", "release", "weak"]).finish().says("plugin `weak` is no longer in quarantine\n");
    let help = home.bub(["plugin", "--help"]).finish();
    assert!(help.stdout.contains("unquarantine") && !help.stdout.contains("release"), "{help}");
}

#[test]
fn a_longer_first_pause_can_be_configured() {
    let home = weak("build-prompt", TRAP);
    home.configure("[plugins.weak.limits]\nquarantine_seconds = 600");
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    assert_eq!(minutes(&home), 10);
}

/// A slow model or disk is not the fault of the plugin that waits for it.
#[test]
fn a_deadline_counts_against_the_busy_plugin_and_not_the_waiting_one() {
    let waiting = weak("build-prompt", "{ wait = 60_000 }");
    waiting.configure("[plugins.weak.limits]\ndeadline_ms = 200");
    (0..4).for_each(|_| drop(run_in(&waiting, "a").fails("took longer than 200 ms")));

    let busy = home().bare();
    busy.plugin("weak", programs::FAULT_SPIN);
    busy.configure("[plugins.weak.limits]\ndeadline_ms = 300\nfuel = 1_000_000_000_000_000");
    (0..3).for_each(|_| drop(run_in(&busy, "a").fails("took longer than 300 ms")));
    is_passed_over(&busy, "a");
}

#[test]
fn the_programs_own_guests_are_never_switched_off() {
    let home = home().without_tools();
    home.configure("[plugins.builtin.limits]\ncalls = 1");
    for _ in 0..5 {
        run_in(&home, "a").fails("of plugin `builtin`: called the host more than");
    }
    assert_eq!(listed(&home), [Value::Null; 0]);
}
