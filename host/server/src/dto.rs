//! Envelopes, outcomes and events in the formats of the HTTP API.

use super::ApiError;
use bub_gateway::TurnOutcome;
use bub_model::usage::Tokens;
use bub_types::text::{escaped, one_line};
use bub_types::{Envelope, Error, MediaItem, MediaKind, MessageKind, StreamEvent};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Attachments of one message.
const MAX_MEDIA: usize = 16;

/// Passages of one message.
const MAX_PASSAGES: usize = 64;

/// The longest name of an author, in bytes.
const MAX_AUTHOR: usize = 256;

/// The provenance of a part of a message, in a request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Provenance {
    #[default]
    Written,
    Quoted,
    Forwarded,
    Attached,
}

impl From<Provenance> for bub_types::Provenance {
    fn from(provenance: Provenance) -> Self {
        match provenance {
            Provenance::Written => Self::Written,
            Provenance::Quoted => Self::Quoted,
            Provenance::Forwarded => Self::Forwarded,
            Provenance::Attached => Self::Attached,
        }
    }
}

/// Text that the sender did not write for this message, in a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Passage {
    pub provenance: Provenance,
    pub author: Option<String>,
    pub text: String,
}

/// Converts the passages of a message.
///
/// # Errors
///
/// There are too many, or the name of an author is too long.
pub(super) fn passages(passages: Vec<Passage>) -> Result<Vec<bub_types::Passage>, ApiError> {
    if passages.len() > MAX_PASSAGES {
        return Err(ApiError::bad_request(format!("a message takes {MAX_PASSAGES} passages, not {}", passages.len())));
    }
    let passage = |Passage { provenance, author, text }: Passage| {
        if author.as_ref().is_some_and(|author| author.len() > MAX_AUTHOR) {
            return Err(ApiError::bad_request(format!("the `author` of a passage has at most {MAX_AUTHOR} bytes")));
        }
        let author = author.map(|author| one_line(&author));
        Ok(bub_types::Passage { provenance: provenance.into(), author, text })
    };
    passages.into_iter().map(passage).collect()
}

/// # Errors
///
/// The message is a command with passages, which nothing would read.
pub(super) fn check_passages(kind: MessageKind, passages: &[bub_types::Passage]) -> Result<(), ApiError> {
    match kind == MessageKind::Command && !passages.is_empty() {
        true => {
            Err(ApiError::bad_request("a command takes no text of another author: leave out the passages or the comma"))
        }
        false => Ok(()),
    }
}

/// An attachment, in a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Media {
    pub mime_type: String,
    pub url: String,
    pub filename: Option<String>,
    #[serde(default)]
    pub provenance: Provenance,
}

/// Converts the attachments of a message.
///
/// # Errors
///
/// There are too many, or the type or URL of one is not supported.
pub(super) fn media(media: Vec<Media>) -> Result<Vec<MediaItem>, ApiError> {
    if media.len() > MAX_MEDIA {
        return Err(ApiError::bad_request(format!("a message takes {MAX_MEDIA} attachments, not {}", media.len())));
    }
    media.into_iter().map(item).collect()
}

fn item(media: Media) -> Result<MediaItem, ApiError> {
    let Media { mime_type, url, filename, provenance } = media;
    let kind = match mime_type.split_once('/') {
        Some(("image", _)) => MediaKind::Image,
        Some(("audio", _)) => MediaKind::Audio,
        Some(("video", _)) => MediaKind::Video,
        Some(("application" | "text", _)) => MediaKind::Document,
        _ => {
            let shown = escaped(&mime_type, 64);
            return Err(ApiError::bad_request(format!(
                "`{shown}` is not a `mime_type` of an image, sound, video or document"
            )));
        }
    };
    let is_data = url.strip_prefix(&format!("data:{mime_type};base64,")).is_some_and(is_base64);
    if !is_data && !url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://")) {
        return Err(ApiError::bad_request(
            "the `url` of an attachment is `data:MIME_TYPE;base64,...` or begins with `https://`",
        ));
    }
    Ok(MediaItem { kind, mime_type, filename, url, provenance: provenance.into() })
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// The response to a message.
pub(super) fn outcome(outcome: &TurnOutcome) -> Map<String, Value> {
    let mut fields = Map::from_iter([
        ("session_id".to_owned(), json!(outcome.session_id)),
        ("run_ids".to_owned(), json!(outcome.run_ids)),
        ("model_output".to_owned(), json!(outcome.model_output)),
        ("outbounds".to_owned(), outcome.outbounds.iter().map(envelope).collect()),
        ("usage".to_owned(), usage(&outcome.usage)),
    ]);
    if let Some(failed) = &outcome.error {
        fields.insert("error".to_owned(), error(failed));
    }
    fields
}

/// Tokens in OpenAI's format.
pub(super) fn usage(tokens: &Tokens) -> Value {
    json!({
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.total,
        "prompt_tokens_details": { "cached_tokens": tokens.cached },
    })
}

pub(super) fn error(error: &Error) -> Value {
    let details = error.details.as_deref().and_then(|details| serde_json::from_str::<Value>(details).ok());
    json!({ "kind": error.kind.name(), "message": error.message, "details": details })
}

pub(super) fn envelope(envelope: &Envelope) -> Value {
    let kind = match envelope.kind {
        MessageKind::Normal => "normal",
        MessageKind::Command => "command",
        MessageKind::Error => "error",
    };
    let parsed = |text: &String| serde_json::from_str(text).unwrap_or(Value::Null);
    let context = envelope.context.iter().filter(|(key, _)| !key.starts_with('_'));
    let context: Map<String, Value> = context.map(|(key, value)| (key.clone(), parsed(value))).collect();
    json!({
        "session_id": envelope.session_id,
        "channel": envelope.channel,
        "chat_id": envelope.chat_id,
        "content": envelope.content,
        "kind": kind,
        "context": context,
        "media": envelope.media.iter().map(attachment).collect::<Value>(),
        "output_channel": envelope.output_channel,
    })
}

fn attachment(media: &MediaItem) -> Value {
    json!({ "mime_type": media.mime_type, "filename": media.filename, "url": media.url })
}

/// The name of an event, which is that of its case in the WIT contract, and its data.
pub(super) fn event(event: &StreamEvent) -> (&'static str, Value) {
    let parsed = |text: &String| serde_json::from_str(text).unwrap_or(Value::Null);
    match event {
        StreamEvent::Text(text) => ("text", json!({ "text": text })),
        StreamEvent::Reasoning(text) => ("reasoning", json!({ "text": text })),
        StreamEvent::ToolCalls(calls) => {
            let call =
                |call: &bub_types::ToolCall| json!({ "id": call.id, "name": call.name, "arguments": call.arguments });
            ("tool-calls", json!({ "calls": calls.iter().map(call).collect::<Value>() }))
        }
        StreamEvent::ToolResults(results) => ("tool-results", json!({ "results": parsed(results) })),
        StreamEvent::Usage(usage) => ("usage", parsed(usage)),
        StreamEvent::Error(failed) => ("error", error(failed)),
        StreamEvent::Final(last) => ("final", parsed(last)),
    }
}
