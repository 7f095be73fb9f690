//! The model behind the page: it does what the last line of a message says.

use bub_tests::{Answer, Gate, Request, Server};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

const CONTINUED: &str = "Continue the task";

/// A model with gates: `wait at X` stops in the middle of its answer until a message, of any session, says `open X`.
pub(super) fn model() -> Server {
    let gates: Mutex<HashMap<String, Arc<Gate>>> = Mutex::default();
    Server::ruled(move |request| answer(request, &gates))
}

fn answer(request: &Request, gates: &Mutex<HashMap<String, Arc<Gate>>>) -> Answer {
    let messages = request.messages();
    let gate = |name: &str| Arc::clone(gates.lock().expect("no thread panicked").entry(name.to_owned()).or_default());
    // The loop goes on with a prompt of its own, behind the result of a tool or what steers the turn.
    let mut last = messages.iter().rev().skip_while(|message| text(&message["content"]).starts_with(CONTINUED));
    let last = last.next().cloned().unwrap_or_default();
    let said = text(&last["content"]);
    if last["role"] == "tool" {
        return Answer::counted(&format!("The tool said: {}", said.trim()), 900);
    }
    let line = said.lines().last().unwrap_or_default();
    match line.split_once(' ') {
        Some(("wait", rest)) => {
            let name = rest.trim_start_matches("at ");
            Answer::gated("The beginning of a long answer, ", &gate(name), "and its end.")
        }
        Some(("open", name)) => {
            gate(name).open();
            Answer::counted("It is open.", 7)
        }
        Some(("read", path)) => Answer::tool_call("fs_read", &format!("{{\"path\": {path:?}}}")),
        Some(("shell", command)) => Answer::tool_call("bash", &serde_json::json!({ "cmd": command }).to_string()),
        Some(("remember?", _)) => Answer::counted(&text(&messages[0]["content"]), 7),
        Some(("write", markdown)) => Answer::counted(&markdown.replace("\\n", "\n"), 120),
        _ => Answer::counted(&format!("you said: {line}"), 42),
    }
}

/// The text of a message, also where it is a list of parts.
fn text(content: &serde_json::Value) -> String {
    let parts =
        content.as_array().map(|parts| parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>());
    parts.map_or_else(|| content.as_str().unwrap_or_default().to_owned(), |parts| parts.join("\n"))
}
