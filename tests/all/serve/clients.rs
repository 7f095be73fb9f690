//! Programs of others against the API: OpenAI's official clients, and schemathesis. They come from their registries; where
//! they cannot be had, their tests say so.

use super::{last_line, serve};
use crate::home;
use bub_tests::{Answer, Request, Server};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where such programs are put: they outlive a test.
pub(crate) fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub(crate) fn source(name: &str) -> String {
    format!("{}/../../tests/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn runs(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Says that something is not there. Not by a macro: the test runner keeps what those print to itself.
pub(crate) fn absent(what: &str) {
    let mut err = std::io::stderr();
    let _ = writeln!(err, "\nnot tested: {what} cannot be installed here");
}

/// A Python that has that package, or none.
pub(crate) fn python(package: &str, version: &str) -> Option<PathBuf> {
    let dir = place(&format!("python-{package}"));
    let python = dir.join("bin/python");
    let knows = || runs(Command::new(&python).args(["-c", &format!("import {package}")]));
    let install = || {
        runs(Command::new("python3").args(["-m", "venv"]).arg(&dir))
            && runs(Command::new(&python).args(["-m", "pip", "install", "--quiet", &format!("{package}=={version}")]))
    };
    if knows() || (install() && knows()) {
        return Some(python);
    }
    absent(&format!("`{package}` for Python"));
    None
}

/// A folder in which Node finds that package, or none.
pub(crate) fn node(package: &str, version: &str) -> Option<PathBuf> {
    let dir = place(&format!("node-{}", package.replace(['@', '/'], "-")));
    let is_there = || dir.join("node_modules").join(package).join("package.json").is_file();
    let install = || {
        let named = format!("{package}@{version}");
        runs(Command::new("npm").args(["install", "--silent", "--no-save", "--prefix"]).arg(&dir).arg(named))
    };
    if runs(Command::new("node").arg("--version")) && (is_there() || (install() && is_there())) {
        return Some(dir);
    }
    absent(&format!("`{package}` for Node"));
    None
}

/// A client that cannot be had is a failure where nothing may be left out, as in `.ci/run`.
pub(crate) fn required<T>(client: Option<T>) -> Option<T> {
    let may_miss = std::env::var_os("BUB_LANGUAGES").is_none_or(|which| which != "all");
    assert!(client.is_some() || may_miss, "the client is not installed");
    client
}

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
    let Some(python) = python("openai", "3.54.0") else { return };
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
    let Some(dir) = node("openai", "7.57.0") else { return };
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
    let Some(python) = python("schemathesis", "4.32.5") else { return };
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
