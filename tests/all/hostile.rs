//! Guests that mean harm: each ends its own call in a fault that names it, or is refused, and the next turn runs.

pub mod beside;
mod bombs;
pub mod endless;
mod introduced;
mod many;
mod pen;
mod shapes;
mod system;
mod words;

use crate::home;
use bub_tests::{Finished, Home, programs};

/// A home with `hostile`, which does what `mode` says. It may do everything that is granted by name.
fn hostile(mode: &str, limits: &str) -> Home {
    let home = home().bare();
    home.plugin("hostile", programs::HOSTILE);
    let grants = "[\"tape:read\", \"tape:append\", \"model:*\", \"tools:*\", \"agent\"]";
    home.configure(&format!("[plugins.hostile]\ngrants = {grants}\n[plugins.hostile.limits]\n{limits}"));
    be(&home, mode);
    home
}

fn be(home: &Home, mode: &str) {
    home.configure(&format!("[plugins.hostile.config]\nmode = \"{mode}\""));
}

/// The turn fails with that fault of that hook, and the next one runs.
#[track_caller]
fn faults(home: &Home, message: &str, hook: &str, fault: &str) -> Finished {
    let finished = home.run([message]).finish().fails(&format!("hook `{hook}` of plugin `hostile`: {fault}"));
    be(home, "");
    home.run(["hi"]).finish().says("[cli:local]\nalive\n");
    finished
}

#[test]
pub(crate) fn hostile_without_a_mode_is_alive() {
    hostile("", "").run(["hi"]).finish().says("[cli:local]\nalive\n");
}

pub(crate) const LITTLE_FUEL: &str = "fuel = 300_000_000\ndeadline_ms = 60_000";
pub(crate) const NO_FUEL: &str = "out of fuel after 300000000 units";

#[test]
fn memory_that_is_refused_costs_the_guests_own_fuel() {
    faults(&hostile("", LITTLE_FUEL), &"x".repeat(7_777), "resolve-session", NO_FUEL);
}

#[test]
fn memory_that_is_never_taken_back_costs_the_guests_own_fuel() {
    faults(&hostile("post-return", LITTLE_FUEL), "hi", "build-prompt", NO_FUEL);
}

#[test]
fn a_guest_that_calls_the_host_while_it_allocates_is_stopped() {
    let finished = faults(&hostile("", ""), &"x".repeat(8_888), "resolve-session", "trapped: ");
    assert!(!finished.stderr.contains("called while it was asked"), "{finished}");
}

#[test]
fn memory_that_is_filled_again_and_again_costs_fuel_byte_by_byte() {
    faults(&hostile("fill", LITTLE_FUEL), "hi", "build-prompt", NO_FUEL);
}

#[test]
fn a_stack_that_the_guest_cannot_see_has_an_end() {
    faults(&hostile("stack", ""), "hi", "build-prompt", "out of stack");
}

#[test]
fn a_stack_in_the_guests_own_memory_has_an_end() {
    faults(&hostile("shadow-stack", ""), "hi", "build-prompt", "trapped: ");
}

#[test]
fn a_guest_that_sleeps_in_the_host_is_woken_by_its_deadline() {
    faults(&hostile("sleep", "deadline_ms = 300"), "hi", "build-prompt", "took longer than 300 ms");
}

#[test]
fn a_flood_of_log_lines_is_a_flood_of_calls() {
    let fault = "called the host more than 200 times";
    let finished = faults(&hostile("logs", "calls = 200"), "hi", "build-prompt", fault);
    assert!(finished.stderr.lines().count() < 220, "{finished}");
    assert!(!finished.stderr.contains('\u{1b}'), "a terminal was told something\n{finished}");
}

#[test]
fn a_flood_of_things_to_wait_for_is_a_flood_of_handles() {
    faults(&hostile("pollables", "calls = 1_000_000"), "hi", "build-prompt", "held more than 1000 handles");
}

/// Calls that the bindings never make, made below them.
#[track_caller]
fn traps(mode: &str) -> Finished {
    faults(&hostile(mode, ""), "hi", "build-prompt", "trapped: ")
}

#[test]
fn a_forged_handle_is_invalid() {
    traps("forged-handle").mentions("unknown handle index");
}

#[test]
fn a_handle_of_another_type_is_invalid() {
    traps("handle-of-another-type");
}

#[test]
fn a_handle_is_dropped_once() {
    traps("dropped-twice").mentions("unknown handle index");
}

#[test]
fn a_dropped_handle_is_invalid() {
    traps("used-after-drop").mentions("unknown handle index");
}

#[test]
fn an_undefined_enum_value_is_invalid() {
    traps("enum-255").mentions("255");
}

#[test]
fn an_option_is_there_or_not_there() {
    traps("option-7").mentions("option");
}

#[test]
fn text_is_utf_8() {
    traps("not-utf-8").mentions("utf-8");
}

#[test]
fn a_text_must_be_within_memory() {
    traps("text-beyond-memory");
}

#[test]
fn a_list_must_be_within_memory() {
    traps("list-of-4-billion");
}

#[test]
fn a_list_is_aligned() {
    traps("unaligned");
}

#[test]
fn a_result_must_be_within_memory() {
    traps("answer-beyond-memory");
}

#[test]
fn texts_that_share_their_memory_count_each_by_itself() {
    let fault = "handed over more than 16 MiB at once";
    faults(&hostile("shared-text", ""), "hi", "build-prompt", fault);
}

#[test]
fn texts_of_an_answer_that_share_their_memory_count_each_by_itself() {
    let fault = "handed over more than 16 MiB at once";
    faults(&hostile("answer-shared", ""), "hi", "render-outbound", fault);
}

#[test]
fn text_of_an_answer_is_utf_8() {
    traps("answer-not-utf-8").mentions("utf-8");
}

#[test]
fn text_of_a_result_must_be_within_memory() {
    traps("answer-of-4-billion");
}

/// Each call is an instance of its own: what one of them held is nothing in the next.
#[test]
fn a_handle_from_an_earlier_call_is_invalid() {
    traps("kept").mentions("unknown handle index");
}

/// No plugin answers the prompt, so it is printed.
#[test]
fn control_characters_of_a_prompt_are_escaped() {
    let home = home().bare();
    let prompt = "\"\\u001b]0;owned\\u0007\\u001b[1Ghere\"";
    home.scripted("scripted", programs::SCRIPTED, &format!("build-prompt = {prompt}"));
    home.run(["hi"]).terminal(80, 10).sees("\\u{1b}]0;owned\\u{7}\\u{1b}[1Ghere");
    // Without a terminal the text is printed unchanged.
    home.run(["hi"]).finish().says("[cli:local]\n\u{1b}]0;owned\u{7}\u{1b}[1Ghere\n");
}
