//! `render-outbound` and `dispatch-outbound`.

use super::bare_with;

#[test]
fn batches_are_joined_latest_registered_first() {
    let home = bare_with(&[
        r#"run-model = "o"
render-outbound = ["1"]"#,
        r#"render-outbound = ["2"]"#,
        r#"render-outbound = ["3", "4"]"#,
    ]);
    home.run(["hi"]).finish().says("[cli:local]\n3\n[cli:local]\n4\n[cli:local]\n2\n[cli:local]\n1\n");
}

#[test]
fn when_all_batches_are_empty_the_host_renders_the_output() {
    let home = bare_with(&[r#"run-model = "o""#, "render-outbound = []"]);
    home.run(["hi", "--chat-id", "9"]).finish().says("[cli:9]\no\n");
}

#[test]
fn every_plugin_gets_every_envelope_and_delivered_ones_are_not_sent_by_the_host() {
    let home = bare_with(&[r#"render-outbound = ["1", "2"]"#, "dispatch-outbound = true", "dispatch-outbound = false"]);
    let finished = home.run(["hi"]).watched().finish().says("");
    let seen: Vec<_> = finished.saw_hook("dispatch-outbound");
    let seen: Vec<_> =
        seen.iter().map(|seen| format!("{} {}", seen["plugin"], seen["content"]).replace('"', "")).collect();
    assert_eq!(seen, ["c 1", "b 1", "a 1", "c 2", "b 2", "a 2"], "{finished}");
}

#[test]
fn the_host_delivers_envelopes_that_no_plugin_has_delivered() {
    let home = bare_with(&[r#"render-outbound = ["1"]"#, "dispatch-outbound = false"]);
    home.run(["hi"]).finish().says("[cli:local]\n1\n");
}

#[test]
fn an_error_while_dispatching_fails_the_turn() {
    let home = bare_with(&[r#"dispatch-outbound = { error = "the line is dead" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("the line is dead");
    assert!(finished.saw_hook("on-error").iter().any(|told| told["stage"] == "turn"), "{finished}");
}

#[test]
fn an_error_while_rendering_fails_the_turn_after_its_state_was_saved() {
    let home = bare_with(&[r#"run-model = "o"
render-outbound = { error = "no words" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("no words");
    assert_eq!(finished.saw_hook("save-state")[0]["output"], "o", "{finished}");
}
