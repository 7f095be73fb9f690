//! What the program sends, read with the messages that the OpenTelemetry project publishes for Python.

use super::collector::Collector;
use crate::home;
use crate::packages::{python, required, source};
use bub_tests::Serve;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

#[test]
fn the_messages_of_the_project_read_all_that_is_sent() {
    let Some(python) = required(python("opentelemetry-proto", "1.45.2", "opentelemetry.proto.trace.v1.trace_pb2"))
    else {
        return;
    };
    let home = home();
    let collector = Collector::new();
    let run = collector.of(home.bub(["-w", ".", "serve", "--listen", "127.0.0.1:0"]));
    let serve = Serve::start(run.env("BUB_VERBOSE", "1"), &home.bub_home());
    serve.post("/v1/turns", &json!({ "content": "ECHO:hi", "session_id": "s" }));
    collector.wait_for("turn");
    collector.until("metrics and logs", |all| (!all.metrics().is_empty() && !all.logs().is_empty()).then_some(()));
    serve.end();
    let dir = tempfile::tempdir().expect("a directory");
    for (at, request) in collector.received().iter().enumerate() {
        let kind = request.path.rsplit('/').next().expect("a path has a last part");
        fs::write(dir.path().join(format!("{at:04}.{kind}")), &request.body).expect("a file");
    }
    let output = Command::new(python).arg(source("otlp.py")).arg(dir.path()).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let names = |kind: &str| -> Vec<String> {
        let all = read[kind].as_array().expect("a list").iter();
        all.map(|name| name.as_str().expect("a name").to_owned()).collect()
    };
    let mut spans: Vec<String> =
        collector.spans().into_iter().map(|span| format!("{} {}", span.id, span.name)).collect();
    let mut official = names("traces");
    spans.sort();
    official.sort();
    assert_eq!(official, spans);
    let metrics: Vec<String> = collector.metrics().into_iter().map(|metric| metric.name).collect();
    assert_eq!(names("metrics"), metrics);
    let logs: Vec<String> = collector.logs().into_iter().map(|line| line.text).collect();
    assert_eq!(names("logs"), logs);
}
