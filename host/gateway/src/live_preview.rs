//! Shows an answer while the model writes it, on channels that can edit what they have sent.

use super::gateway::Gateway;
use bub_runtime::hooks::GuestChannel;
use bub_runtime::host::Host;
use bub_runtime::turn::{CallScope, TurnEvent};
use bub_types::{Envelope, MessageKind, StreamEvent};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// The shortest interval between two edits. It doubles with each one that the channel refuses.
const EDIT_INTERVAL: Duration = Duration::from_millis(1500);

/// The key in a message's context that marks it as incomplete.
const PARTIAL: &str = "_partial";

/// The length of the first preview, in bytes.
const MIN_PREVIEW: usize = 24;

impl Gateway {
    /// Shows the events of a turn until they end, and returns the channel's handle of the message, where there is one.
    /// A failure here costs nothing: the whole answer is delivered afterwards.
    pub(super) async fn show_preview(
        self: Arc<Self>,
        host: Arc<Host>,
        channel: Arc<GuestChannel>,
        message: Envelope,
        key: String,
        mut events: mpsc::Receiver<TurnEvent>,
    ) -> Option<String> {
        let mut text = String::new();
        let mut shown = 0;
        let mut handle = None;
        let mut next = Instant::now() + EDIT_INTERVAL;
        let mut interval = EDIT_INTERVAL;
        loop {
            match timeout_at(next, events.recv()).await {
                Ok(None) => return handle,
                Ok(Some(TurnEvent::Event(StreamEvent::Text(more)))) => text.push_str(&more),
                // Another step begins: text before a tool call is not part of the answer.
                Ok(Some(TurnEvent::Event(StreamEvent::ToolCalls(_)))) => text.clear(),
                Ok(Some(_)) => {}
                Err(_) => {
                    next = Instant::now() + interval;
                    if text.len() < MIN_PREVIEW || text.len() == shown {
                        continue;
                    }
                    shown = text.len();
                    let calls = CallScope::new(&host);
                    // The channel decides how to show that more is to come.
                    let context = vec![(PARTIAL.to_owned(), "true".to_owned())];
                    let (id, kind, content) = (None, MessageKind::Normal, text.clone());
                    let preview = Envelope { id, kind, content, context, ..message.clone() };
                    let sent = match &handle {
                        Some(handle) => channel.update(&calls, handle, &preview).await,
                        None => channel.send(&calls, &preview, &key).await.map(|sent| handle = sent),
                    };
                    if let Err(failure) = sent {
                        tracing::debug!("channel `{}` does not show a preview: {failure}", channel.name);
                        interval *= 2;
                        next = Instant::now() + failure.retry_after().unwrap_or_default().max(interval);
                    }
                }
            }
        }
    }
}
