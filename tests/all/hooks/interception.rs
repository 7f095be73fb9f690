//! The four hooks around a call of the model and of a tool: chained, and isolated from each other.

use crate::home;
use bub_tests::{Answer, Finished, Home, Server, programs};
use serde_json::Value;

/// The embedded guests, the recorded tools, and plugins `a`, `b`, ... with these answers.
fn with(answers: &[&str]) -> Home {
    let home = home();
    for (name, answers) in ["a", "b", "c"].iter().zip(answers) {
        home.scripted(name, programs::SCRIPTED, answers);
    }
    home
}

/// The model calls `bash` with that command and says `done` to whatever comes back; what came back, and the run.
fn bash(home: &Home, command: &str) -> (String, Finished) {
    let arguments = serde_json::json!({ "cmd": command }).to_string();
    let server = Server::new([Answer::tool_call("bash", &arguments), Answer::text("done")]);
    let finished = home.run(["go on"]).model(&server).watched().finish().says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    (result["content"].as_str().unwrap_or_default().to_owned(), finished)
}

#[test]
fn each_plugin_sees_the_request_as_the_one_before_it_left_it() {
    let home = with(&[r#"before-llm-call = { say = "from a" }"#, r#"before-llm-call = { say = "from b" }"#]);
    let server = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&server).watched().finish().says("[cli:local]\nhello\n");
    let messages = server.requests()[0].messages();
    let last: Vec<&Value> = messages.iter().rev().take(2).map(|message| &message["content"]).collect();
    assert_eq!(last, ["from a", "from b"], "{finished}");
    let seen = finished.saw_hook("before-llm-call");
    assert_eq!(seen[1]["last"], "from b", "{finished}");
    assert_eq!(seen[0]["purpose"], "turn", "{finished}");
}

#[test]
fn a_plugin_that_fails_before_the_call_is_skipped() {
    let traps = "before-llm-call = { trap = true }";
    let fails = r#"before-llm-call = { error = "no" }"#;
    let home = with(&[r#"before-llm-call = { say = "from a" }"#, fails, traps]);
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(server.requests()[0].last_content(), "from a");
}

#[test]
fn a_plugin_may_answer_in_the_models_place() {
    let home = with(&["", r#"before-llm-call = { answer = "cached" }"#]);
    let server = Server::new([]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\ncached\n");
    assert!(server.requests().is_empty());
}

#[test]
fn every_plugin_observes_the_models_answer_exactly_once() {
    let home = with(&["", "after-llm-call = { trap = true }", ""]);
    let server = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&server).watched().finish().says("[cli:local]\nhello\n");
    let heard = finished.saw_hook("after-llm-call");
    let mut plugins = finished.asked("after-llm-call");
    plugins.sort();
    assert_eq!(plugins, ["a", "b", "c"], "{finished}");
    assert!(heard.iter().all(|heard| heard["text"] == "hello" && heard["error"].is_null()), "{finished}");
}

#[test]
fn every_plugin_observes_a_failed_call_exactly_once() {
    let home = with(&[""]);
    let server =
        Server::new([Answer::Whole(400, "application/json", r#"{"error": {"message": "not today"}}"#.to_owned())]);
    let finished = home.run(["hi"]).model(&server).watched().finish().fails("not today");
    let heard = finished.saw_hook("after-llm-call");
    assert_eq!(heard.len(), 1, "{finished}");
    assert!(heard[0]["error"].as_str().is_some_and(|text| text.contains("not today")), "{finished}");
}

#[test]
fn a_tool_is_called_with_the_arguments_that_the_last_plugin_returned() {
    let rewrites = r#"before-tool-call = { rewrite = { cmd = "echo hello-from-tool" } }"#;
    let (result, finished) = bash(&with(&["", rewrites]), "rm everything");
    assert_eq!(result, "hello-from-tool", "{finished}");
    let seen = finished.saw_hook("before-tool-call");
    assert_eq!(
        (&seen[0]["name"], &seen[0]["arguments"]["cmd"]),
        (&"bash".into(), &"rm everything".into()),
        "{finished}"
    );
    assert_eq!(seen[1]["arguments"]["cmd"], "echo hello-from-tool", "{finished}");
}

#[test]
fn a_call_that_is_denied_is_not_made_and_the_model_reads_why() {
    let (result, finished) = bash(&with(&[r#"before-tool-call = { deny = "not on a Sunday" }"#]), "rm everything");
    assert!(result.contains("not on a Sunday"), "{result}\n{finished}");
    assert!(!result.contains("was not recorded"), "the tool was called: {result}\n{finished}");
    assert_eq!(finished.asked("after-tool-call"), ["a"], "{finished}");
}

#[test]
fn a_plugin_may_answer_in_the_tools_place() {
    let (result, finished) = bash(&with(&[r#"before-tool-call = { answer = "no need" }"#]), "rm everything");
    assert_eq!(result, "no need", "{finished}");
}

#[test]
fn a_plugin_that_fails_around_a_tool_is_skipped() {
    let fails = "before-tool-call = { trap = true }\nafter-tool-call = { error = \"no\" }";
    let (result, finished) = bash(&with(&["", fails]), "echo hello-from-tool");
    assert_eq!(result, "hello-from-tool", "{finished}");
    assert_eq!(finished.asked("before-tool-call"), ["b", "a"], "{finished}");
    assert_eq!(finished.asked("after-tool-call"), ["b", "a"], "{finished}");
}

#[test]
fn a_gate_that_faults_denies_the_call() {
    let home = with(&["before-tool-call = { trap = true }"]);
    home.configure("[plugins.a]\non_fault = \"deny\"");
    let (result, finished) = bash(&home, "echo hello-from-tool");
    assert!(!result.contains("hello-from-tool"), "{result}\n{finished}");
}

#[test]
fn each_plugin_sees_the_result_as_the_one_before_it_left_it() {
    let replaces = r#"after-tool-call = { replace = "shorter" }"#;
    let (result, finished) = bash(&with(&["", replaces]), "echo hello-from-tool");
    assert_eq!(result, "shorter", "{finished}");
    let seen = finished.saw_hook("after-tool-call");
    assert_eq!(seen[0]["outcome"]["ok"], "hello-from-tool", "{finished}");
    assert_eq!(seen[1]["outcome"]["ok"], "shorter", "{finished}");
}

#[test]
fn a_tool_that_is_not_there_is_a_result() {
    let home = with(&[""]);
    let server = Server::new([Answer::tool_call("no_such_tool", "{}"), Answer::text("done")]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    assert!(result["content"].as_str().is_some_and(|text| text.contains("no_such_tool")), "{result}");
}
