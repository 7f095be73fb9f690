//! Events of a turn, for its listener and for the event bus.

use super::data::Turn;
use super::options::TurnEvent;
use crate::host::RuntimeEvent;
use bub_types::{Error, StreamEvent};
use std::time::Duration;

impl Turn {
    /// Sends an event to the listener, and waits while the listener is slow.
    ///
    /// # Errors
    /// Fails if the listener is gone.
    pub async fn emit(&self, event: StreamEvent) -> Result<(), Error> {
        let Some(listener) = &self.options.listener else { return Ok(()) };
        let left = |_| Error::new(bub_types::ErrorKind::Cancelled, "the listener has left");
        listener.send(TurnEvent::Event(event)).await.map_err(left)
    }

    /// Tells the outermost turn's listener that a model request is retried. A slow listener misses it.
    pub fn publish_retry(&self, why: &str, pause: Duration) {
        if let Some(listener) = &self.outermost().options.listener {
            let _ = listener.try_send(TurnEvent::Retry { why: why.to_owned(), pause });
        }
    }

    /// Tells the outermost turn's listener of a tool call.
    pub async fn publish_tool_event(&self, turn_event: TurnEvent) {
        let event = match &turn_event {
            TurnEvent::ToolBegins { name, .. } => Some(RuntimeEvent::ToolBegins { tool: name.clone() }),
            TurnEvent::ToolEnds { took, outcome, .. } => {
                Some(RuntimeEvent::ToolEnds { took: *took, error: outcome.as_ref().err().cloned() })
            }
            TurnEvent::Event(_) | TurnEvent::Retry { .. } => None,
        };
        if let Some(event) = event {
            self.scope.host.events.publish(event, &self.outermost().session_id);
        }
        if let (TurnEvent::ToolBegins { call, name, arguments, .. }, Some(observer)) =
            (&turn_event, &self.outermost().options.call_observer)
        {
            observer(*call, name, arguments);
        }
        if let Some(listener) = &self.outermost().options.listener {
            // A listener that is gone does not affect the tool.
            let _ = listener.send(turn_event).await;
        }
    }
}
