//! A channel that brings and answers what its configuration says, `[plugins.NAME.config]`:
//!
//! - `channel`: its name, `poster` unless it says otherwise; `flags`: those of `polls`, `webhook`, `edits`, `dedupes` and
//!   `needs-debounce` that it has, all unless it says otherwise;
//! - `arrivals`: what `poll` brings once, and `receive` with each request; each a table with `id`, `session`, `channel`, `chat`, `sender`,
//!   `content`, `passages` (`[provenance, author, text]`), `kind`, `output`, `active`, `context` (keys with JSON texts),
//!   `media` (`[kind, mime type, name, url, provenance]`); `times` brings each so often;
//! - `replays`: `poll` brings the `arrivals` of the cursor that it is given, in place of those of the configuration;
//! - `cursor`, a JSON text, and `wait`, in milliseconds, for `poll`; `status` and `headers` for `receive`;
//! - `fails`: a table with a function's name and `{ kind, message, details }`; `handle` is what `send` answers.
//!
//! It logs its arguments.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/channel", generate_all });

use bub::plugin::{config, log};
use bub::types::types::{Envelope, Error, ErrorKind, MediaItem, MediaKind, MessageKind, Passage, Provenance};
use exports::bub::channel::channel::{Arrival, Description, Guest, Inbox, WebhookRequest, WebhookResponse};
use serde_json::{Value, json};

struct Poster;

impl Guest for Poster {
    fn describe() -> Description {
        let flags = setting("flags");
        let has = |flag: &str| flags.as_array().is_none_or(|flags| flags.iter().any(|named| named == flag));
        Description {
            name: text(&setting("channel")).unwrap_or_else(|| "poster".to_owned()),
            needs_debounce: has("needs-debounce"),
            supports_polling: has("polls"),
            webhook: has("webhook"),
            supports_edits: has("edits"),
            deduplicates: has("dedupes"),
        }
    }

    fn poll(cursor: Option<String>) -> Result<Inbox, Error> {
        saw(json!({ "poll": cursor }));
        fail("poll")?;
        let replays = setting("replays") == true;
        let replayed =
            cursor.as_ref().filter(|_| replays).and_then(|cursor| serde_json::from_str::<Value>(cursor).ok());
        let arrivals = match (replayed, cursor) {
            (Some(replayed), _) => brought(&replayed["arrivals"]),
            (None, None) => arrivals(),
            (None, Some(_)) => Vec::new(),
        };
        let wait_ms = setting("wait").as_u64().unwrap_or(100) as u32;
        Ok(Inbox { arrivals, cursor: text(&setting("cursor")).unwrap_or_else(|| "1".to_owned()), wait_ms })
    }

    fn receive(request: WebhookRequest) -> Result<WebhookResponse, Error> {
        let body = String::from_utf8_lossy(&request.body);
        saw(json!({ "receive": request.method, "path": request.path, "headers": request.headers, "body": body }));
        fail("receive")?;
        let headers = setting("headers");
        let header = |(name, value): (&String, &Value)| (name.clone(), text(value).unwrap_or_default());
        Ok(WebhookResponse {
            status: setting("status").as_u64().unwrap_or(200) as u16,
            headers: headers.as_object().into_iter().flatten().map(header).collect(),
            body: b"taken".to_vec(),
            arrivals: arrivals(),
        })
    }

    fn send(message: Envelope, key: String) -> Result<Option<String>, Error> {
        saw(json!({ "send": message.content, "chat": message.chat_id, "key": key, "media": media(&message) }));
        fail("send")?;
        Ok(text(&setting("handle")))
    }

    fn update(handle: String, message: Envelope) -> Result<(), Error> {
        saw(json!({ "update": message.content, "chat": message.chat_id, "handle": handle }));
        fail("update")
    }
}

fn arrivals() -> Vec<Arrival> {
    let arrivals = setting("arrivals");
    let times = setting("times").as_u64().unwrap_or(1);
    (0..times).flat_map(|_| brought(&arrivals)).collect()
}

fn brought(arrivals: &Value) -> Vec<Arrival> {
    arrivals.as_array().into_iter().flatten().map(arrival).collect()
}

fn arrival(said: &Value) -> Arrival {
    let member = |key: &str| text(&said[key]);
    let pair = |(key, value): (&String, &Value)| (key.clone(), text(value).unwrap_or_else(|| value.to_string()));
    let message = Envelope {
        id: member("id"),
        session_id: member("session"),
        channel: member("channel").unwrap_or_default(),
        chat_id: member("chat").unwrap_or_default(),
        sender: member("sender"),
        content: member("content").unwrap_or_default(),
        passages: said["passages"].as_array().into_iter().flatten().map(passage).collect(),
        kind: if said["kind"] == "command" { MessageKind::Command } else { MessageKind::Normal },
        context: said["context"].as_object().into_iter().flatten().map(pair).collect(),
        media: said["media"].as_array().into_iter().flatten().map(item).collect(),
        output_channel: member("output"),
    };
    Arrival { message, active: said["active"].as_bool().unwrap_or(true) }
}

fn item(said: &Value) -> MediaItem {
    let kind = match said[0].as_str() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    };
    let member = |at: usize| text(&said[at]).unwrap_or_default();
    MediaItem { kind, mime_type: member(1), filename: text(&said[2]), url: member(3), provenance: provenance(&said[4]) }
}

fn passage(said: &Value) -> Passage {
    Passage { provenance: provenance(&said[0]), author: text(&said[1]), text: text(&said[2]).unwrap_or_default() }
}

fn provenance(said: &Value) -> Provenance {
    match said.as_str() {
        Some("quoted") => Provenance::Quoted,
        Some("forwarded") => Provenance::Forwarded,
        Some("attached") => Provenance::Attached,
        _ => Provenance::Written,
    }
}

/// Of media what they are, and how long their addresses.
fn media(message: &Envelope) -> Vec<Value> {
    message.media.iter().map(|item| json!([item.mime_type, item.url.len()])).collect()
}

fn fail(function: &str) -> Result<(), Error> {
    let said = &setting("fails")[function];
    if said.is_null() {
        return Ok(());
    }
    let kind = match said["kind"].as_str() {
        Some("temporary") => ErrorKind::Temporary,
        Some("not-found") => ErrorKind::NotFound,
        _ => ErrorKind::Unknown,
    };
    let details = said["details"].as_object().map(|details| Value::from(details.clone()).to_string());
    Err(Error { kind, message: text(&said["message"]).unwrap_or_default(), details })
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn setting(key: &str) -> Value {
    config::get(key).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn saw(what: Value) {
    log::log(log::Level::Info, &format!("saw:{}", json!({ "plugin": "poster", "hook": "channel", "told": what })));
}

export!(Poster);
