//! An answer shown while it grows, where the channel can change what it has sent.

use super::Gateway;
use bub_runtime::hooks::GuestChannel;
use bub_runtime::host::Host;
use bub_runtime::turn::{CallScope, TurnEvent};
use bub_types::{Envelope, MessageKind, StreamEvent};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// How often what is shown may change. A channel that takes less says so by failing, and is then left alone for longer.
const PACE: Duration = Duration::from_millis(1500);

/// The key of a message's context that says that it is not whole yet.
const PARTIAL: &str = "_partial";

/// Fewer characters are not worth a message of their own.
const WORTH: usize = 24;

impl Gateway {
    /// Shows what is heard of a turn until nothing more comes, and answers with what the channel calls the message, where
    /// there is one. Whatever fails here costs nothing: the whole answer is delivered behind it.
    pub(super) async fn draft(
        self: Arc<Self>,
        host: Arc<Host>,
        channel: Arc<GuestChannel>,
        message: Envelope,
        key: String,
        mut heard: mpsc::Receiver<TurnEvent>,
    ) -> Option<String> {
        let mut text = String::new();
        let mut shown = 0;
        let mut handle = None;
        let mut next = Instant::now() + PACE;
        let mut pace = PACE;
        loop {
            match timeout_at(next, heard.recv()).await {
                Ok(None) => return handle,
                Ok(Some(TurnEvent::Event(StreamEvent::Text(more)))) => text.push_str(&more),
                // Another step begins, and what was said before it is no part of the answer.
                Ok(Some(TurnEvent::Event(StreamEvent::ToolCalls(_)))) => text.clear(),
                Ok(Some(_)) => {}
                Err(_) => {
                    next = Instant::now() + pace;
                    if text.len() < WORTH || text.len() == shown {
                        continue;
                    }
                    shown = text.len();
                    let calls = CallScope::new(&host);
                    // The channel shows in its own way that more is to come.
                    let context = vec![(PARTIAL.to_owned(), "true".to_owned())];
                    let (id, kind, content) = (None, MessageKind::Normal, text.clone());
                    let draft = Envelope { id, kind, content, context, ..message.clone() };
                    let outcome = match &handle {
                        Some(handle) => channel.update(&calls, handle, &draft).await,
                        None => channel.send(&calls, &draft, &key).await.map(|sent| handle = sent),
                    };
                    if let Err(failure) = outcome {
                        tracing::debug!("what is said so far is not shown on channel `{}`: {failure}", channel.name);
                        pace *= 2;
                        next = Instant::now() + failure.retry_after().unwrap_or_default().max(pace);
                    }
                }
            }
        }
    }
}
