//! `resolve-session` and `load-state`.

use super::bare_with;
use bub_tests::Finished;
use serde_json::{Value, json};

/// The session that the first plugin saw when it was asked for a prompt.
fn session(finished: &Finished) -> Value {
    finished.saw_hook("build-prompt")[0]["session"].clone()
}

#[test]
fn a_session_falls_back_to_channel_and_chat() {
    let finished = bare_with(&[""]).run(["hi"]).watched().finish();
    assert_eq!(session(&finished), "cli:local", "{finished}");
}

#[test]
fn the_envelopes_own_session_comes_before_channel_and_chat() {
    let finished = bare_with(&[""]).run(["hi", "--session-id", "mine"]).watched().finish();
    assert_eq!(session(&finished), "mine", "{finished}");
}

#[test]
fn an_empty_id_is_no_id() {
    let home = bare_with(&[r#"resolve-session = """#]);
    let finished = home.run(["hi", "--chat-id", "9"]).watched().finish();
    assert_eq!(session(&finished), "cli:9", "{finished}");
}

#[test]
fn the_session_is_written_back_to_the_message() {
    let home = bare_with(&["", r#"resolve-session = "from b""#]);
    let finished = home.run(["hi"]).watched().finish();
    let seen = &finished.saw_hook("build-prompt")[0];
    assert_eq!((&seen["session"], &seen["message-session"]), (&json!("from b"), &json!("from b")), "{finished}");
    assert_eq!(finished.asked("resolve-session"), ["b"], "{finished}");
}

#[test]
fn states_are_merged_and_the_latest_registered_plugin_wins() {
    let home = bare_with(&[r#"load-state = { who = "a", a = 1 }"#, r#"load-state = { who = "b", b = 2 }"#]);
    let finished = home.run(["hi"]).watched().finish();
    let state = &finished.saw_hook("build-prompt")[0]["state"];
    assert_eq!((&state["who"], &state["a"], &state["b"]), (&json!("b"), &json!(1), &json!(2)), "{finished}");
}

#[test]
fn no_plugin_sees_the_state_that_another_one_loads() {
    let home = bare_with(&[r#"load-state = { a = 1 }"#, r#"load-state = { b = 2 }"#]);
    let finished = home.run(["hi"]).watched().finish();
    for seen in finished.saw_hook("load-state") {
        assert!(seen["state"]["a"].is_null() && seen["state"]["b"].is_null(), "{seen}");
    }
}

#[test]
fn the_host_seeds_the_workspace() {
    let home = bare_with(&[""]);
    let finished = home.run(["hi"]).watched().finish();
    let seen = &finished.saw_hook("load-state")[0];
    assert_eq!(
        seen["state"]["_runtime_workspace"],
        home.workspace().to_str().expect("the path is UTF-8"),
        "{finished}"
    );
}

#[test]
fn keys_of_the_host_are_not_for_plugins_to_load() {
    let home = bare_with(&[r#"load-state = { session_id = "forged", _runtime_workspace = "/", own = true }"#]);
    let finished = home.run(["hi"]).watched().finish();
    let state = &finished.saw_hook("build-prompt")[0]["state"];
    assert_ne!(state["session_id"], "forged", "{finished}");
    assert_ne!(state["_runtime_workspace"], "/", "{finished}");
    assert_eq!(state["own"], true, "{finished}");
}

/// The original ignores it. Here it breaks the contract, and who broke it is named.
#[test]
fn a_state_that_is_no_object_ends_the_turn() {
    let home = bare_with(&["load-state = [1, 2]"]);
    home.run(["hi"]).finish().fails("hook `load-state` of plugin `a`: broke the contract");
}
