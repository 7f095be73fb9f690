//! An example channel: signed requests for messages and answers.

wit_bindgen::generate!({
    inline: "
        package bub:webhook@0.1.0;
        world webhook {
            import bub:plugin/config@0.1.0;
            import bub:plugin/secrets@0.1.0;
            export bub:channel/channel@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// The manifest, which the host reads without running the component.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

use bub::plugin::{config, secrets};
use bub::types::types::{Envelope, Error, ErrorKind, MediaItem, MediaKind, MessageKind, Passage, Provenance};
use exports::bub::channel::channel::{Arrival, Description, Guest, Inbox, WebhookRequest, WebhookResponse};
use http_client::Request;
use serde::Deserialize;
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name of the shared secret. It is used for signatures; this plugin never sees it.
const SECRET: &str = "webhook";

/// An incoming message. Unknown fields are rejected: they could be parts of unknown provenance.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    /// The sender's id of the message, for deduplication.
    id: String,
    /// What the sender wrote, and nothing else.
    #[serde(default)]
    content: String,
    chat_id: Option<String>,
    sender: Option<String>,
    #[serde(default)]
    passages: Vec<SaidPassage>,
    #[serde(default)]
    media: Vec<SaidMedia>,
}

/// Text of another author, or earlier words of the sender.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidPassage {
    provenance: Origin,
    author: Option<String>,
    text: String,
}

/// A file, by `data:` or `https:`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidMedia {
    #[serde(default)]
    provenance: Origin,
    mime_type: String,
    filename: Option<String>,
    url: String,
}

/// The provenance of a part.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Origin {
    #[default]
    Written,
    Quoted,
    Forwarded,
    Attached,
}

impl From<Origin> for Provenance {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Written => Self::Written,
            Origin::Quoted => Self::Quoted,
            Origin::Forwarded => Self::Forwarded,
            Origin::Attached => Self::Attached,
        }
    }
}

impl From<SaidPassage> for Passage {
    fn from(said: SaidPassage) -> Self {
        let SaidPassage { provenance, author, text } = said;
        Self { provenance: provenance.into(), author, text }
    }
}

impl From<SaidMedia> for MediaItem {
    fn from(said: SaidMedia) -> Self {
        let SaidMedia { provenance, mime_type, filename, url } = said;
        let kind = match mime_type.split('/').next() {
            Some("image") => MediaKind::Image,
            Some("audio") => MediaKind::Audio,
            Some("video") => MediaKind::Video,
            _ => MediaKind::Document,
        };
        Self { kind, mime_type, filename, url, provenance: provenance.into() }
    }
}

struct Webhook;

impl Guest for Webhook {
    fn describe() -> Description {
        Description {
            name: "webhook".to_owned(),
            needs_debounce: false,
            supports_polling: false,
            webhook: true,
            supports_edits: false,
            // The receiver deduplicates by key.
            deduplicates: true,
        }
    }

    fn poll(_cursor: Option<String>) -> Result<Inbox, Error> {
        Err(error(ErrorKind::Config, "this channel is told what comes, and not asked"))
    }

    fn receive(request: WebhookRequest) -> Result<WebhookResponse, Error> {
        if request.method != "POST" {
            return Ok(answer(405, "messages come by POST"));
        }
        // A missing secret is reported to the owner, not to the caller.
        if !is_signed(&request)? {
            return Ok(answer(401, "the signature is missing, wrong or too old"));
        }
        let Ok(said) = serde_json::from_slice::<Said>(&request.body) else {
            return Ok(answer(
                400,
                "the body is no JSON object with `id` and, as far as there are any, `content`, `chat_id`, `sender`, `passages`, `media`",
            ));
        };
        let message = Envelope {
            id: Some(said.id),
            session_id: None,
            channel: "webhook".to_owned(),
            chat_id: said.chat_id.unwrap_or_default(),
            sender: said.sender,
            content: said.content,
            passages: said.passages.into_iter().map(Passage::from).collect(),
            kind: MessageKind::Normal,
            context: Vec::new(),
            media: said.media.into_iter().map(MediaItem::from).collect(),
            output_channel: None,
        };
        let taken = answer(202, "");
        Ok(WebhookResponse { arrivals: vec![Arrival { message, active: true }], ..taken })
    }

    fn send(message: Envelope, key: String) -> Result<Option<String>, Error> {
        let Some(url) = setting::<String>("url") else {
            return Err(error(ErrorKind::Config, "`url` of the plugin's configuration is missing: where answers go"));
        };
        let kind = if message.kind == MessageKind::Error { "error" } else { "answer" };
        let body =
            json!({ "id": key, "kind": kind, "chat_id": message.chat_id, "content": message.content }).to_string();
        let timestamp = now().to_string();
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("idempotency-key", key),
            ("bub-signature", signature(&timestamp, body.as_bytes())?),
            ("bub-timestamp", timestamp),
        ];
        let request = Request { url: &url, headers: &headers, body: Some(body.as_bytes()) };
        let answer = http_client::send(&request, Duration::from_secs(30)).map_err(|none| match none.is_temporary {
            true => error(ErrorKind::Temporary, &none.why),
            false => error(ErrorKind::Config, &none.why),
        })?;
        let refused = |kind| Err(error(kind, &format!("`{url}` answered with status {}", answer.status)));
        match answer.status {
            200..=299 => Ok(None),
            408 | 425 | 429 | 500..=599 => refused(ErrorKind::Temporary).map_err(|error| Error {
                details: answer
                    .header("retry-after")
                    .and_then(|after| after.parse::<u64>().ok())
                    .map(|seconds| json!({ "retry_after": seconds }).to_string()),
                ..error
            }),
            _ => refused(ErrorKind::InvalidInput),
        }
    }

    fn update(_handle: String, _message: Envelope) -> Result<(), Error> {
        Err(error(ErrorKind::Config, "what was sent is not changed here"))
    }
}

/// Whether the request has a recent valid signature.
fn is_signed(request: &WebhookRequest) -> Result<bool, Error> {
    let header = |name: &str| request.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let (Some((_, timestamp)), Some((_, signed))) = (header("bub-timestamp"), header("bub-signature")) else {
        return Ok(false);
    };
    let window = setting("window_seconds").unwrap_or(300);
    let is_fresh = timestamp.parse::<u64>().is_ok_and(|at| at.abs_diff(now()) <= window);
    let expected = signature(timestamp, &request.body)?;
    // Compared in constant time.
    let differing = expected.bytes().zip(signed.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    Ok(is_fresh && expected.len() == signed.len() && differing == 0)
}

/// HMAC-SHA256 over `TIMESTAMP.BODY`, in hex.
fn signature(timestamp: &str, body: &[u8]) -> Result<String, Error> {
    let signed = [timestamp.as_bytes(), b".", body].concat();
    Ok(secrets::hmac_sha256(SECRET, &signed)?.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

fn setting<T: serde::de::DeserializeOwned>(key: &str) -> Option<T> {
    serde_json::from_str(&config::get(key)?).ok()
}

fn answer(status: u16, why: &str) -> WebhookResponse {
    let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
    WebhookResponse { status, headers, body: why.as_bytes().to_vec(), arrivals: Vec::new() }
}

fn error(kind: ErrorKind, message: &str) -> Error {
    Error { kind, message: message.to_owned(), details: None }
}

export!(Webhook);
