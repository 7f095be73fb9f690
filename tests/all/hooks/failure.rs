//! `save-state` and `on-error`: what runs when something else did not.

use super::bare_with;

#[test]
fn when_the_model_fails_the_state_is_saved_with_an_empty_output() {
    let home = bare_with(&[r#"run-model = { error = "no thoughts" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("no thoughts");
    let saved = finished.saw_hook("save-state");
    assert_eq!(saved.len(), 1, "{finished}");
    assert_eq!(saved[0]["output"], "", "{finished}");
    assert!(saved[0]["failure"].as_str().is_some_and(|text| text.contains("no thoughts")), "{finished}");
    let stages: Vec<_> = finished.saw_hook("on-error").iter().map(|told| told["stage"].clone()).collect();
    assert_eq!(stages, ["turn"], "{finished}");
    assert!(finished.asked("render-outbound").is_empty(), "{finished}");
}

#[test]
fn a_model_hook_that_traps_has_its_state_saved_as_well() {
    let home = bare_with(&["run-model = { trap = true }"]);
    let finished = home.run(["hi"]).watched().finish().fails("hook `run-model` of plugin `a`: trapped");
    assert_eq!(finished.saw_hook("save-state").len(), 1, "{finished}");
}

#[test]
fn when_the_model_answers_the_state_is_saved_once_with_its_output() {
    let home = bare_with(&[r#"run-model = "o""#, ""]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\no\n");
    let saved = finished.saw_hook("save-state");
    assert_eq!(finished.asked("save-state"), ["b", "a"], "{finished}");
    assert!(saved.iter().all(|saved| saved["output"] == "o" && saved["failure"].is_null()), "{finished}");
}

#[test]
fn when_the_prompt_fails_no_state_is_saved() {
    let home = bare_with(&[r#"build-prompt = { error = "no prompt" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("no prompt");
    assert!(finished.saw_hook("save-state").is_empty(), "{finished}");
    let stages: Vec<_> = finished.saw_hook("on-error").iter().map(|told| told["stage"].clone()).collect();
    assert_eq!(stages, ["turn"], "{finished}");
}

#[test]
fn when_the_state_does_not_load_no_state_is_saved() {
    let home = bare_with(&[r#"load-state = { error = "no state" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("no state");
    assert!(finished.saw_hook("save-state").is_empty(), "{finished}");
}

#[test]
fn an_error_while_saving_takes_the_place_of_the_models() {
    let home = bare_with(&[r#"run-model = { error = "no thoughts" }
save-state = { error = "no memory" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("no memory");
    let told = finished.saw_hook("on-error");
    assert_eq!(told.len(), 1, "{finished}");
    assert!(told[0]["error"].as_str().is_some_and(|text| text.contains("no memory")), "{finished}");
}

#[test]
fn observers_are_isolated_from_each_other_and_the_error_stays_the_first() {
    let home = bare_with(&["", "on-error = { trap = true }", r#"run-model = { error = "no thoughts" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("no thoughts");
    assert_eq!(finished.asked("on-error"), ["c", "b", "a"], "{finished}");
}

#[test]
fn envelopes_of_an_observer_are_sent() {
    let home = bare_with(&[r#"run-model = { error = "no thoughts" }
on-error = ["so sorry"]"#]);
    home.run(["hi"]).finish().fails("so sorry");
}

#[test]
fn an_error_is_named_after_its_hook_and_plugin() {
    let home = bare_with(&[r#"build-prompt = { error = "no prompt" }"#]);
    home.run(["hi"]).finish().fails("no prompt (said by plugin `a`, hook `build-prompt`)");
}

#[test]
fn an_observer_of_a_failed_turn_sees_its_session_and_its_kind_as_the_hooks_left_them() {
    let home = bare_with(&[r#"resolve-session = "mine"
build-prompt = { kind = "command" }
run-model = { error = "no thoughts" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("no thoughts");
    let told = finished.saw_hook("on-error");
    assert_eq!(told.len(), 1, "{finished}");
    assert_eq!((&told[0]["session"], &told[0]["kind"]), (&"mine".into(), &"command".into()), "{finished}");
}

#[test]
fn an_ephemeral_session_leaves_no_tape() {
    let home = crate::home();
    home.run(["ECHO:hi", "--session-id", "temp/one"]).finish().says("[cli:local]\nhi\n");
    home.run(["ERR500", "--session-id", "temp/two"]).finish().fails("ERR500");
    assert!(bub_tests::tape::all(&home.tapes_dir()).is_empty());
}
