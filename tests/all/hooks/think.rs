//! `run-model` and `run-model-stream`: plugins are walked once, each asked by whichever of the two it has.

use super::{bare, bare_with};
use bub_tests::{Home, programs};

/// `a` has the whole text at once, `b` streams.
fn whole_below_stream(whole: &str, stream: &str) -> Home {
    let home = bare();
    home.scripted("a", programs::SCRIPTED, whole);
    home.scripted("b", programs::SCRIPTED_STREAM, stream);
    home
}

#[test]
fn a_stream_comes_before_a_whole_text_of_a_plugin_below() {
    let home = whole_below_stream(r#"run-model = "from a""#, r#"run-model-stream = ["from ", "b"]"#);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nfrom b\n");
    assert!(finished.asked("run-model").is_empty(), "{finished}");
}

/// The original stops at the first plugin that has either hook.
#[test]
fn a_stream_that_answers_false_passes_on_to_a_whole_text() {
    let home = whole_below_stream(r#"run-model = "from a""#, "");
    home.run(["hi"]).finish().says("[cli:local]\nfrom a\n");
}

#[test]
fn a_missing_whole_text_falls_through_to_a_stream() {
    let home = bare();
    home.scripted("a", programs::SCRIPTED_STREAM, r#"run-model-stream = ["from ", "a"]"#);
    home.scripted("b", programs::SCRIPTED, "");
    home.run(["hi"]).finish().says("[cli:local]\nfrom a\n");
}

#[test]
fn the_model_hook_gets_the_prompt() {
    let home = bare_with(&["", r#"build-prompt = "asked""#]);
    let finished = home.run(["hi"]).watched().finish();
    for seen in finished.saw_hook("run-model") {
        assert_eq!(seen["prompt"], "asked", "{finished}");
    }
}

#[test]
fn an_empty_answer_is_an_answer() {
    let home = bare_with(&[r#"run-model = "from a""#, r#"run-model = """#]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\n\n");
    assert_eq!(finished.asked("run-model"), ["b"], "{finished}");
}

#[test]
fn a_turn_without_an_answer_is_reported_to_observers_as_a_failure_of_the_model() {
    let finished = bare_with(&[""]).run(["hi"]).watched().finish().says("[cli:local]\nhi\n");
    let told = finished.saw_hook("on-error");
    assert_eq!(told.len(), 1, "{finished}");
    assert_eq!(told[0]["stage"], "run_model", "{finished}");
}

#[test]
fn an_error_event_in_a_stream_is_reported_and_the_turn_continues() {
    let home = bare();
    home.scripted("a", programs::SCRIPTED_STREAM, r#"run-model-stream = ["a", { error = "a hiccup" }, "b"]"#);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nab\n");
    let told = finished.saw_hook("on-error");
    assert_eq!(told.len(), 1, "{finished}");
    assert_eq!((&told[0]["stage"], &told[0]["error"]), (&"run_model".into(), &"a hiccup".into()), "{finished}");
}

#[test]
fn an_error_after_events_ends_the_turn() {
    let home = bare();
    home.scripted("a", programs::SCRIPTED_STREAM, r#"run-model-stream = ["a", { fail = "out of words" }]"#);
    home.run(["hi"]).finish().fails("out of words");
}
