//! Guests that misbehave: each ends its own call, by name, and nothing else.

use crate::home;
use bub_tests::{Finished, programs, tape};
use std::time::{Duration, Instant};

/// One turn with that plugin fails with that fault, which is on the tape, and the next turn runs once the plugin's
/// faults are skipped.
#[track_caller]
fn breaks_its_turn_only(name: &str, wasm: &str, limits: &str, fault: &str) -> Finished {
    let home = home();
    home.plugin(name, wasm).configure(&format!("[plugins.{name}.limits]\n{limits}"));
    let begun = Instant::now();
    let fault = format!("hook `build-prompt` of plugin `{name}`: {fault}");
    let finished = home.run(["hi"]).finish().fails(&fault);
    assert!(begun.elapsed() < Duration::from_secs(60), "a fault is cut short, this took {:?}", begun.elapsed());

    let tape = tape::read(&home.tape_file("cli:local"));
    let last = tape.last().expect("the failed turn is on the tape");
    assert_eq!(last["kind"], "error", "{last}");
    assert!(last["payload"]["message"].as_str().is_some_and(|text| text.contains(&fault)), "{last}");

    home.configure(&format!("[plugins.{name}]\non_fault = \"skip\""));
    home.run(["ECHO:passed over"]).finish().says("[cli:local]\npassed over\n");
    home.remove_plugin(name);
    home.run(["ECHO:gone"]).finish().says("[cli:local]\ngone\n");
    finished
}

#[test]
pub(crate) fn fault_trap() {
    breaks_its_turn_only("fault_trap", programs::FAULT_TRAP, "", "trapped: wasm trap").mentions("unreachable");
}

#[test]
pub(crate) fn fault_spin() {
    let fault = "out of fuel after 2000000000 units";
    breaks_its_turn_only("fault_spin", programs::FAULT_SPIN, "fuel = 2_000_000_000\ndeadline_ms = 60_000", fault);
}

#[test]
fn a_guest_that_has_fuel_left_is_stopped_by_its_deadline() {
    let limits = "fuel = 1_000_000_000_000_000\ndeadline_ms = 300";
    breaks_its_turn_only("fault_spin", programs::FAULT_SPIN, limits, "took longer than 300 ms");
}

#[test]
pub(crate) fn fault_memory() {
    let fault = "out of memory: more than 8 MiB";
    breaks_its_turn_only("fault_memory", programs::FAULT_MEMORY, "memory_mib = 8", fault);
}

#[test]
fn the_limit_of_all_plugins_holds_for_each() {
    let home = home();
    home.plugin("fault_memory", programs::FAULT_MEMORY).configure("[limits]\nmemory_mib = 16");
    home.run(["hi"]).finish().fails("hook `build-prompt` of plugin `fault_memory`: out of memory: more than 16 MiB");
}

#[test]
pub(crate) fn fault_panic() {
    breaks_its_turn_only("fault_panic", programs::FAULT_PANIC, "", "panicked: ").mentions("guest says no: 42");
}

#[test]
pub(crate) fn loud() {
    let home = home();
    home.plugin("loud", programs::LOUD);
    home.run(["ECHO:heard"]).finish().says("[cli:local]\nheard\n");
}

#[test]
fn a_panic_after_other_output_on_stderr_is_shown() {
    let home = home();
    home.plugin("loud", programs::LOUD).configure("[plugins.loud.config]\npanics = true");
    let finished = home.run(["hi"]).finish().fails("hook `build-prompt` of plugin `loud`: panicked: ");
    let finished = finished.mentions("this is what mattered");
    assert!(!finished.stderr.contains("nobody wants to read"), "{finished}");
}

#[test]
pub(crate) fn fault_unknown_version() {
    let home = home();
    home.plugin("fault_unknown_version", programs::FAULT_UNKNOWN_VERSION);
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    let finished = finished.mentions("plugin `fault_unknown_version` did not load: ");
    finished.mentions("exports `bub:hooks/build-prompt@0.9.0`, which this host does not know; it offers 0.1.0");
    crate::plugins::lists_as_failed(&home, "fault_unknown_version", "0.9.0");
}

#[test]
fn a_plugin_that_faults_in_one_hook_still_runs_its_others() {
    let home = home().bare();
    home.scripted("a", programs::SCRIPTED, "build-prompt = { trap = true }\nrun-model = \"answered\"");
    home.configure("[plugins.a]\non_fault = \"skip\"");
    home.run(["hi"]).finish().says("[cli:local]\nanswered\n");
}
