//! Text files in messages, which are sent as text, since no file part is supported by all servers.
//!
//! OpenAI and most servers reject a `file` part of `text/plain`. A tape keeps the original part; only the request has
//! its text instead.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_types::text::one_line;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// A substring of every message with a text file.
const SIGN: &str = ";base64,";

/// Media types that are text besides `text/*`.
const TEXTS: [&str; 5] =
    ["application/json", "application/xml", "application/yaml", "application/toml", "application/x-yaml"];

/// The message with text files replaced by their text; unchanged if it has none.
pub fn as_text(message: &str) -> Cow<'_, str> {
    if memchr::memmem::find(message.as_bytes(), SIGN.as_bytes()).is_none() || !message.contains("\"file_data\"") {
        return Cow::Borrowed(message);
    }
    let Ok(mut parsed) = serde_json::from_str::<Map<String, Value>>(message) else { return Cow::Borrowed(message) };
    let parts = parsed.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    let mut changed = false;
    for part in parts {
        if let Some(text) = text_of(part) {
            *part = json!({ "type": "text", "text": text });
            changed = true;
        }
    }
    if changed { Cow::Owned(Value::Object(parsed).to_string()) } else { Cow::Borrowed(message) }
}

/// The name of a text file and its text, in a fence that no line of the text closes.
fn text_of(part: &Value) -> Option<String> {
    let file = part.get("file").filter(|_| part["type"] == "file")?;
    let (head, data) = file.get("file_data")?.as_str()?.split_once(SIGN)?;
    let kind = head.strip_prefix("data:")?.split(';').next()?.to_ascii_lowercase();
    if !kind.starts_with("text/") && !TEXTS.contains(&kind.as_str()) {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(data.trim()).ok()?).ok()?;
    let name = one_line(file.get("filename").and_then(Value::as_str).unwrap_or("file")).replace('`', "'");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    Some(format!("Attached file `{name}`:\n{fence}\n{text}{end}{fence}"))
}
