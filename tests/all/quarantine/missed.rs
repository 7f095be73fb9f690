//! Turns without a plugin that they need.

use super::{TRAP, weak};
use crate::home;
use bub_tests::{Answer, Home, Server, programs, tape};
use serde_json::Value;

#[test]
fn the_next_model_answers_meanwhile() {
    let home = home().without_tools();
    home.scripted("weak", programs::SCRIPTED, &format!("run-model = {TRAP}"));
    (0..3).for_each(|_| drop(home.run(["ECHO:hi"]).finish().fails("hook `run-model` of plugin `weak`: trapped: ")));
    let finished = home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    finished.mentions("plugin `builtin` is the model in place of `weak`, which is in quarantine");
}

#[test]
fn without_another_model_the_turn_reports_it_and_keeps_its_messages() {
    let home = weak("run-model", TRAP);
    (0..3).for_each(|_| drop(home.run(["hi"]).finish().fails("hook `run-model` of plugin `weak`: trapped: ")));
    let line = "no other plugin answers while plugin `weak` is in quarantine in session `cli:local`";
    let finished = home.run(["what now"]).finish().fails(line);
    assert!(finished.stderr.contains("bub-wasm plugin unquarantine weak"), "{finished}");

    let tape = tape::read(&home.tape_file("cli:local"));
    let [.., said, error] = tape.as_slice() else { panic!("too little is on the tape: {tape:?}") };
    assert_eq!((&said["kind"], &said["payload"]["content"]), (&"message".into(), &"what now".into()));
    assert!(error["payload"]["message"].as_str().is_some_and(|text| text.contains(line)), "{error}");
}

/// A home with a selector that traps, and has done so three times.
fn without_selector(has_another: bool) -> (Home, Server) {
    let home = home().without_tools();
    home.configure("[plugins.choosy]\ngrants = [\"tape:event\"]\n[plugins.choosy.config]\ndeed = \"trap\"");
    if !has_another {
        let grants =
            ["run-model-stream", "build-prompt", "render-outbound", "on-error"].map(|hook| format!("\"hook:{hook}\""));
        let others = "\"tape:read\", \"tape:append\", \"model:*\", \"tools:*\", \"agent\"";
        home.configure(&format!("[plugins.builtin]\ngrants = [{}, {others}]", grants.join(", ")));
    }
    home.plugin("choosy", programs::CHOOSY);
    for word in ["one", "two", "three"] {
        let finished = home.run([&*format!("ECHO:{word}")]).finish().says(&format!("[cli:local]\n{word}\n"));
        finished.mentions("hook `selector` of plugin `choosy`: trapped: ");
    }
    (home, Server::new([Answer::text("hello")]))
}

#[test]
fn the_next_selector_is_used_and_the_turn_reports_it() {
    let (home, server) = without_selector(true);
    let finished = home.run(["and now"]).model(&server).finish().says("[cli:local]\nhello\n");
    let line = "plugin `builtin` selects in place of `choosy`, which is in quarantine";
    assert_eq!(finished.stderr.matches(line).count(), 1, "{finished}");
}

#[test]
fn without_another_selector_the_whole_window_is_used_and_the_turn_reports_it() {
    let (home, server) = without_selector(false);
    let finished = home.run(["and now"]).model(&server).finish().says("[cli:local]\nhello\n");
    let line = "everything since the latest anchor is taken while plugin `choosy`, which selects, is in quarantine";
    assert_eq!(finished.stderr.matches(line).count(), 1, "{finished}");
    let asked = &server.requests()[0].body;
    assert!(["one", "two", "three"].iter().all(|word| asked.contains(word)), "{asked}");
}

#[test]
fn while_the_tape_store_is_quarantined_no_turn_begins() {
    let home = home().without_tools();
    home.configure(
        "[plugins.keeper]\nfollow = true\ngrants = [\"hook:tape-store\"]\n[plugins.keeper.config]\nmode = \"trap\"",
    );
    home.plugin("keeper", programs::KEEPER);
    for _ in 0..3 {
        home.run(["ECHO:hi"]).finish().fails("of plugin `keeper`: trapped: ");
    }
    let finished = home.run(["ECHO:hi"]).finish().fails("hook `store` of plugin `keeper`: in quarantine");
    assert!(finished.stderr.contains("bub-wasm plugin unquarantine keeper"), "{finished}");
    let tapes = std::fs::read_dir(home.tapes_dir()).into_iter().flatten().flatten();
    let tapes: Vec<_> =
        tapes.map(|file| file.file_name()).filter(|name| name.to_string_lossy().ends_with(".jsonl")).collect();
    assert!(tapes.is_empty(), "tapes were kept elsewhere: {tapes:?}");
    // The other way round the file would be another history.
    home.bub(["plugin", "unquarantine", "keeper"]).finish().says("plugin `keeper` is no longer in quarantine\n");
    home.configure("[plugins.keeper.config]\nmode = \"\"");
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
}

/// The model calls `bash`; returns the result that it reads.
#[track_caller]
fn calls_bash(home: &Home) -> (String, Vec<String>) {
    let server = Server::new([Answer::tool_call("bash", r#"{"cmd": "echo hello-from-tool"}"#), Answer::text("done")]);
    let finished = home.run(["go on", "--allow", "run"]).model(&server).watched().finish().says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    // Behind those of the turns before.
    let result = messages.iter().rfind(|message| message["role"] == "tool").expect("the call has a result");
    (result["content"].as_str().unwrap_or_default().to_owned(), finished.asked("before-tool-call"))
}

#[test]
fn a_gate_in_quarantine_denies() {
    let home = home();
    home.configure("[plugins.guard]\non_fault = \"deny\"");
    home.scripted("guard", programs::SCRIPTED, &format!("before-tool-call = {TRAP}"));
    for _ in 0..3 {
        assert_eq!(calls_bash(&home).1, ["guard"]);
    }
    let (result, asked) = calls_bash(&home);
    let error: Value = serde_json::from_str(&result).unwrap_or_default();
    assert_eq!((&error["kind"], asked.len()), (&"denied".into(), 0), "{result}");
    let says = ["the gate `guard`", "in quarantine", "bub-wasm plugin unquarantine guard"];
    assert!(says.iter().all(|text| result.contains(text)), "{result}");
}

#[test]
fn a_gate_in_front_of_the_model_denies_in_quarantine() {
    let home = home().without_tools();
    home.configure("[plugins.guard]\non_fault = \"deny\"");
    home.scripted("guard", programs::SCRIPTED, &format!("before-llm-call = {TRAP}"));
    for _ in 0..3 {
        home.run(["ECHO:hi"]).finish().fails("the gate `guard` did not decide: hook `before-llm-call`");
    }
    let finished = home.run(["ECHO:hi"]).watched().finish();
    assert!(finished.stderr.contains("the gate `guard` did not decide") && finished.code == Some(1), "{finished}");
    assert!(finished.stderr.contains("in quarantine") && finished.asked("before-llm-call").is_empty(), "{finished}");
}

#[test]
fn a_hook_that_is_no_gate_is_passed_over_and_the_tool_is_called() {
    let home = home();
    home.scripted("weak", programs::SCRIPTED, &format!("before-tool-call = {TRAP}"));
    for _ in 0..3 {
        assert_eq!(calls_bash(&home), ("hello-from-tool".to_owned(), vec!["weak".to_owned()]));
    }
    assert_eq!(calls_bash(&home), ("hello-from-tool".to_owned(), Vec::new()));
}
