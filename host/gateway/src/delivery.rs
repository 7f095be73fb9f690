//! Delivers answers to their channels, in order within a chat and concurrently across chats.

use super::gateway::{BACKOFF, Gateway};
use super::inbox::target;
use super::inbox::{Begin, Outbound};
use super::outbox::Chat;
use bub_config::Resend;
use bub_runtime::channel::OWN;
use bub_runtime::host::RuntimeEvent;
use bub_runtime::turn::CallScope;
use bub_tape::failpoint;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How long an answer is retried, across restarts. An older one is of no use any more.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);

/// How often an answer looks whether it is the first of its chat.
const TURN_INTERVAL: Duration = Duration::from_millis(300);

/// The outcome of one attempt to deliver an answer.
enum DeliveryOutcome {
    /// The channel accepted it.
    Delivered,
    /// It can be retried, after this time if the channel names one.
    Retry(Option<Duration>, String),
    /// A retry cannot succeed.
    Failed(String),
    /// Another worker delivers it.
    Elsewhere,
}

impl Gateway {
    /// Delivers answers that are in the inbox database.
    pub(super) fn deliver(self: &Arc<Self>, outbounds: Vec<Outbound>) {
        for outbound in outbounds {
            let chat = (target(&outbound.message).to_owned(), outbound.message.chat_id.clone());
            if self.outbox.push(&chat, outbound) {
                drop(tokio::spawn(Arc::clone(self).deliver_chat(chat)));
            }
        }
    }

    async fn deliver_chat(self: Arc<Self>, chat: Chat) {
        while let Some(outbound) = self.outbox.pop(&chat) {
            let key = outbound.key.clone();
            if let Err(error) = self.deliver_with_retries(&chat.0, outbound).await {
                // It stays in the inbox database for the next process.
                tracing::error!("answer `{key}` to channel `{}`: {error}", chat.0);
            }
        }
    }

    /// Delivers one answer, with exponential backoff.
    async fn deliver_with_retries(self: &Arc<Self>, channel: &str, mut outbound: Outbound) -> anyhow::Result<()> {
        let mut backoff = BACKOFF.0;
        loop {
            let outcome = match self.try_deliver(channel, &mut outbound).await {
                // No other process delivers it as long as this one runs.
                Err(error) if self.cluster.is_some() => DeliveryOutcome::Retry(None, format!("{error:#}")),
                outcome => outcome?,
            };
            match outcome {
                DeliveryOutcome::Delivered => {
                    self.report_delivery(channel, &outbound, None);
                    return self.stored(|| self.inbox.remove_outbound(outbound.key.clone())).await;
                }
                DeliveryOutcome::Elsewhere => return Ok(()),
                DeliveryOutcome::Failed(reason) => return self.abandon(channel, outbound, reason).await,
                DeliveryOutcome::Retry(_, reason) if outbound.queued_at.duration_until(Timestamp::now()) > MAX_AGE => {
                    return self.abandon(channel, outbound, format!("given up after 24 hours: {reason}")).await;
                }
                DeliveryOutcome::Retry(after, reason) => {
                    let wait = after.unwrap_or(backoff).min(BACKOFF.1);
                    let key = &outbound.key;
                    tracing::info!("answer `{key}` waits {} ms for channel `{channel}`: {reason}", wait.as_millis());
                    sleep(wait).await;
                    backoff = (backoff * 2).min(BACKOFF.1);
                }
            }
        }
    }

    /// Keeps an answer in the inbox database as one that cannot be delivered.
    async fn abandon(&self, channel: &str, outbound: Outbound, reason: String) -> anyhow::Result<()> {
        // Stored before it is reported: a reader of the report may end the process.
        self.stored(|| self.inbox.mark_undeliverable(outbound.key.clone())).await?;
        self.report_delivery(channel, &outbound, Some(reason.clone()));
        tracing::warn!("answer `{}` is not delivered to channel `{channel}`: {reason}", outbound.key);
        Ok(())
    }

    async fn try_deliver(&self, name: &str, outbound: &mut Outbound) -> anyhow::Result<DeliveryOutcome> {
        let host = self.host();
        let Some(channel) = self.channels.get(name) else {
            let reason = format!("no plugin provides a channel `{name}`");
            let is_own = OWN.contains(&name);
            return Ok(if is_own { DeliveryOutcome::Failed(reason) } else { DeliveryOutcome::Retry(None, reason) });
        };
        if outbound.is_uncertain && !channel.deduplicates && outbound.handle.is_none() {
            if host.config.channel(name).resend == Resend::Never {
                return Ok(DeliveryOutcome::Failed("its delivery was interrupted, and `resend` is `never`".to_owned()));
            }
            outbound.message.content.insert_str(0, "(repeated) ");
        }
        outbound.is_uncertain = false;
        match self.inbox.begin_delivery(outbound.key.clone()).await? {
            Begin::Now => {}
            Begin::Later => {
                let reason = "another worker delivers an earlier answer to the chat".to_owned();
                return Ok(DeliveryOutcome::Retry(Some(TURN_INTERVAL), reason));
            }
            Begin::Elsewhere => return Ok(DeliveryOutcome::Elsewhere),
        }
        let calls = CallScope::new(&host);
        let sent = match &outbound.handle {
            Some(handle) => channel.update(&calls, handle, &outbound.message).await,
            None => channel.send(&calls, &outbound.message, &outbound.key).await.map(drop),
        };
        failpoint::point("gateway.handed");
        let Err(failure) = sent else { return Ok(DeliveryOutcome::Delivered) };
        match failure.retry_after() {
            Some(wait) => {
                self.inbox.mark_ready(outbound.key.clone()).await?;
                Ok(DeliveryOutcome::Retry(Some(wait).filter(|wait| !wait.is_zero()), failure.to_string()))
            }
            // The preview cannot be edited any more: the answer is sent as a new message.
            None if outbound.handle.take().is_some() => {
                Ok(DeliveryOutcome::Retry(Some(Duration::ZERO), failure.to_string()))
            }
            None => Ok(DeliveryOutcome::Failed(failure.to_string())),
        }
    }

    fn report_delivery(&self, channel: &str, outbound: &Outbound, error: Option<String>) {
        let session = outbound.message.session_id.as_deref().unwrap_or_default();
        self.host().events.publish(RuntimeEvent::Delivered { channel: channel.to_owned(), error }, session);
    }
}
