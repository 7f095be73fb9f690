//! A channel: a webhook for messages, and requests for answers.

wit_bindgen::generate!({
    inline: "
        package my:channel@0.1.0;
        world plugin {
            import bub:plugin/config@0.1.0;
            import bub:plugin/log@0.1.0;
            export bub:channel/channel@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

#[path = "../bindgen_http.rs"]
mod http;

use bub::plugin::{config, log};
use bub::types::types::{Envelope, Error, ErrorKind, MessageKind};
use exports::bub::channel::channel::{Arrival, Description, Guest, Inbox, WebhookRequest, WebhookResponse};
use serde_json::{Map, Value, json};
use wasip2::http::types::Method;

const MANIFEST: &[u8] = br#"{
  "name": "bindgen-channel",
  "version": "0.1.0",
  "about": "Messages in by HTTP, answers out by HTTP.",
  "wants": [
    { "grant": "hook:channel", "why": "to bring messages in and take answers out" },
    { "grant": "http:*", "why": "to post answers; grant the host of `url` alone" },
    { "grant": "http:http://*", "why": "the same, where that server is on this machine" }
  ],
  "config_schema": {
    "type": "object",
    "properties": {
      "url": { "type": "string", "description": "Where answers are posted; without it they are logged." }
    },
    "additionalProperties": false
  }
}"#;

#[used]
#[unsafe(link_section = "bub:manifest")]
static SECTION: [u8; MANIFEST.len()] = *MANIFEST.first_chunk().unwrap();

struct Plugin;

impl Guest for Plugin {
    fn describe() -> Description {
        Description {
            // Its address is `/channels/NAME` of `bub-wasm serve`.
            name: "bindgen-channel".to_owned(),
            needs_debounce: false,
            supports_polling: false,
            webhook: true,
            supports_edits: false,
            deduplicates: false,
        }
    }

    fn poll(_cursor: Option<String>) -> Result<Inbox, Error> {
        Err(error(ErrorKind::NotFound, "messages are posted".to_owned()))
    }

    /// The host stores the arrivals before it sends the response, so that no message is lost.
    fn receive(request: WebhookRequest) -> Result<WebhookResponse, Error> {
        if request.method != "POST" {
            return Ok(respond(405, "messages are posted"));
        }
        let Some(message) = message(&request.body) else {
            let what = "the body is a JSON object with `id` and `text`, and optionally `chat` and `sender`";
            return Ok(respond(400, what));
        };
        Ok(WebhookResponse { arrivals: vec![Arrival { message, active: true }], ..respond(202, "") })
    }

    /// `key` is the same for each attempt, so that a server can ignore a repetition.
    fn send(message: Envelope, key: String) -> Result<Option<String>, Error> {
        let Some(url) = config::get("url").and_then(|url| serde_json::from_str::<String>(&url).ok()) else {
            log::log(log::Level::Info, &format!("to chat `{}`: {}", message.chat_id, message.content));
            return Ok(None);
        };
        let answer = json!({ "chat": message.chat_id, "text": message.content }).to_string();
        let headers = [("idempotency-key", key.as_str()), ("content-type", "application/json")];
        let sent = http::send(&Method::Post, &url, &headers, Some(answer.as_bytes()));
        let (status, _) = sent.map_err(|why| error(ErrorKind::Temporary, why))?;
        // The host tries again after a `temporary` error.
        let kind = match status {
            200..=299 => return Ok(None),
            401 | 403 => ErrorKind::Denied,
            404 | 410 => ErrorKind::NotFound,
            408 | 425 | 429 | 500..=599 => ErrorKind::Temporary,
            _ => ErrorKind::Tool,
        };
        Err(error(kind, format!("the server answered with status {status}")))
    }

    fn update(_handle: String, _message: Envelope) -> Result<(), Error> {
        Err(error(ErrorKind::NotFound, "messages are not changed".to_owned()))
    }
}

/// The message in the body of a request.
fn message(body: &[u8]) -> Option<Envelope> {
    let posted: Map<String, Value> = serde_json::from_slice(body).ok()?;
    if posted.keys().any(|key| !["id", "text", "chat", "sender"].contains(&key.as_str())) {
        return None;
    }
    let text = |key: &str| match posted.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(text)) => Some(Some(text.clone())),
        Some(_) => None,
    };
    Some(Envelope {
        // The sender's id of the message: the same message is taken once.
        id: Some(text("id")??),
        session_id: None,
        channel: "bindgen-channel".to_owned(),
        // The conversation that it belongs to.
        chat_id: text("chat")?.unwrap_or_default(),
        sender: text("sender")?,
        // Only the sender's own text: quotations and attachments have fields of their own.
        content: text("text")??,
        passages: Vec::new(),
        kind: MessageKind::Normal,
        context: Vec::new(),
        media: Vec::new(),
        output_channel: None,
    })
}

fn respond(status: u16, text: &str) -> WebhookResponse {
    let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
    WebhookResponse { status, headers, body: text.as_bytes().to_vec(), arrivals: Vec::new() }
}

fn error(kind: ErrorKind, message: String) -> Error {
    Error { kind, message, details: None }
}

export!(Plugin);
