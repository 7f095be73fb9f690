//! What a plugin that is a channel is tried with: everything that it says that it does.

use bub_runtime::channel;
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::hooks::{Arrival, GuestChannel, WebhookRequest};
use bub_runtime::turn::CallScope;
use bub_types::{Envelope, MessageKind};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long a poll is waited for: it may well wait for somebody who says nothing.
const POLL: Duration = Duration::from_secs(5);

/// What was tried of a channel.
struct Trial<'a> {
    calls: &'a CallScope,
    channel: &'a GuestChannel,
    /// Of each function what it was asked, for whoever reads of it, and how it failed.
    tried: Vec<(&'static str, Option<Failure>)>,
    /// What it brought, as the host takes it.
    arrivals: Vec<Value>,
    /// What it brought and the host does not take: in which sample, and why.
    refused: Vec<(&'static str, String)>,
    /// What it answered to webhooks.
    webhooks: Vec<Value>,
    wait: Duration,
}

/// What was tried of a channel, and what there is to tell of it.
pub(super) struct TestedChannel {
    /// In which sample, and how it failed.
    pub(super) calls: Vec<(&'static str, Option<Failure>)>,
    /// Messages that the host does not take: in which sample, and why.
    pub(super) refused: Vec<(&'static str, String)>,
    pub(super) told: Value,
}

/// What came of it.
pub(super) enum Outcome {
    /// It has no channel.
    None,
    /// Why its channel is not there.
    Refused(String),
    /// It was tried.
    Tested(TestedChannel),
}

/// Asks everything of the plugin's channel.
pub(super) async fn all(calls: &Arc<CallScope>, plugin: &str) -> Outcome {
    let (channels, refused) = hooks::described(calls).await;
    let Some(channel) = channels.iter().find(|channel| channel.plugin() == plugin) else {
        let refused = refused.into_iter().find(|(name, _)| name == plugin);
        return refused.map_or(Outcome::None, |(_, reason)| Outcome::Refused(reason));
    };
    let mut trial = Trial {
        calls,
        channel,
        tried: Vec::new(),
        arrivals: Vec::new(),
        refused: Vec::new(),
        webhooks: Vec::new(),
        wait: Duration::ZERO,
    };
    if channel.supports_polling {
        trial.poll().await;
    }
    if channel.webhook {
        trial.receive().await;
    }
    trial.send().await;
    let told = trial.told();
    Outcome::Tested(TestedChannel { calls: trial.tried, refused: trial.refused, told })
}

impl Trial<'_> {
    fn took<T>(&mut self, what: &'static str, answer: Result<T, Failure>) -> Option<T> {
        let (answer, failure) = match answer {
            Ok(answer) => (Some(answer), None),
            Err(failure) => (None, Some(failure)),
        };
        self.tried.push((what, failure));
        answer
    }

    /// From the beginning, and then from where that has led.
    async fn poll(&mut self) {
        let mut cursor = None;
        for what in ["a first poll", "a poll from where the first one led"] {
            let polled = tokio::time::timeout(POLL, self.channel.poll(self.calls, cursor.take())).await;
            let Ok(Some(inbox)) = polled.map(|polled| self.took(what, polled)) else { break };
            self.arrivals.extend(inbox.arrivals.iter().map(arrival));
            self.refused.extend(inbox.refused.into_iter().map(|why| (what, why)));
            self.wait = inbox.wait;
            cursor = Some(inbox.cursor);
        }
    }

    async fn receive(&mut self) {
        for (what, request) in requests() {
            let received = self.channel.receive(self.calls, request).await;
            if let Some(response) = self.took(what, received) {
                self.arrivals.extend(response.arrivals.iter().map(arrival));
                self.refused.extend(response.refused.iter().map(|why| (what, why.clone())));
                let (status, bytes) = (response.status, response.body.len());
                let headers: Vec<_> = response.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                self.webhooks.push(json!({ "sample": what, "status": status, "headers": headers, "bytes": bytes }));
            }
        }
    }

    async fn send(&mut self) {
        let (calls, channel) = (self.calls, self.channel);
        let message = outbound(&channel.name, "**Hello**, `this` is a sample.\n\n```rust\nfn main() {}\n```\n");
        let sent = channel.send(calls, &message, "check/0").await;
        let handle = self.took("a message to be sent", sent).flatten();
        // The same key once more: somebody did not hear that it was delivered.
        let again = channel.send(calls, &message, "check/0").await;
        self.took("the same message under the same key", again);
        let empty = channel.send(calls, &outbound(&channel.name, ""), "check/1").await;
        self.took("an empty message to be sent", empty);
        if let Some(handle) = handle.filter(|_| channel.supports_edits) {
            let longer = outbound(&channel.name, &"This message grew while it was written. ".repeat(500));
            let updated = channel.update(calls, &handle, &longer).await;
            self.took("a message that grew", updated);
        }
    }

    fn told(&self) -> Value {
        let GuestChannel { name, supports_polling, webhook, supports_edits, deduplicates, needs_debounce, .. } =
            self.channel;
        json!({
            "name": name, "polls": supports_polling, "webhook": webhook, "edits": supports_edits, "dedupes": deduplicates,
            "needs_debounce": needs_debounce, "waits_seconds": self.wait.as_secs_f64(),
            "arrivals": self.arrivals, "webhooks": self.webhooks,
        })
    }
}

/// A message as the host takes it: of what came along what it is, and not the data.
fn arrival(Arrival { message, active }: &Arrival) -> Value {
    let media = message
        .media
        .iter()
        .map(|item| json!({ "mime_type": item.mime_type, "filename": item.filename, "provenance": item.provenance }));
    json!({
        "id": message.id, "session": message.session_id, "channel": message.channel, "chat_id": message.chat_id,
        "sender": message.sender, "kind": message.kind, "content": message.content,
        "passages": message.passages, "context": message.context,
        "media": media.collect::<Vec<_>>(), "active": active,
    })
}

/// What strangers send: none of it is signed.
fn requests() -> [(&'static str, WebhookRequest); 3] {
    let request = |method: &str, headers: &[(&str, &str)], body: &[u8]| WebhookRequest {
        method: method.to_owned(),
        path: "/".to_owned(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: body.to_vec(),
    };
    let json = [("content-type", "application/json")];
    [
        ("a webhook of a stranger", request("POST", &json, br#"{"id":"1","content":"hello"}"#)),
        ("a webhook that is no text", request("POST", &json, &[0xff, 0, b'{', 0xc3])),
        ("a request of a browser", request("GET", &[], b"")),
    ]
}

fn outbound(channel: &str, content: &str) -> Envelope {
    let session = channel::session_of(channel, "check");
    Envelope {
        sender: None,
        context: Vec::new(),
        ..channel::message(Some(session), [channel, "check", ""], content, MessageKind::Normal)
    }
}
