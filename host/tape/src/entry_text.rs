//! The texts of entries, for people: in lists, exports and searches.

use super::entry::Entry;
use super::json;
use super::media::told;

/// The texts of an entry, in order.
pub fn body(entry: &Entry) -> Vec<String> {
    let payload = &*entry.payload;
    let get = |key: &str| json::get(payload, key).filter(|value| *value != "null");
    let mut body = match &*entry.kind {
        "anchor" => get("state").map(str::to_owned).into_iter().collect(),
        "event" => get("data").filter(|data| *data != "{}").map(str::to_owned).into_iter().collect(),
        "message" => {
            let mut texts = get("content").map(content).unwrap_or_default();
            texts.extend(others(payload, &["role", "content"]));
            texts
        }
        "system" => get("content").map(value).into_iter().collect(),
        "error" => {
            let mut texts: Vec<String> = get("message").map(value).into_iter().collect();
            texts.extend(others(payload, &["kind", "message"]));
            texts
        }
        "tool_call" => get("calls").map(calls).unwrap_or_default(),
        "tool_result" => {
            let results = get("results").and_then(|results| json::elements(results).ok());
            results.unwrap_or_default().into_iter().map(value).collect()
        }
        _ => vec![payload.to_owned()],
    };
    body.retain(|text| !text.trim().is_empty());
    body
}

/// The text of a message, or its parts, with descriptions of media.
pub fn content(content: &str) -> Vec<String> {
    let part = |part: &str| {
        let text = || json::get(part, "text").and_then(json::string).unwrap_or_else(|| part.to_owned());
        told(part, &|_| None).unwrap_or_else(text)
    };
    match json::elements(content) {
        Ok(parts) => parts.into_iter().map(part).collect(),
        Err(_) => vec![value(content)],
    }
}

/// Calls as `name(arguments)`.
fn calls(calls: &str) -> Vec<String> {
    let call = |call: &str| {
        let function = json::get(call, "function")?;
        let name = json::get(function, "name").map(value)?;
        let arguments = json::get(function, "arguments").map(value).unwrap_or_default();
        Some(format!("{name}({arguments})"))
    };
    let calls = json::elements(calls).unwrap_or_default();
    calls.into_iter().map(|written| call(written).unwrap_or_else(|| written.to_owned())).collect()
}

/// The other fields of a payload.
fn others(payload: &str, known: &[&str]) -> Vec<String> {
    let fields = json::fields(payload).unwrap_or_default();
    let others = fields.into_iter().filter(|(key, _)| !known.contains(&key.as_str()));
    others.map(|(key, other)| format!("{key}: {}", value(other))).collect()
}

/// A JSON value: a string as its text, others as JSON.
pub fn value(json: &str) -> String {
    super::json::string(json).unwrap_or_else(|| json.to_owned())
}
