//! Removes values that differ from run to run: dates, durations, run ids, paths, and texts in our own words.
//! Values of the wrong shape are left, so that a comparison shows them.

use crate::tape::python_json;
use regex::{Captures, Regex};
use serde_json::{Map, Value};
use std::sync::LazyLock;

static PROMPT_DATE: LazyLock<Regex> =
    LazyLock::new(|| expression(r"---Date: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d---"));
static TAPE_NAME: LazyLock<Regex> = LazyLock::new(|| expression(r"[0-9a-f]{16}__([0-9a-f]{16})"));
static HANDLE: LazyLock<Regex> = LazyLock::new(|| expression(r"\b[0-9a-f]{32}\b"));
static RUN_ID: LazyLock<Regex> = LazyLock::new(|| expression(r"^run-\d{8}T\d{12}Z$"));
static ANCHOR: LazyLock<Regex> = LazyLock::new(|| expression(r"(?s)^(\[Anchor created: [^\]]*\]: )(\{.*\})$"));

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("it is an expression")
}

/// Normalizes text that was printed, sent or recorded. `workspaces` are the paths of the workspace that it may contain:
/// in a repeated run its own and, in the model's answers, that of the recording.
pub fn text(text: &str, workspaces: &[&str]) -> String {
    let text = workspaces.iter().fold(text.to_owned(), |text, path| text.replace(path, "<workspace>"));
    let text = PROMPT_DATE.replace_all(&text, "---Date: <date>---");
    let text = TAPE_NAME.replace_all(&text, "<workspace>__$1");
    HANDLE.replace_all(&text, "<handle>").into_owned()
}

/// The entries of a tape, one text each, to be compared and to be read.
pub fn tape(entries: &[Value], workspaces: &[&str]) -> Vec<String> {
    let mut run_ids = Vec::new();
    entries.iter().map(|entry| python_json(&self::entry(entry, workspaces, &mut run_ids))).collect()
}

fn entry(entry: &Value, workspaces: &[&str], run_ids: &mut Vec<String>) -> Value {
    let mut entry = entry.clone();
    strings(&mut entry, &|string| text(string, workspaces));
    entry["date"] = Value::from("<date>");
    if let Some(meta) = entry.get_mut("meta").and_then(Value::as_object_mut) {
        this_run(meta, run_ids);
    }
    let kind = entry["kind"].as_str().unwrap_or_default().to_owned();
    let payload = &mut entry["payload"];
    match kind.as_str() {
        "system" => own_words(payload, "content", "<system prompt>"),
        "anchor" => own_words(&mut payload["state"], "error", "<error>"),
        "error" => {
            own_words(payload, "kind", "<kind>");
            own_words(payload, "message", "<error>");
        }
        "event" => event(payload),
        _ => {}
    }
    entry
}

fn event(payload: &mut Value) {
    let Some(data) = payload.get_mut("data") else {
        return;
    };
    own_words(data, "error", "<error>");
    own_words(data, "date", "<date>");
    if let Some(state) = data.get_mut("state") {
        own_words(state, "error", "<error>");
    }
    if data["elapsed_ms"].is_u64() {
        data["elapsed_ms"] = Value::from(0);
    }
}

/// `run-1` for the first model call on the tape, `run-2` for the second: that entries belong together is compared.
fn this_run(meta: &mut Map<String, Value>, run_ids: &mut Vec<String>) {
    let Some(id) = meta.get("run_id").and_then(Value::as_str).filter(|id| RUN_ID.is_match(id)) else {
        return;
    };
    let at = run_ids.iter().position(|known| known == id).unwrap_or_else(|| {
        run_ids.push(id.to_owned());
        run_ids.len() - 1
    });
    meta.insert("run_id".to_owned(), Value::from(format!("run-{}", at + 1)));
}

/// Messages in our own words are compared only for their presence.
fn own_words(object: &mut Value, key: &str, mark: &str) {
    if object.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
        object[key] = Value::from(mark);
    }
}

/// The body of a request to the model: without the tools (other programs have others), with the system prompt blanked.
/// All else is compared unchanged: the order of keys, every message.
pub fn request(body: &Value, workspaces: &[&str]) -> String {
    let mut body = body.clone();
    if let Some(body) = body.as_object_mut()
        && body.keys().next_back().is_some_and(|key| key == "tools")
    {
        body.shift_remove("tools");
    }
    strings(&mut body, &|string| anchor(&text(string, workspaces)));
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        if message["role"] == "system" {
            own_words(message, "content", "<system prompt>");
        }
    }
    // One message a line: a difference is then a line, too.
    body.to_string().replace("},{", "},\n{")
}

/// The error in the state of an anchor that the model is shown; the state is written as Python writes JSON.
fn anchor(content: &str) -> String {
    let blank = |parts: &Captures| {
        let Ok(mut state) = serde_json::from_str::<Value>(&parts[2]) else {
            return parts[0].to_owned();
        };
        if python_json(&state) != parts[2] {
            return parts[0].to_owned();
        }
        own_words(&mut state, "error", "<error>");
        format!("{}{}", &parts[1], python_json(&state))
    };
    ANCHOR.replace(content, blank).into_owned()
}

/// Every text in a JSON value, keys aside.
fn strings(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(string) => *string = change(string),
        Value::Array(items) => items.iter_mut().for_each(|item| strings(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| strings(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
