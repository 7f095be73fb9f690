//! Conversion of message content to blocks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_types::text::escaped;
use serde_json::{Map, Value};

use crate::body::{member, quoted};

/// Supported image types.
const IMAGES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Error kinds in failed results on tapes: `{"kind": "tool", "message": "..."}`.
const KINDS: &[&str] = &[
    "invalid_input",
    "config",
    "provider",
    "context_length",
    "tool",
    "temporary",
    "not_found",
    "denied",
    "conflict",
    "cancelled",
    "unknown",
];

/// A block of text.
pub(super) fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text))
}

/// The blocks of a `content`: a string, a list of parts, or null. Blank texts are left out: the API rejects them.
///
/// # Errors
///
/// Text to append to `message 3`, for a part that cannot be sent.
pub(super) fn blocks(content: &Value) -> Result<Vec<String>, String> {
    each(content, block)
}

/// The blocks of earlier messages and tool results. A part that cannot be sent is replaced by a text that says so, so
/// that a conversation can continue with another model.
///
/// # Errors
///
/// As [`blocks`], for content that is not a list of parts.
pub(super) fn past_blocks(content: &Value) -> Result<Vec<String>, String> {
    each(content, |kind, part| {
        let left_out = |wrong| Some(text_block(&format!("[left out: this message {wrong}]")));
        Ok(block(kind, part).unwrap_or_else(left_out))
    })
}

/// The blocks of the model's messages. Thinking blocks are returned unchanged.
pub(super) fn said(content: &Value) -> Result<Vec<String>, String> {
    each(content, |kind, part| match kind {
        "thinking" | "redacted_thinking" => Ok(Some(Value::Object(part.clone()).to_string())),
        "refusal" => Ok(text(part, "refusal").and_then(spoken)),
        _ => block(kind, part),
    })
}

/// All text of a `content`.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Whether a tool's result is an error: an object with kind and message, as the agent loop writes it.
pub(super) fn is_failure(content: &Value) -> bool {
    let Some(text) = content.as_str().filter(|text| text.starts_with("{\"kind\"")) else {
        return false;
    };
    serde_json::from_str::<Map<String, Value>>(text).is_ok_and(|error| {
        error.keys().all(|key| ["kind", "message", "details"].contains(&key.as_str()))
            && error.get("kind").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind))
            && error.get("message").is_some_and(Value::is_string)
    })
}

type Block = Result<Option<String>, String>;

fn each(content: &Value, block: impl Fn(&str, &Map<String, Value>) -> Block) -> Result<Vec<String>, String> {
    let parts = match content {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => return Ok(spoken(text).into_iter().collect()),
        Value::Array(parts) => parts,
        _ => return Err("has a content that is neither a text nor a list of parts".to_owned()),
    };
    let mut blocks = Vec::with_capacity(parts.len());
    for part in parts {
        let part = part.as_object().ok_or("has a part that is not a JSON object")?;
        blocks.extend(block(text(part, "type").unwrap_or_default(), part)?);
    }
    Ok(blocks)
}

fn block(kind: &str, part: &Map<String, Value>) -> Block {
    let address = |name: &str| {
        let inner = part.get(name)?;
        inner.as_str().or_else(|| inner.get("url")?.as_str())
    };
    match kind {
        "text" | "input_text" | "output_text" => Ok(text(part, "text").and_then(spoken)),
        "image_url" | "input_image" => match address("image_url") {
            Some(url) => media("image", url, None).map(Some),
            None => Err("has an image without an address".to_owned()),
        },
        "file" | "input_file" => file(part.get("file").and_then(Value::as_object).unwrap_or(part)).map(Some),
        // Already in the API's format. Cache breakpoints are removed: at most four are allowed.
        "image" | "document" if part.get("source").is_some_and(Value::is_object) => {
            let mut part = part.clone();
            part.shift_remove("cache_control");
            Ok(Some(Value::Object(part).to_string()))
        }
        "input_audio" | "audio_url" | "audio" => Err("holds audio, which this provider does not accept".to_owned()),
        "video_url" | "input_video" | "video" => Err("holds video, which this provider does not accept".to_owned()),
        other => {
            let other = escaped(other, 40);
            Err(format!("has a part of the type `{other}`, which this provider does not support"))
        }
    }
}

/// A file part, with data or a URL.
fn file(file: &Map<String, Value>) -> Result<String, String> {
    let Some(data) = text(file, "file_data").or_else(|| text(file, "file_url")) else {
        return Err("names a file by its id, which this provider does not have: send its data".to_owned());
    };
    media("document", data, text(file, "filename"))
}

/// An image or a document, by URL or as a `data:` URL, whose media type overrides `kind`.
fn media(kind: &str, url: &str, title: Option<&str>) -> Result<String, String> {
    if is_web(url) {
        let kind = if is_pdf_address(url) { "document" } else { kind };
        return Ok(source(kind, &[("type", "url"), ("url", url)], title));
    }
    let (kind, data) = data_url(url).ok_or("has a file that is neither a web address nor base64 in a `data:` URL")?;
    match kind.as_str() {
        "application/pdf" => {
            Ok(source("document", &[("type", "base64"), ("media_type", &kind), ("data", data)], title))
        }
        "text/plain" => {
            let bytes = STANDARD.decode(data).map_err(|_| "has a file that is not valid base64")?;
            let text = String::from_utf8_lossy(&bytes);
            Ok(source("document", &[("type", "text"), ("media_type", &kind), ("data", &text)], title))
        }
        image if IMAGES.contains(&image) => {
            Ok(source("image", &[("type", "base64"), ("media_type", &kind), ("data", data)], None))
        }
        other => {
            let other = escaped(other, 80);
            Err(format!(
                "holds a file of the type `{other}`: this provider takes JPEG, PNG, GIF, WebP, PDF and plain text"
            ))
        }
    }
}

/// Media type and base64 of a `data:` URL.
fn data_url(url: &str) -> Option<(String, &str)> {
    let (head, data) =
        url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")).and(url.get(5..))?.split_once(',')?;
    let head = head.to_ascii_lowercase();
    let kind = head.strip_suffix(";base64")?.split(';').next()?.trim();
    // Not registered, but common.
    let kind = if kind == "image/jpg" { "image/jpeg" } else { kind };
    Some((kind.to_owned(), data.trim()))
}

fn is_web(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme)))
}

fn is_pdf_address(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.to_ascii_lowercase().ends_with(".pdf")
}

fn source(kind: &str, members: &[(&str, &str)], title: Option<&str>) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{}", quoted(value))).collect();
    let mut text = format!("{{\"type\":\"{kind}\",\"source\":{{{}}}", members.join(","));
    if let Some(title) = title.filter(|title| kind == "document" && !title.trim().is_empty()) {
        member(&mut text, "title", &quoted(title));
    }
    text.push('}');
    text
}

fn spoken(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty()).map(text_block)
}

fn text<'a>(part: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    part.get(key)?.as_str()
}
