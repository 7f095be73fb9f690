//! Gates, which are plugins with `on_fault = "deny"`: a call that they do not allow fails, even if they cannot answer.

use crate::home;
use bub_tests::{Answer, Finished, Home, Server, programs};
use serde_json::Value;
use std::fs;

/// The recorded tools, and a gate `guard` that is configured but not there.
fn guarded() -> Home {
    let home = home();
    home.configure("[plugins.guard]\non_fault = \"deny\"");
    home
}

/// The model calls `bash` with that command; the result that it reads, and the run.
#[track_caller]
fn calls_bash(home: &Home, command: &str) -> (String, Finished) {
    let arguments = serde_json::json!({ "cmd": command }).to_string();
    let server = Server::new([Answer::tool_call("bash", &arguments), Answer::text("done")]);
    let finished = home.run(["go on"]).model(&server).watched().finish().says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    (result["content"].as_str().unwrap_or_default().to_owned(), finished)
}

/// The tool is not called, and the model reads that it was denied and by whom.
#[track_caller]
fn denies(home: &Home) -> Finished {
    let (result, finished) = calls_bash(home, "echo hello-from-tool");
    let error: Value = serde_json::from_str(&result).unwrap_or_default();
    assert_eq!(error["kind"], "denied", "{result}\n{finished}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("`guard`")), "{result}\n{finished}");
    assert!(!result.contains("hello-from-tool"), "the tool was called: {result}\n{finished}");
    finished
}

#[test]
fn a_gate_whose_file_is_missing_denies() {
    denies(&guarded());
}

#[test]
fn a_gate_whose_file_is_corrupt_denies() {
    let home = guarded();
    let whole = fs::read(programs::SCRIPTED).expect("the program was built");
    let torn = &whole[..whole.len() / 2];
    fs::write(home.bub_home().join("plugins/guard.wasm"), torn).expect("the home can be written");
    denies(&home).mentions("plugin `guard` did not load: ");
}

#[test]
fn a_gate_that_traps_denies() {
    let home = guarded();
    home.scripted("guard", programs::SCRIPTED, "before-tool-call = { trap = true }");
    denies(&home);
}

#[test]
fn a_gate_that_fails_denies() {
    let home = guarded();
    home.scripted("guard", programs::SCRIPTED, r#"before-tool-call = { error = "I cannot tell" }"#);
    denies(&home);
}

#[test]
fn a_gate_that_rewrites_arguments_denies() {
    let home = guarded();
    let rewrites = r#"before-tool-call = { rewrite = { cmd = "echo hello-from-tool" } }"#;
    home.scripted("guard", programs::SCRIPTED, rewrites);
    denies(&home);
}

#[test]
fn a_disabled_gate_is_not_a_gate() {
    let home = home();
    home.configure("[plugins.guard]\non_fault = \"deny\"\nenabled = false");
    let (result, finished) = calls_bash(&home, "echo hello-from-tool");
    assert_eq!(result, "hello-from-tool", "{finished}");
}

#[test]
fn a_gate_that_allows_passes_the_call() {
    let home = guarded();
    home.scripted("guard", programs::SCRIPTED, "");
    let (result, finished) = calls_bash(&home, "echo hello-from-tool");
    assert_eq!(result, "hello-from-tool", "{finished}");
}

/// By name the gate is the last one registered, and would be asked first if it were none.
#[test]
fn a_gate_is_called_last_and_sees_the_final_arguments() {
    let home = guarded();
    home.scripted("a", programs::SCRIPTED, r#"before-tool-call = { rewrite = { cmd = "rm everything" } }"#);
    home.scripted("guard", programs::SCRIPTED, r#"before-tool-call = { deny = "`guard` knows that one" }"#);
    let finished = denies(&home);
    assert_eq!(finished.asked("before-tool-call"), ["a", "guard"], "{finished}");
    let seen = finished.saw_hook("before-tool-call");
    assert_eq!(seen[1]["arguments"]["cmd"], "rm everything", "{finished}");
}

#[test]
fn a_gate_in_front_of_the_model_that_traps_ends_the_call() {
    let home = guarded();
    home.scripted("guard", programs::SCRIPTED, "before-llm-call = { trap = true }");
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().fails("the gate `guard` did not decide");
    assert!(server.requests().is_empty());
}

/// The output of `plugin` with these arguments.
#[track_caller]
fn told<'a>(home: &Home, arguments: impl IntoIterator<Item = &'a str>) -> String {
    crate::plugin_add::does(home, arguments)
}

const AWAY: &str = "every tool call is denied until it is loaded again, or `on_fault = \"deny\"` is removed from `[plugins.guard]` of config.toml";

#[test]
fn a_gate_is_marked_as_such_and_its_removal_reports_its_denials() {
    let home = guarded().strict();
    home.scripted("guard", programs::SCRIPTED, "");
    let means =
        "where it breaks, tool calls and model calls are denied; while it is not loaded, every tool call is denied";
    assert!(told(&home, ["inspect", "guard"]).contains(&format!("gate (`on_fault = \"deny\"`): {means}\n")));
    assert!(told(&home, ["list"]).contains(&format!("is a gate: {means}\n")));
    let json: Value = serde_json::from_str(&told(&home, ["inspect", "guard", "--json"])).expect("it is JSON");
    assert_eq!(json["gate"], true);
    told(&home, ["grant", "guard"]);
    let removed = told(&home, ["remove", "guard"]);
    assert!(removed.contains(&format!("it is a gate: {AWAY}\n")), "{removed}");
    assert!(removed.contains("it was asked about model calls: it can no longer deny them\n"), "{removed}");
    // And so it is.
    assert!(told(&home, ["list"]).contains(&format!("guard           is a gate and not there: {AWAY}\n")));
    denies(&home);
    // Removing the setting has the stated effect.
    let config = fs::read_to_string(home.bub_home().join("config.toml")).expect("it is there");
    let config = config.replace("on_fault = \"deny\"", "");
    fs::write(home.bub_home().join("config.toml"), config).expect("it can be written");
    let server = Server::new([Answer::tool_call("bash", r#"{"cmd": "echo hello-from-tool"}"#), Answer::text("done")]);
    home.run(["go on", "--session-id", "other"]).model(&server).finish();
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    assert_eq!(result["content"], "hello-from-tool");
}

#[test]
fn removing_a_plugin_that_denies_calls_is_reported() {
    let home = home().strict();
    home.scripted("guard", programs::SCRIPTED, r#"before-tool-call = { deny = "no" }"#);
    told(&home, ["grant", "guard"]);
    assert!(!told(&home, ["inspect", "guard"]).contains("gate"));
    let removed = told(&home, ["remove", "guard"]);
    let says = "it was asked about tool calls and model calls: it can no longer deny them\n";
    assert!(removed.contains(says) && !removed.contains("it is a gate"), "{removed}");
    let home = crate::plugin_add::new();
    home.plugin("upper", programs::PROMPT_UPPER);
    assert!(!told(&home, ["remove", "upper"]).contains("denied"));
}
