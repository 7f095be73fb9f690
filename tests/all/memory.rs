//! The guest `memory`: its writes, the model's view of them, and the principals that may change it.

mod behaviours;
mod crash;
mod flows;
mod forgetting;
mod grants;
mod growth;
mod limits;
mod long;
mod people;
mod resets;
mod sharing;
mod taint;

use crate::home;
use bub_tests::{Answer, Home, Server, tape};
use serde_json::{Value, json};

/// The session whose tape holds what all sessions of the workspace share.
const WORKSPACE: &str = "";

/// The session that `run` goes on with.
const SESSION: &str = "cli:local";

fn entries(home: &Home, session: &str) -> Vec<Value> {
    let file = home.tape_file(session);
    if file.exists() { tape::read(&file) } else { Vec::new() }
}

fn is_anchor(entry: &Value, name: &str) -> bool {
    entry["kind"] == "anchor" && entry["payload"]["name"] == name
}

/// The entries of the tape with the section: the workspace's tape, or the sidecar of the session's.
fn kept(home: &Home, session: &str) -> Vec<Value> {
    let file = if session == WORKSPACE { home.tape_file(session) } else { home.sidecar_file(session, "memory") };
    if file.exists() { tape::read(&file) } else { Vec::new() }
}

/// The latest section, from its open to its seal.
#[track_caller]
fn zone(home: &Home, session: &str) -> Vec<Value> {
    let entries = kept(home, session);
    let seal = entries.iter().rposition(|entry| is_anchor(entry, "memory/seal")).expect("there is a zone");
    let open = entries[..seal].iter().rposition(|entry| is_anchor(entry, "memory/open")).expect("it was opened");
    entries[open..=seal].to_vec()
}

/// The version, then the long-term memory and the notes, as `(date, content)`, in their order.
#[track_caller]
fn contents(home: &Home, session: &str) -> (u64, Option<String>, Vec<(String, String)>) {
    let zone = zone(home, session);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = |name: &'static str| zone.iter().filter(move |entry| entry["payload"]["name"] == name);
    let long_term = events("memory.long_term").map(|entry| text(&entry["payload"]["data"]["content"])).next();
    let notes = events("memory.daily").map(|entry| &entry["payload"]["data"]);
    let notes = notes.map(|data| (text(&data["date"]), text(&data["content"]))).collect();
    (zone[0]["payload"]["state"]["version"].as_u64().expect("a version"), long_term, notes)
}

/// The result of a call of the tool, as the model reads it.
#[track_caller]
fn call(home: &Home, tool: &str, arguments: &Value) -> Value {
    call_in(home, SESSION, tool, arguments)
}

/// The same in some session.
#[track_caller]
fn call_in(home: &Home, session: &str, tool: &str, arguments: &Value) -> Value {
    let name = tool.replace('.', "_");
    let server = Server::new([Answer::tool_call(&name, &arguments.to_string()), Answer::text("done")]);
    home.run(["go on", "--session-id", session]).model(&server).finish().says("[cli:local]\ndone\n");
    result(&server)
}

/// The result of a tool call in the last request.
#[track_caller]
fn result(server: &Server) -> Value {
    let messages = server.requests().last().expect("the model was asked").messages();
    let result = messages.iter().rfind(|message| message["role"] == "tool").expect("the call has a result");
    let content = result["content"].as_str().unwrap_or_default();
    serde_json::from_str(content).unwrap_or_else(|_| content.into())
}

/// A command that the owner types, and its answer.
#[track_caller]
fn typed(home: &Home, line: &str) -> String {
    let finished = home.run([line]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.stdout.strip_prefix("[cli:local]\n").unwrap_or(&finished.stdout).trim_end().to_owned()
}

/// The system prompt of a turn of that session.
#[track_caller]
fn system(home: &Home, session: &str) -> String {
    system_of(home, &["hi", "--session-id", session])
}

#[track_caller]
fn system_of(home: &Home, arguments: &[&str]) -> String {
    let server = Server::new([Answer::text("hello")]);
    let finished = home.run(arguments.iter().copied()).model(&server).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    server.requests()[0].messages()[0]["content"].as_str().unwrap_or_default().to_owned()
}

/// The `<memory>` block of a system prompt; none where there is none.
fn block(system: &str) -> Option<&str> {
    let (_, from) = system.split_once("<memory>\n")?;
    Some(from.split_once("\n</memory>")?.0)
}

/// The user's date, as the model's prompt states it.
#[track_caller]
fn today(home: &Home) -> String {
    let system = system(home, "today");
    let (_, rest) = system.split_once("Today is ").expect("the date is said");
    rest[..10].to_owned()
}

/// A tape as another program left it. Each line is a kind, a payload and a meta.
fn plant(home: &Home, session: &str, lines: &[(&str, Value, Value)]) {
    let lines = (1..).zip(lines).map(|(id, (kind, payload, meta))| {
        let entry =
            json!({ "id": id, "kind": kind, "payload": payload, "meta": meta, "date": "2026-02-10T10:00:00+00:00" });
        tape::python_json(&entry) + "\n"
    });
    std::fs::create_dir_all(home.tapes_dir()).expect("a directory");
    std::fs::write(home.tape_file(session), lines.collect::<String>()).expect("a tape");
}

/// An anchor of a section as Bub wrote it.
fn bubs(end: &str, version: u64) -> (&'static str, Value, Value) {
    ("anchor", json!({ "name": format!("memory/{end}"), "state": { "version": version } }), json!({}))
}

/// A home that keeps notes however old they are.
fn keeping() -> Home {
    let home = home();
    home.configure("[plugins.memory.config]\nretention_days = 36500");
    home
}
