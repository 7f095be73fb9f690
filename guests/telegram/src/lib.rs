//! A Telegram bot: long polling and message delivery. Its state between calls is in the cursor.

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

use bub_guest::hook::{Channel, Description, Inbox, WebhookRequest, WebhookResponse};
use bub_guest::{Envelope, Result};
use settings::Settings;

bub_guest::plugin! {
    about: "A bot on Telegram.",
    config: Settings,
    grants: {
        /// to reach api.telegram.org, or the Bot API server that `api_base` names; grant that host alone
        SERVER: Http("*"),
        /// the same, where that server is on this machine
        _LOCAL: Http("http://*"),
        /// to be the bot; it goes into the path of requests, and never to this plugin
        TOKEN: Secret("telegram_token"),
    },
    hooks: {
        /// to bring messages in and take answers out
        channel: Telegram,
    },
}

struct Telegram;

impl Channel for Telegram {
    // A repeated send would appear twice.
    const DESCRIPTION: Description = Description {
        needs_debounce: true,
        supports_polling: true,
        // Without a token there is nothing to poll, which is no error.
        polling_secret: Some("telegram_token"),
        supports_edits: true,
        ..Description::new("telegram")
    };

    fn poll(cursor: Option<String>) -> Result<Inbox> {
        arrive::poll(cursor.as_deref())
    }

    fn receive(_request: WebhookRequest) -> Result<WebhookResponse> {
        Ok(WebhookResponse { status: 404, headers: Vec::new(), body: Vec::new(), arrivals: Vec::new() })
    }

    fn send(message: Envelope, _key: String) -> Result<Option<String>> {
        answer::send(&message)
    }

    fn update(handle: String, message: Envelope) -> Result<()> {
        answer::update(&handle, &message)
    }
}
