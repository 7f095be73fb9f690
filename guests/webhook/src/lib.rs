//! An example channel: signed requests for messages and answers.

use bub_guest::hook::{Arrival, Channel, Description, WebhookRequest, WebhookResponse};
use bub_guest::turn::{Envelope, MediaItem, MediaKind, MessageKind, Passage, Provenance};
use bub_guest::{Error, ErrorKind, Result, Schema, config};
use serde::Deserialize;
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

bub_guest::plugin! {
    about: "Signed messages in over HTTP, and signed answers out.",
    config: Settings,
    grants: {
        /// to see who signed a message, and to sign answers
        SECRET: Secret("webhook"),
        /// to reach the server that `url` names; grant that host alone
        SERVER: Http("*"),
        /// the same, where that server is on this machine
        _LOCAL: Http("http://*"),
    },
    hooks: {
        /// to bring messages in and take answers out
        channel: Webhook,
    },
}

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where answers go, as in `https://example.com/answers`.
    #[serde(default)]
    #[schema(with = String)]
    url: Option<String>,
    /// How old a message may be.
    #[serde(default = "window")]
    #[schema(minimum = 1, default = 300)]
    window_seconds: u64,
}

fn window() -> u64 {
    300
}

/// An incoming message. Unknown fields are rejected: they could be parts of unknown provenance.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    /// The sender's id of the message, for deduplication.
    id: String,
    /// Only the sender's own text.
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

impl Channel for Webhook {
    // The receiver deduplicates by key.
    const DESCRIPTION: Description = Description { webhook: true, deduplicates: true, ..Description::new("webhook") };

    fn receive(request: WebhookRequest) -> Result<WebhookResponse> {
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

    fn send(message: Envelope, key: String) -> Result<Option<String>> {
        let Some(url) = config::load::<Settings>()?.url else {
            return Err(Error::config("`url` of the plugin's configuration is missing: where answers go"));
        };
        let kind = if message.kind == MessageKind::Error { "error" } else { "answer" };
        let body =
            json!({ "id": key, "kind": kind, "chat_id": message.chat_id, "content": message.content }).to_string();
        let timestamp = now().to_string();
        let request = SERVER
            .post(&url)
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .header("bub-signature", signature(&timestamp, body.as_bytes())?)
            .header("bub-timestamp", timestamp)
            .body(body);
        let answer = request.send().map_err(|error| match error.is_temporary() {
            true => Error::temporary(error.message),
            false => Error::config(error.message),
        })?;
        let status = answer.status;
        let refused = |error: Error| {
            let kind = if error.kind == ErrorKind::Temporary { error.kind } else { ErrorKind::InvalidInput };
            Error { kind, message: format!("`{url}` answered with status {status}"), ..error }
        };
        answer.success().map_err(refused).map(|_| None)
    }
}

/// Whether the signature was made with the secret, not long ago.
fn is_signed(request: &WebhookRequest) -> Result<bool> {
    let header = |name: &str| request.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let (Some((_, timestamp)), Some((_, signed))) = (header("bub-timestamp"), header("bub-signature")) else {
        return Ok(false);
    };
    let window = config::load::<Settings>()?.window_seconds;
    let is_fresh = timestamp.parse::<u64>().is_ok_and(|at| at.abs_diff(now()) <= window);
    let expected = signature(timestamp, &request.body)?;
    // Compared in constant time.
    let differing = expected.bytes().zip(signed.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    Ok(is_fresh && expected.len() == signed.len() && differing == 0)
}

/// HMAC-SHA256 over `TIMESTAMP.BODY`, in hex.
fn signature(timestamp: &str, body: &[u8]) -> Result<String> {
    let signed = [timestamp.as_bytes(), b".", body].concat();
    Ok(SECRET.hmac_sha256(&signed)?.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

fn answer(status: u16, why: &str) -> WebhookResponse {
    let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
    WebhookResponse { status, headers, body: why.as_bytes().to_vec(), arrivals: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::test::{Host, response};

    fn host() -> Host {
        Host::new().secret("webhook", "s").config(json!({ "url": "https://a.org/answers" }))
    }

    fn request(signature: String, timestamp: u64) -> WebhookRequest {
        let headers =
            vec![("Bub-Signature".to_owned(), signature), ("bub-timestamp".to_owned(), timestamp.to_string())];
        let body = br#"{"id":"1","content":"hi","passages":[{"provenance":"quoted","text":"q"}]}"#.to_vec();
        WebhookRequest { method: "POST".to_owned(), path: String::new(), headers, body }
    }

    #[test]
    fn only_a_fresh_message_with_the_signature_is_taken() {
        let _host = host();
        let unsigned = request(String::new(), now());
        assert_eq!(Webhook::receive(unsigned.clone()).unwrap().status, 401);
        let signed = |at: u64| request(signature(&at.to_string(), &unsigned.body).unwrap(), at);
        let taken = Webhook::receive(signed(now())).unwrap();
        assert_eq!((taken.status, taken.arrivals[0].message.content.as_str()), (202, "hi"));
        assert_eq!(taken.arrivals[0].message.passages[0].provenance, Provenance::Quoted);
        assert_eq!(Webhook::receive(signed(now() - 301)).unwrap().status, 401);
    }

    #[test]
    fn an_answer_is_sent_with_its_key_and_a_busy_server_is_asked_again() {
        let host = host().http(|_| response(503, ""));
        let message = host.turn().message();
        let error = Webhook::send(message, "k".to_owned()).unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::Temporary, "`https://a.org/answers` answered with status 503")
        );
        assert_eq!(host.requests()[0].header_value("idempotency-key"), Some("k"));
    }
}
