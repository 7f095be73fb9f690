//! The log as JSON: what each line is about, and nothing that must not be in it.

use crate::home;
use bub_tests::{Answer, Server, programs};
use serde_json::Value;

/// The lines of a log, each a JSON object.
#[track_caller]
fn lines(stderr: &str) -> Vec<Value> {
    let line = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    stderr.lines().map(line).collect()
}

#[test]
fn a_json_log_line_names_turn_hook_and_plugin() {
    let home = home();
    home.scripted("porter", programs::SCRIPTED, "system-prompt = \"be brief\"");
    let model = Server::new([Answer::text("hello")]);
    let run = home.bub(["--log-format", "json", "run", "hi"]).model(&model).watched();
    let finished = run.finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let lines = lines(&finished.stderr);
    let line = lines.iter().find(|line| line["message"].as_str().is_some_and(|said| said.contains("system-prompt")));
    let line = line.unwrap_or_else(|| panic!("the plugin has said nothing: {lines:#?}"));
    let spans = line["spans"].as_array().expect("it stands in spans");
    // The innermost: a model hook asks other plugins' hooks.
    let span = |name: &str| spans.iter().rev().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{line:#}"));
    assert_eq!((&span("turn")["channel"], &span("turn")["session"]), (&"cli".into(), &"cli:local".into()), "{line:#}");
    assert_eq!(
        (&span("hook")["hook"], &span("hook")["plugin"]),
        (&"system-prompt".into(), &"porter".into()),
        "{line:#}"
    );
    assert!(line["timestamp"].is_string() && line["level"] == "INFO", "{line:#}");
}

#[test]
fn the_log_contains_no_key_and_no_token() {
    let home = home();
    let model = Server::ruled(|_| Answer::text("hello"));
    let run = home.bub(["--log-format", "json", "serve", "--listen", "127.0.0.1:0"]).model(&model);
    let serve = bub_tests::Serve::start(run.env("RUST_LOG", "trace"), &home.bub_home());
    let token = serve.token().to_owned();
    serve.post("/v1/turns", &serde_json::json!({ "content": "hi", "session_id": "s" }));
    let said = serve.end();
    assert!(lines(&said.stderr).len() > 10, "{said}");
    for secret in ["sk-fake", &token] {
        assert!(!said.stderr.contains(secret), "`{secret}` stands in the log");
    }
}
