//! A plugin may do what the user granted to its exact bytes, at the time of the call.

use crate::home;
use bub_tests::listener::Listener;
use bub_tests::{Answer, Finished, Home, component, programs};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// A home in which `a` would like to rewrite what `deeds` is called with.
fn with_rewriter(grants: &str) -> Home {
    let home = home().strict();
    home.plugin("deeds", programs::DEEDS);
    home.scripted("a", programs::SCRIPTED, "before-tool-call = { rewrite = { by = \"a\" } }");
    home.configure(&format!("[plugins.a]\nfollow = true\ngrants = {grants}"));
    home
}

/// The provenance of the tool's arguments, call by call.
fn written_by(finished: &Finished) -> Vec<Value> {
    finished.saw_hook("call-tool").into_iter().map(|call| call["arguments"]["by"].clone()).collect()
}

fn file(home: &Home, name: &str) -> PathBuf {
    home.bub_home().join("plugins").join(format!("{name}.wasm"))
}

/// Puts `wasm` with that section there as plugin `name`.
fn plant(home: &Home, name: &str, wasm: &str, section: &str) {
    let bytes = fs::read(wasm).expect("it was built");
    fs::write(file(home, name), component::with_section(&bytes, "bub:manifest", section.as_bytes())).expect("a file");
}

#[test]
fn a_plugin_without_the_hook_grant_cannot_rewrite_a_call() {
    let finished = with_rewriter("[]").run(["TOOL:deeds.read {\"by\":\"model\"}"]).watched().finish();
    assert_eq!(written_by(&finished), ["model"], "{finished}");
    assert!(finished.asked("before-tool-call").is_empty(), "{finished}");
}

#[test]
fn a_plugin_with_the_hook_grant_can_rewrite_a_call() {
    let home = with_rewriter("[\"hook:before-tool-call\"]");
    let finished = home.run(["TOOL:deeds.read {\"by\":\"model\"}"]).watched().finish();
    assert_eq!(written_by(&finished), ["a"], "{finished}");
}

/// The model is a server that gives its second answer when the grants have changed.
fn two_calls(home: &Home, change: impl FnOnce()) -> Finished {
    let (open, opened) = mpsc::channel::<()>();
    let opened = Mutex::new(opened);
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let model = Listener::new(move |_| {
        let number = {
            let mut count = count.lock().expect("no thread panicked");
            *count += 1;
            *count
        };
        if number == 2 {
            let _ = opened.lock().expect("no thread panicked").recv_timeout(Duration::from_secs(60));
        }
        let answer = match number {
            1 | 2 => Answer::tool_call("deeds_read", "{\"by\":\"model\"}"),
            _ => Answer::text("done"),
        };
        let Answer::Whole(status, content_type, body) = answer else { unreachable!("both are whole") };
        bub_tests::listener::response(status, &format!("content-type: {content_type}\r\n"), &body)
    });
    let run = home.run(["go on"]).env("BUB_MODEL", "openai:fake-model").env("BUB_API_KEY", "sk-fake");
    let started = run.env("BUB_API_BASE", format!("{}/v1", model.base())).watched().start();
    let begun = std::time::Instant::now();
    while *asked.lock().expect("no thread panicked") < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the model is not asked a second time");
        std::thread::sleep(Duration::from_millis(5));
    }
    change();
    // The file is looked at every 50 ms.
    std::thread::sleep(Duration::from_millis(120));
    open.send(()).expect("the model is there");
    started.finish().says("[cli:local]\ndone\n")
}

#[test]
fn a_hook_that_is_taken_away_while_the_turn_runs_is_gone_at_the_next_call() {
    let home = with_rewriter("[\"hook:before-tool-call\"]");
    let finished = two_calls(&home, || home.configure("[plugins.a]\ngrants = []"));
    assert_eq!(written_by(&finished), ["a", "model"], "{finished}");
}

#[test]
fn a_hook_granted_during_a_turn_is_called_at_the_next_call() {
    let home = with_rewriter("[]");
    let finished = two_calls(&home, || home.configure("[plugins.a]\ngrants = [\"hook:before-tool-call\"]"));
    assert_eq!(written_by(&finished), ["model", "a"], "{finished}");
}

#[test]
fn a_configuration_that_is_broken_while_the_turn_runs_changes_no_grant() {
    let home = with_rewriter("[\"hook:before-tool-call\"]");
    let file = home.bub_home().join("config.toml");
    let finished = two_calls(&home, || fs::write(&file, "[plugins.a\ngrants =").expect("it can be written"));
    assert_eq!(written_by(&finished), ["a", "a"], "{finished}");
    finished.mentions("the grants stay as they were");
}

#[test]
fn the_command_takes_a_grant_away_while_the_turn_runs() {
    let home = with_rewriter("[\"hook:before-tool-call\"]");
    let finished = two_calls(&home, || {
        let revoked = home.bub(["plugin", "revoke", "a", "hook:before-tool-call"]).finish();
        assert_eq!(revoked.code, Some(0), "{revoked}");
    });
    assert_eq!(written_by(&finished), ["a", "model"], "{finished}");
}

/// `bub-wasm plugin grant`, as a person does it.
#[track_caller]
fn grant(home: &Home, arguments: &[&str]) -> Finished {
    let granted = home.bub(["plugin", "grant"].into_iter().chain(arguments.iter().copied())).finish();
    assert_eq!(granted.code, Some(0), "{granted}");
    granted
}

#[test]
fn a_changed_byte_revokes_the_grants_until_they_are_given_again() {
    let home = home().bare().strict();
    home.scripted("a", programs::SCRIPTED, "run-model = \"from a\"");
    home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions("bub-wasm plugin grant a");
    grant(&home, &["a", "hook:run-model"]);
    home.run(["hi"]).finish().says("[cli:local]\nfrom a\n");

    let bytes = fs::read(file(&home, "a")).expect("it is there");
    fs::write(file(&home, "a"), component::with_section(&bytes, "note", b"one byte more")).expect("a file");
    home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions("its grants are not for these bytes");
    let listed = home.bub(["plugin", "list"]).finish();
    assert!(listed.stdout.contains("its grants are not for these bytes"), "{listed}");
    let listed = home.bub(["plugin", "list", "--json"]).finish();
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    let row = listed["plugins"].as_array().into_iter().flatten().find(|row| row["name"] == "a").cloned();
    let row = row.unwrap_or_else(|| panic!("`a` is not listed in {listed}"));
    assert_eq!((&row["other_bytes"], &row["grants"]), (&Value::Bool(true), &Value::Array(Vec::new())), "{row}");

    grant(&home, &["a", "hook:run-model"]);
    home.run(["hi"]).finish().says("[cli:local]\nfrom a\n");
}

#[test]
fn grants_that_follow_hold_for_any_bytes_under_the_name() {
    let home = home().bare().strict();
    home.scripted("a", programs::SCRIPTED, "run-model = \"from a\"");
    grant(&home, &["a", "hook:run-model", "--follow"]);
    let bytes = fs::read(file(&home, "a")).expect("it is there");
    fs::write(file(&home, "a"), component::with_section(&bytes, "note", b"built again")).expect("a file");
    home.run(["hi"]).finish().says("[cli:local]\nfrom a\n");
}

#[test]
fn grants_of_one_name_are_not_another_names() {
    let home = home().bare().strict();
    home.scripted("a", programs::SCRIPTED, "run-model = \"from a\"");
    grant(&home, &["a", "hook:run-model"]);
    fs::rename(file(&home, "a"), file(&home, "b")).expect("it is there");
    home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions("plugin `b` is not asked");
}

#[test]
fn a_plugin_that_calls_itself_as_an_embedded_one_is_refused() {
    let home = home();
    for name in ["builtin", "offline"] {
        plant(&home, "mine", programs::PROMPT_UPPER, &format!("{{\"name\": \"{name}\"}}"));
        let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
        finished.mentions(&format!(
            "plugin `mine` did not load: it calls itself `{name}`, which is the name of an embedded plugin"
        ));
    }
}

#[test]
fn a_file_with_the_name_of_an_embedded_plugin_is_refused() {
    let home = home().strict();
    home.plugin("builtin", programs::PROMPT_UPPER).plugin("offline", programs::PROMPT_UPPER);
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    let finished = finished.mentions("plugin `builtin` did not load: the name is taken by an embedded plugin");
    finished.mentions("plugin `offline` did not load: the name is taken by an embedded plugin");
}

#[test]
fn the_hosts_own_keys_of_the_state_are_not_a_guests_to_write() {
    let home = home().bare();
    home.configure("[plugins.hostile.config]\nmode = \"keys\"");
    home.plugin("hostile", programs::HOSTILE);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nalive\n");
    let tried = &finished.saw_hook("keys")[0]["tried"];
    assert_eq!(*tried, serde_json::json!(["ErrorKind::Denied", "ErrorKind::Denied", "ErrorKind::Denied", "taken"]));
    let seen = &finished.saw_hook("state")[0];
    let workspace = home.workspace().to_string_lossy().into_owned();
    assert_eq!(seen["workspace"], workspace, "{finished}");
    let state: Value = serde_json::from_str(seen["state"].as_str().unwrap_or_default()).expect("it is JSON");
    let expected = serde_json::json!({
        "_runtime_workspace": workspace, "session_id": "cli:local", "_commands": "all", "mine": "forged", "loaded": true,
    });
    assert_eq!(state, expected, "{finished}");
}

#[test]
fn an_invalid_manifest_is_rejected_with_the_reason() {
    let deep = format!("{{\"config_schema\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let wants = |grant: &str| format!("{{\"wants\": [{{\"grant\": \"{grant}\", \"why\": \"\"}}]}}");
    let cases = [
        ("no json".to_owned(), "its manifest is no JSON"),
        ("\"text\"".to_owned(), "its manifest is not understood"),
        (deep, "its manifest is JSON nested deeper than 64"),
        ("{\"nmae\": \"x\"}".to_owned(), "unknown field `nmae`"),
        ("{\"after_turn\": \"all\"}".to_owned(), "unknown variant `all`, expected `every` or `selected`"),
        (wants("tapes:read"), "its manifest wants `tapes:read`, which is not a grant; did you mean `tape`"),
        (wants("tape:reed"), "its manifest wants `tape:reed`, which is not a grant; did you mean `tape:read`"),
        (wants("agent:all"), "its manifest wants `agent:all`, but `agent` takes no argument"),
        (wants("fs:/tmp"), "its manifest wants `fs:/tmp`, which does not end with `:ro` or `:rw`"),
        (wants("secret:"), "its manifest wants `secret:`, which lacks its target"),
        (format!("{{\"about\": \"{}\"}}", "x".repeat(70_000)), "its manifest has more than 64 KiB"),
    ];
    for (manifest, reason) in cases {
        let home = home();
        plant(&home, "mine", programs::PROMPT_UPPER, &manifest);
        let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
        let line = finished.stderr.lines().find(|line| line.contains("plugin `mine` did not load"));
        assert!(line.is_some_and(|line| line.contains(reason)), "expected `{reason}` of `{manifest:.40}`\n{finished}");
    }
}

#[test]
fn a_manifest_that_is_a_list_is_refused() {
    let home = home();
    plant(&home, "mine", programs::PROMPT_UPPER, "[]");
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    finished.mentions("plugin `mine` did not load: its manifest is not understood");
}

#[test]
fn a_duplicate_manifest_is_rejected() {
    let home = home();
    plant(&home, "mine", programs::PROMPT_UPPER, "{}");
    let bytes = fs::read(file(&home, "mine")).expect("it is there");
    fs::write(file(&home, "mine"), component::with_section(&bytes, "bub:manifest", b"{}")).expect("a file");
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    finished.mentions("plugin `mine` did not load: it has two sections `bub:manifest`");
}

#[test]
fn a_grant_that_the_manifest_does_not_request_cannot_be_given() {
    let home = home().strict();
    plant(&home, "mine", programs::SCRIPTED, "{\"wants\": [{\"grant\": \"tape:read\", \"why\": \"to look\"}]}");
    let refused = home.bub(["plugin", "grant", "mine", "process"]).finish();
    refused.fails("plugin `mine` does not ask for `process`");
    let refused = home.bub(["plugin", "grant", "mine", "proces"]).finish();
    refused.fails("`proces`, which is not a grant; did you mean `process`");
}
