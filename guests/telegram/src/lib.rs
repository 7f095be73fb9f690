//! A Telegram bot: long polling and message delivery. Its state between calls is in the cursor.

wit_bindgen::generate!({
    inline: "
        package bub:telegram@0.1.0;
        world telegram {
            import bub:plugin/config@0.1.0;
            import bub:plugin/log@0.1.0;
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

mod answer;
mod api;
mod arrive;
mod call;
mod cursor;
mod markdown;
mod media;
mod multipart;
mod origin;
mod pieces;
mod settings;
mod update;

use bub::plugin::secrets;
use bub::types::types::{Envelope, Error, ErrorKind};
use exports::bub::channel::channel::{Description, Guest, Inbox, WebhookRequest, WebhookResponse};

struct Telegram;

impl Guest for Telegram {
    fn describe() -> Description {
        Description {
            name: "telegram".to_owned(),
            needs_debounce: true,
            // Without a token there is nothing to poll, which is not an error.
            supports_polling: !matches!(secrets::matches(api::TOKEN, ""), Err(error) if error.kind == ErrorKind::NotFound),
            webhook: false,
            supports_edits: true,
            // A repeated send would appear twice.
            deduplicates: false,
        }
    }

    fn poll(cursor: Option<String>) -> Result<Inbox, Error> {
        arrive::poll(cursor.as_deref())
    }

    fn receive(_request: WebhookRequest) -> Result<WebhookResponse, Error> {
        Ok(WebhookResponse { status: 404, headers: Vec::new(), body: Vec::new(), arrivals: Vec::new() })
    }

    fn send(message: Envelope, _key: String) -> Result<Option<String>, Error> {
        answer::send(&message)
    }

    fn update(handle: String, message: Envelope) -> Result<(), Error> {
        answer::update(&handle, &message)
    }
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None }
    }
}

export!(Telegram);
