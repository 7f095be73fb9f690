//! Samples for a plugin that is a channel: every function that it declares.

use bub_runtime::channel;
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::hooks::{Arrival, GuestChannel, WebhookRequest};
use bub_runtime::turn::CallScope;
use bub_types::{Envelope, MessageKind};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long a poll may take: it may wait for a message.
const POLL: Duration = Duration::from_secs(5);

/// The trial of a channel.
struct Trial<'a> {
    calls: &'a CallScope,
    channel: &'a GuestChannel,
    /// The samples of each function, and how they failed.
    tried: Vec<(&'static str, Option<Failure>)>,
    /// Its messages that the host accepts.
    arrivals: Vec<Value>,
    /// Its messages that the host refuses: the sample, and the reason.
    refused: Vec<(&'static str, String)>,
    /// Its answers to webhooks.
    webhooks: Vec<Value>,
    wait: Duration,
}

/// The result of the trial of a channel.
pub(super) struct TestedChannel {
    /// The sample, and how it failed.
    pub(super) calls: Vec<(&'static str, Option<Failure>)>,
    /// Messages that the host refuses: the sample, and the reason.
    pub(super) refused: Vec<(&'static str, String)>,
    pub(super) told: Value,
}

/// The outcome of a trial.
pub(super) enum Outcome {
    /// The plugin has no channel.
    None,
    /// The channel failed to start.
    Refused(String),
    /// The channel was tested.
    Tested(TestedChannel),
}

/// Runs all samples of the channel.
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

    /// Polls from the start, and then from the returned cursor.
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
        // The same key again, as after an uncertain delivery.
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

/// A message as the host accepts it, with descriptions of its media in place of their data.
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

/// Unsigned webhooks.
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
