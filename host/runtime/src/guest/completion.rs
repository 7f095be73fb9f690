//! A model call in progress, as a guest reads it.

use bub_model::Event;
use bub_model::local_stream::LocalStream;
use bub_types::Error;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

/// Bytes of text from which on nothing is joined to it.
const JOINED: usize = 64 << 10;

/// The form of one event on its way to the guest: an error ends the stream.
pub type Outcome = Result<Event, Error>;

/// A model call in progress, in the task of the guest that waits for it. Dropping it ends the request: the call notices that
/// its receiver is gone.
pub struct Completion {
    exchange: LocalStream<BoxFuture<'static, ()>, Outcome>,
    /// The outcome behind pieces of text that were joined, if it was not text.
    ahead: Option<Outcome>,
}

impl Completion {
    /// A call whose events `exchange` hands over.
    pub(crate) fn new(exchange: LocalStream<BoxFuture<'static, ()>, Outcome>) -> Self {
        Self { exchange, ahead: None }
    }

    /// The next event. Pieces of text that are there already are one: each costs a call of the guest, and most guests make
    /// one more of it.
    pub(crate) async fn next(&mut self) -> Option<Outcome> {
        let mut event = match self.ahead.take() {
            Some(event) => event,
            None => self.exchange.next().await?,
        };
        while let Ok(joined) = &mut event
            && let Event::Text(text) | Event::Reasoning(text) = joined
            && text.len() < JOINED
            && let Some(further) = self.exchange.try_next()
        {
            match (joined, further) {
                (Event::Text(text), Ok(Event::Text(further))) => text.push_str(&further),
                (Event::Reasoning(text), Ok(Event::Reasoning(further))) => text.push_str(&further),
                (_, further) => {
                    self.ahead = Some(further);
                    break;
                }
            }
        }
        Some(event)
    }

    /// From here on it goes on by itself.
    pub(crate) fn stand_alone(&mut self) {
        // Without a runtime the program ends, and nothing is left to notify.
        if let (Some(exchange), Ok(runtime)) = (self.exchange.take(), Handle::try_current()) {
            runtime.spawn(exchange);
        }
    }
}

impl Drop for Completion {
    /// Settles the used tokens, and notifies observers.
    fn drop(&mut self) {
        self.exchange.close();
        self.stand_alone();
    }
}
