//! The guests `workspace`, `shell`, `web` and `skills`: each tool as a model calls it, what it answers, and that
//! no tool works without its grant.

mod edges;
mod escapes;
mod files;
mod pages;
mod programs;

use crate::home;
use bub_tests::listener::{Listener, response};
use bub_tests::programs as built;
use bub_tests::{Answer, Home, Server};
use serde_json::{Value, json};
use std::path::Path;

const WORKSPACE: &str = "fs:<workspace>:rw";

/// A call, made of the results before it.
type Call = Box<dyn Fn(&[Value]) -> (String, Value) + Send + Sync>;

/// A home with that guest, which holds these grants, and a workspace that its owner vouches for: what is read there
/// would otherwise let nothing more be changed.
fn with(guest: &str, grants: &[&str]) -> Home {
    let home = home();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    add(&home, guest, grants);
    home
}

fn add(home: &Home, guest: &str, grants: &[&str]) {
    home.configure(&format!("[plugins.{guest}]\ngrants = {grants:?}"));
}

/// The results of parallel calls, as the model reads them.
#[track_caller]
fn together(home: &Home, calls: &[(&str, Value)]) -> Vec<Value> {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function })
    };
    let listed: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let server = Server::new([Answer::tool_calls(&listed), Answer::text("done")]);
    // Fetched text taints the turn; which URLs are allowed then is tested elsewhere.
    home.run(["go on", "--allow", "send"]).model(&server).finish().says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let mut all = results(&messages);
    // In front of them stand those of earlier turns.
    all.split_off(all.len().checked_sub(calls.len()).expect("each call has a result"))
}

/// The same one after the other. A call may be made of the results before it.
#[track_caller]
fn in_turn(home: &Home, calls: Vec<Call>) -> Vec<Value> {
    let wanted = calls.len();
    let model = Listener::new(move |request| {
        let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let done = results(&messages);
        let answer = match calls.get(done.len()) {
            Some(call) => {
                let (name, arguments) = call(&done);
                Answer::tool_call(&name, &arguments.to_string())
            }
            None => Answer::text("done"),
        };
        let Answer::Whole(status, kind, body) = answer else { return String::new() };
        response(status, &format!("content-type: {kind}\r\n"), &body)
    });
    let run = home.run(["go on"]).env("BUB_MODEL", "openai:fake-model").env("BUB_API_KEY", "sk-fake");
    let finished = run.env("BUB_API_BASE", format!("{}/v1", model.base())).finish().answers();
    assert_eq!(finished.stdout, "[cli:local]\ndone\n", "{finished}");
    let heard = model.heard();
    let last = heard.last().and_then(|request| request.split_once("\r\n\r\n")).map_or("", |(_, body)| body);
    let messages: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}\n{finished}"));
    let results = results(messages["messages"].as_array().expect("a request has messages"));
    assert_eq!(results.len(), wanted, "{finished}");
    results
}

/// One of the calls of [`in_turn`] that does not depend on the others.
fn call(name: &str, arguments: Value) -> Call {
    let name = name.to_owned();
    Box::new(move |_| (name.clone(), arguments.clone()))
}

/// The results of tools among messages; errors as the objects that they are.
fn results(messages: &[Value]) -> Vec<Value> {
    let contents = messages.iter().filter(|message| message["role"] == "tool").map(|message| &message["content"]);
    let object = |content: &Value| {
        let text = content.as_str()?;
        serde_json::from_str(text).ok().filter(Value::is_object)
    };
    contents.map(|content| object(content).unwrap_or_else(|| content.clone())).collect()
}

/// The kind of an error and its message; panics where it is none.
#[track_caller]
fn error(result: &Value) -> (&str, &str) {
    let text = |key: &str| result[key].as_str().unwrap_or_else(|| panic!("no error: {result}"));
    (text("kind"), text("message"))
}

fn path(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

#[test]
fn every_tool_is_denied_without_its_grant_and_names_it() {
    let home = with("workspace", &[]);
    add(&home, "shell", &[]);
    add(&home, "web", &[]);
    add(&home, "skills", &[]);
    let calls = [
        ("fs_read", json!({ "path": "a" }), "bub-wasm plugin grant workspace 'fs:<workspace>:rw'"),
        ("fs_write", json!({ "path": "a", "content": "b" }), "bub-wasm plugin grant workspace 'fs:<workspace>:rw'"),
        (
            "fs_edit",
            json!({ "path": "a", "old": "b", "new": "c" }),
            "bub-wasm plugin grant workspace 'fs:<workspace>:rw'",
        ),
        ("bash", json!({ "cmd": "echo hi" }), "bub-wasm plugin grant shell process:sandboxed"),
        ("bash_output", json!({ "shell_id": "bash-00000000" }), "bub-wasm plugin grant shell process:sandboxed"),
        ("bash_kill", json!({ "shell_id": "bash-00000000" }), "bub-wasm plugin grant shell process:sandboxed"),
        ("web_fetch", json!({ "url": "https://bub.invalid/a" }), "bub-wasm plugin grant web http:bub.invalid"),
        ("skill", json!({}), "bub-wasm plugin grant skills fs:~/.agents/skills:ro"),
        ("skill", json!({ "name": "a" }), "bub-wasm plugin grant skills fs:~/.agents/skills:ro"),
    ];
    std::fs::write(home.workspace().join("a"), "b").expect("it can be written");
    // One at a time: content of the web would make the others need approval.
    for (name, arguments, command) in calls {
        let results = together(&home, &[(name, arguments)]);
        let (kind, message) = error(&results[0]);
        assert_eq!(kind, "denied", "{name}: {message}");
        assert!(message.ends_with(command), "{name}: {message}");
    }
    assert_eq!(std::fs::read_to_string(home.workspace().join("a")).expect("it is there"), "b");
}

#[test]
fn each_guest_asks_for_its_own_grant_and_no_other() {
    for (wasm, wanted) in [
        (built::WORKSPACE, &["fs:<workspace>:rw"][..]),
        (built::SHELL, &["process:sandboxed"]),
        (built::WEB, &["http:*", "http:http://*"]),
        (
            built::SKILLS,
            &[
                "hook:system-prompt",
                "fs:~/.agents/skills:ro",
                "fs:<workspace>/.agents/skills:ro",
                "fs:<workspace>/.agent/skills:ro",
            ],
        ),
    ] {
        let bytes = std::fs::read(wasm).expect("it was built");
        let text = String::from_utf8_lossy(&bytes);
        let manifest = text.split_once("bub:manifest").map(|(_, behind)| behind).expect("it has a manifest");
        let manifest: Value = serde_json::Deserializer::from_str(manifest)
            .into_iter()
            .next()
            .expect("it is JSON")
            .unwrap_or_else(|error| panic!("{error}"));
        let wants = manifest["wants"].as_array().expect("it wants something");
        let grants: Vec<&str> = wants.iter().filter_map(|want| want["grant"].as_str()).collect();
        assert_eq!(grants, wanted);
    }
}
