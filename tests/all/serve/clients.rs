//! Programs of others against the API: OpenAI's official clients, and schemathesis, of `crate::packages`.

use super::{last_line, serve};
use crate::home;
use crate::packages::{node, python, required, source};
use bub_tests::{Answer, Request, Server};
use std::process::{Command, Output};

/// A model that does what the clients ask of it.
fn clever() -> Server {
    Server::ruled(|request: &Request| {
        let messages = request.messages();
        let last = messages.last().cloned().unwrap_or_default();
        let Some(text) = last["content"].as_str() else { return Answer::counted("you see a picture", 7) };
        match last_line(text) {
            "use the tool" => Answer::tool_call("fs_read", r#"{"path": "note.txt"}"#),
            // The agent's text after a tool's result.
            said if said.starts_with("Continue the task") => Answer::counted("the word is heron", 7),
            "fail" => Answer::refusal("the model is cross"),
            said => Answer::counted(&format!("you said: {said}"), 7),
        }
    })
}

#[track_caller]
pub(crate) fn is_content(output: &Output, who: &str) {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains(&format!("{who} is content")), "{stdout}{stderr}");
}

#[test]
fn the_official_client_of_python_talks_to_it() {
    let Some(python) = required(python("openai", "3.54.0", "openai")) else { return };
    let (home, model) = (home(), clever());
    std::fs::write(home.workspace().join("note.txt"), "heron").unwrap();
    let serve = serve(&home, &model);
    let mut client = Command::new(python);
    let client = client.arg(source("client.py")).env("BASE", serve.base()).env("TOKEN", serve.token());
    is_content(&client.output().unwrap(), "python");
    serve.end();
    assert_eq!(failures(&model), 2, "a turn that failed is not tried again by the client");
}

#[test]
fn the_official_client_of_javascript_talks_to_it() {
    let Some(dir) = required(node("openai", "7.57.0")) else { return };
    let (home, model) = (home(), clever());
    std::fs::write(home.workspace().join("note.txt"), "heron").unwrap();
    let serve = serve(&home, &model);
    // A script finds its packages beside it.
    let script = dir.join("client.mjs");
    std::fs::copy(source("client.mjs"), &script).unwrap();
    let mut client = Command::new("node");
    let client = client.arg(script).env("BASE", serve.base()).env("TOKEN", serve.token());
    is_content(&client.output().unwrap(), "javascript");
    serve.end();
    assert_eq!(failures(&model), 2, "a turn that failed is not tried again by the client");
}

fn failures(model: &Server) -> usize {
    let content = |request: &Request| request.messages().last()?["content"].as_str().map(str::to_owned);
    model.requests().iter().filter_map(content).filter(|content| last_line(content) == "fail").count()
}

#[test]
fn schemathesis_finds_no_answer_that_the_document_does_not_know() {
    let Some(python) = required(python("schemathesis", "4.32.5", "schemathesis")) else { return };
    let (home, model) = (home(), super::echo());
    let serve = serve(&home, &model);
    super::say(&serve, "http:a", "hello");
    let output = Command::new(python.with_file_name("schemathesis"))
        .args(["run", &format!("{}/v1/openapi.json", serve.base())])
        .args(["--header", &format!("Authorization: Bearer {}", serve.token())])
        .args([
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
        ])
        // Streams without an end.
        .args(["--exclude-path", "/v1/events"])
        .args(["--exclude-path", "/v1/sessions/{session}/stream"])
        .args(["--exclude-path", "/v1/approvals/stream"])
        .args(["--exclude-path", "/v1/log"])
        .args(["--exclude-path", "/mcp"])
        // It makes no components.
        .args(["--exclude-path", "/v1/plugins/inspect"])
        // It writes no lines of JSON.
        .args(["--exclude-path", "/v1/witness"])
        .args([
            "--max-examples",
            "20",
            "--seed",
            "1",
            "--request-timeout",
            "60",
            "--no-color",
            "--generation-database",
            "none",
        ])
        .env("SCHEMATHESIS_HOOKS", "lines")
        .env("PYTHONPATH", source(""))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HYPOTHESIS_STORAGE_DIRECTORY", home.workspace())
        .current_dir(home.workspace())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(serve.strange("GET", "/healthz").send().status, 200);
}
