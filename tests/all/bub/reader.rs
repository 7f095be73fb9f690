//! The original's view of a tape, written anew from its behavior, without code of this program: its store, its
//! default query and its rendering of entries as chat messages.

use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// The entries that its store reads. A line that it cannot read is passed over.
pub fn entries(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("it refuses a tape that is no UTF-8");
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|entry| entry["id"].is_i64() && entry["kind"].is_string() && entry["payload"].is_object()).collect()
}

/// The entries of its default view: all behind the newest anchor of any name, but for those out of context.
pub fn view(file: &Path) -> Vec<Value> {
    let mut entries = entries(file);
    let anchor = entries.iter().rposition(|entry| entry["kind"] == "anchor").expect("a tape begins with an anchor");
    let mut behind = entries.split_off(anchor + 1);
    behind.retain(|entry| entry["meta"]["context"] != json!(false));
    behind
}

/// The chat messages that it makes of its view.
pub fn messages(file: &Path) -> Vec<Value> {
    let mut pending: Vec<Value> = Vec::new();
    let mut messages = Vec::new();
    for entry in view(file) {
        let payload = &entry["payload"];
        let list = |key: &str| payload[key].as_array().cloned().unwrap_or_default();
        match entry["kind"].as_str().unwrap_or_default() {
            "message" => messages.push(payload.clone()),
            "tool_call" => {
                pending = list("calls").into_iter().filter(Value::is_object).collect();
                if !pending.is_empty() {
                    messages.push(json!({ "role": "assistant", "content": "", "tool_calls": pending }));
                }
            }
            "tool_result" => {
                for (at, result) in list("results").iter().enumerate() {
                    let content = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
                    let mut message = json!({ "role": "tool", "content": content });
                    if let Some(call) = pending.get(at) {
                        message["tool_call_id"] = call["id"].clone();
                        message["name"] = call["function"]["name"].clone();
                    }
                    messages.push(message);
                }
                pending.clear();
            }
            _ => {}
        }
    }
    messages
}

/// The entries that a turn of the original adds to the tape: their ids follow the last one that it can read.
pub fn turn(file: &Path, said: &str, answer: &str) {
    let last = entries(file).last().and_then(|entry| entry["id"].as_i64()).expect("the tape has entries");
    let run = json!({ "run_id": "run-20261121T023920225756Z" });
    let step = json!({ "name": "loop.step.start", "data": { "step": 1, "prompt": said } });
    let lines = [
        ("event", step, json!({})),
        ("message", json!({ "role": "user", "content": said }), run.clone()),
        ("message", json!({ "role": "assistant", "content": answer }), run),
    ];
    let mut file = OpenOptions::new().append(true).open(file).expect("it can be written");
    for (id, (kind, payload, meta)) in (last + 1..).zip(lines) {
        let entry = json!({
            "id": id, "kind": kind, "payload": payload, "meta": meta, "date": "2026-11-22T02:39:20.528595+00:00",
        });
        writeln!(file, "{}", bub_tests::tape::python_json(&entry)).expect("it can be written");
    }
}
