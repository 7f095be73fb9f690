//! `continue-prompt`, and `after-turn`: the step after an answer.

use super::{bare, bare_with};
use crate::home;
use bub_tests::{Answer, Home, Server, component, programs};
use serde_json::json;
use std::fs;

/// Nothing but a guest that asks for the prompt of a next step, and a scripted plugin below it.
fn asking(answers: &str) -> Home {
    let home = bare();
    home.scripted("a", programs::SCRIPTED, answers);
    home.configure("[plugins.caller]\ngrants = [\"agent\"]\nconfig = { call = { go-on = true } }");
    home.plugin("caller", programs::CALLER);
    home
}

#[test]
fn the_prompt_of_the_next_step_is_the_first_answer() {
    let home = home();
    home.scripted("a", programs::SCRIPTED, r#"continue-prompt = "as a says""#);
    home.scripted("b", programs::SCRIPTED, r#"continue-prompt = "as b says""#);
    home.scripted("c", programs::SCRIPTED, "");
    let arguments = r#"{"cmd": "echo hello-from-tool"}"#;
    let server = Server::new([Answer::tool_call("bash", arguments), Answer::text("done")]);
    let finished = home.run(["go on"]).model(&server).watched().finish().says("[cli:local]\ndone\n");
    assert_eq!(server.requests()[1].last_content(), "as b says", "{finished}");
    assert_eq!(finished.asked("continue-prompt"), ["c", "b"], "{finished}");
}

#[test]
fn an_agent_gets_the_prompt_of_the_next_step() {
    asking(r#"continue-prompt = "more""#).run(["hi"]).finish().says("[cli:local]\nnext: more\n");
}

#[test]
fn without_a_next_prompt_the_loop_ends() {
    asking("").run(["hi"]).finish().says("[cli:local]\nthe end\n");
}

#[test]
fn after_a_turn_every_plugin_is_notified_once_after_delivery() {
    let home = bare_with(&[r#"run-model = "o""#, ""]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\no\n");
    let hooks: Vec<_> = finished.saw().iter().map(|seen| seen["hook"].clone()).collect();
    let end = &hooks[hooks.len() - 4..];
    assert_eq!(end, ["dispatch-outbound", "dispatch-outbound", "after-turn", "after-turn"], "{finished}");
    assert_eq!(finished.asked("after-turn"), ["b", "a"], "{finished}");
    assert!(finished.saw_hook("after-turn").iter().all(|seen| seen["output"] == "o"), "{finished}");
}

#[test]
fn a_plugin_limited_to_its_own_selections_is_notified_of_no_other_turn() {
    let home = bare_with(&[r#"run-model = "o""#, "", ""]);
    for (name, after_turn) in [("b", "selected"), ("c", "every")] {
        let path = home.bub_home().join(format!("plugins/{name}.wasm"));
        let manifest = json!({ "after_turn": after_turn, "wants": [{ "grant": "hook:*", "why": "to be told" }] });
        let bytes = fs::read(&path).expect("it is there");
        let bytes = component::with_section(&bytes, "bub:manifest", manifest.to_string().as_bytes());
        fs::write(&path, bytes).expect("the home can be written");
    }
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\no\n");
    assert_eq!(finished.asked("after-turn"), ["c", "a"], "{finished}");
    assert_eq!(finished.asked("save-state"), ["c", "b", "a"], "{finished}");
}

#[test]
fn the_next_turn_does_not_wait_for_tasks_after_the_answer() {
    let home = bare_with(&[r#"run-model = "o""#, "after-turn = { wait = 4000 }"]);
    let mut chat = home.bub(["chat"]).watched().spoken_to().start();
    for message in ["one", "two"] {
        chat.say(message);
        chat.prints("o\n");
    }
    let finished = chat.finish();
    let saw = finished.saw();
    let at = |hook: &str, plugin: &str| {
        let is_meant = |seen: &serde_json::Value| seen["hook"] == hook && seen["plugin"] == plugin;
        (0..saw.len()).filter(|at| is_meant(&saw[*at])).collect::<Vec<_>>()
    };
    let (next, ended) = (at("load-state", "a"), at("after-turn", "a"));
    assert!(next[1] < ended[0], "`a` hears of the first turn's end when `b` is done with it: {finished}");
    assert_eq!(ended.len(), 2, "and the end waits for both: {finished}");
}

#[test]
fn a_failure_after_a_turn_has_no_effect() {
    let home = bare_with(&[
        "",
        r#"run-model = "o"
after-turn = { trap = true }"#,
    ]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\no\n");
    assert_eq!(finished.asked("after-turn"), ["b", "a"], "{finished}");
}

#[test]
fn after_a_failed_turn_no_observer_is_called() {
    let home = bare_with(&[r#"run-model = { error = "no thoughts" }"#]);
    let finished = home.run(["hi"]).watched().finish().fails("no thoughts");
    assert!(finished.asked("after-turn").is_empty(), "{finished}");
}
