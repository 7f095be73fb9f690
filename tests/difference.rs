//! Where this project differs from the original on purpose, applied to what the original recorded. The numbers are
//! those of the list in the design.

use crate::tape::python_json;
use serde_json::{Value, json};

/// Number 3: a failed turn keeps the user's message, and an `error` entry says how it ended. `tape` ends with that
/// turn.
pub fn failed_turn_is_kept(tape: &mut Vec<Value>) {
    // For a failed command the entry is removed elsewhere, because others follow it.
    if tape.last().is_some_and(|entry| is_event(entry, "command")) {
        return;
    }
    let begin = tape.iter().rposition(|entry| is_event(entry, "loop.start")).expect("the turn has begun");
    let prompt = tape[begin]["payload"]["data"]["prompt"].clone();
    let said = tape[begin..].iter().any(|entry| entry["kind"] == "message" && entry["payload"]["role"] == "user");
    if !said {
        tape.push(entry("message", json!({ "role": "user", "content": prompt })));
    }
    tape.push(entry("error", json!({ "kind": "ours", "message": "ours" })));
    number(tape);
}

/// The same for a command: an `error` entry follows the event of the failure here.
pub fn failed_command_is_kept(tape: &mut Vec<Value>) {
    let mut behind = false;
    tape.retain(|entry| {
        let is_ours = behind && entry["kind"] == "error";
        behind = is_event(entry, "command") && entry["payload"]["data"]["status"] == "error";
        !is_ours
    });
    number(tape);
}

/// Number 4: the view begins with the latest anchor itself, so that a handoff's state reaches the model. `request` is
/// one that was made behind `anchor`.
pub fn view_begins_with_anchor(request: &mut Value, anchor: &Value) {
    let name = anchor["payload"]["name"].as_str().expect("an anchor has a name");
    let state = python_json(&anchor["payload"]["state"]);
    let message = json!({ "role": "assistant", "content": format!("[Anchor created: {name}]: {state}") });
    let messages = request["messages"].as_array_mut().expect("a request has messages");
    // Behind the system prompt.
    messages.insert(1, message);
}

/// Number 9: a `system` entry is written when the system prompt differs from the last one on the tape, not at every
/// step.
pub fn system_prompt_is_written_once(tape: &mut Vec<Value>) {
    let mut last = None;
    tape.retain(|entry| {
        if entry["kind"] != "system" {
            return true;
        }
        let content = Some(entry["payload"]["content"].clone());
        let new = content != last;
        last = content;
        new
    });
    number(tape);
}

/// The prompt after a handoff by the loop; the original omits the error.
const HANDED_ON: [&str; 3] = ["summary", "goal", "room"];

/// A handoff that the loop makes leaves a summary, the goal and the facts learned of the model to the next phase.
pub fn handoff_has_summary(tape: &mut [Value]) {
    for entry in tape {
        let payload = &mut entry["payload"];
        let state = match payload["name"].as_str() {
            Some("handoff") if is_loops(&payload["data"]["name"]) => &mut payload["data"]["state"],
            Some(_) if is_loops(&payload["name"]) => &mut payload["state"],
            _ => continue,
        };
        if let Some(state) = state.as_object_mut() {
            state.retain(|key, _| !HANDED_ON.contains(&key.as_str()));
        }
    }
}

/// Whether a handoff of that name is the loop's own.
fn is_loops(name: &Value) -> bool {
    name.as_str().is_some_and(|name| name.starts_with("auto_handoff/"))
}

/// The same in a request that was made behind it.
pub fn told_handoff_has_summary(request: &mut Value) {
    let messages = request["messages"].as_array_mut().into_iter().flatten();
    for content in messages.filter_map(|message| message.get_mut("content")) {
        let Some(text) = content.as_str().filter(|text| text.starts_with("[Anchor created: auto_handoff/")) else {
            continue;
        };
        let (head, state) = text.split_once("]: ").expect("an anchor's state stands behind its name");
        let mut state: Value = serde_json::from_str(state).expect("a state is JSON");
        state.as_object_mut().into_iter().for_each(|state| state.retain(|key, _| !HANDED_ON.contains(&key.as_str())));
        *content = format!("{head}]: {}", python_json(&state)).into();
    }
}

/// The host says in an entry's meta which plugin wrote it; the original has no plugin to name.
pub fn plugin_is_named(tape: &mut [Value]) {
    for entry in tape {
        if let Some(meta) = entry["meta"].as_object_mut() {
            meta.shift_remove("plugin");
            // Nor does it say which session a tape is of.
            meta.shift_remove("session");
        }
    }
}

/// Section 6: a turn says, out of context, that the owner did not cause it, which grants dropped-in plugins used, and
/// what the host decided and denied. The original knows neither taint nor grants.
pub fn account_is_written_down(tape: &mut Vec<Value>) {
    let of_host = ["turn.tainted", "plugin.grant", "plugin.denied", "policy.decided"];
    tape.retain(|entry| !of_host.iter().any(|name| is_event(entry, name)));
    number(tape);
}

fn is_event(entry: &Value, name: &str) -> bool {
    entry["kind"] == "event" && entry["payload"]["name"] == name
}

fn entry(kind: &str, payload: Value) -> Value {
    json!({ "id": 0, "kind": kind, "payload": payload, "meta": {}, "date": "ours" })
}

/// Ids are consecutive from 1.
fn number(tape: &mut [Value]) {
    for (id, entry) in (1_u64..).zip(tape) {
        entry["id"] = Value::from(id);
    }
}
