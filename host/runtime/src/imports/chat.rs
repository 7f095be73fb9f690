//! `bub:model/chat`: a model call on behalf of a guest, which never sees a key or an address.

mod call;
mod metering;
mod request;

use self::call::ModelCall;
pub use self::call::ask_provider;
use self::request::Request;
use super::turn::TurnHandle;
use crate::plugin::Running;
use crate::plugin::bindings::chat::{Host, HostCompletion};
use crate::plugin::bindings::exchange;
use crate::plugin::store::State;
use crate::turn::Turn;
use bub_model::Event;
use bub_model::local_stream::LocalStream;
use bub_types::{Error, ErrorKind, ToolCall};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use wasmtime::Result;
use wasmtime::component::Resource;

/// Events that wait between model and guest.
const EVENTS: usize = 64;

/// Bytes of text from which on nothing is joined to it.
const JOINED: usize = 64 << 10;

/// What one event stands for on its way to the guest: an error ends the stream.
type Outcome = std::result::Result<Event, Error>;

/// A model call in progress, in the task of the guest that waits for it. Dropping it ends the request: the call notices that
/// nobody listens any more.
pub struct Completion {
    exchange: LocalStream<BoxFuture<'static, ()>, Outcome>,
    /// What came behind pieces of text that were joined, and was none.
    ahead: Option<Outcome>,
}

impl Completion {
    /// The next event. Pieces of text that are there already are one: each costs a call of the guest, and most guests make
    /// one more of it.
    async fn next(&mut self) -> Option<Outcome> {
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
    fn stand_alone(&mut self) {
        // Without a runtime the program ends, and nobody is left to be told.
        if let (Some(exchange), Ok(runtime)) = (self.exchange.take(), Handle::try_current()) {
            runtime.spawn(exchange);
        }
    }
}

impl Drop for Completion {
    /// What was used has to be paid, and observers have to be told.
    fn drop(&mut self) {
        self.exchange.close();
        self.stand_alone();
    }
}

impl exchange::Host for State {}

impl Host for State {
    async fn complete(
        &mut self,
        turn: Resource<TurnHandle>,
        request: exchange::Request,
    ) -> Result<Result<Resource<Completion>, Error>> {
        let turn = self.turn_of(&turn)?;
        let exchange = match self.exchange(turn, request) {
            Ok(exchange) => exchange,
            Err(error) => return Ok(Err(error)),
        };
        let (sender, events) = mpsc::channel(EVENTS);
        let exchange: BoxFuture<'static, ()> = Box::pin(exchange.run(sender));
        let mut completion = Completion { exchange: LocalStream::new(exchange, events), ahead: None };
        // A guest waits for one at a time, and means several to go on side by side.
        for other in self.table.iter_mut().filter_map(|entry| entry.downcast_mut::<Completion>()) {
            other.stand_alone();
            completion.stand_alone();
        }
        Ok(Ok(self.table.push(completion)?))
    }

    async fn window(&mut self, model: String) -> Result<Option<u32>> {
        Ok(self.host.config.window(&model))
    }

    async fn input_budget(&mut self, model: String) -> Result<Option<u32>> {
        Ok(self.host.config.input_budget(&model))
    }

    async fn token_calibration(&mut self, model: String) -> Result<f64> {
        Ok(match &self.turn {
            Some(turn) => turn.token_calibration(&model).value(),
            None => self.host.budget.token_calibration(&model).value(),
        })
    }
}

impl HostCompletion for State {
    async fn next(&mut self, completion: Resource<Completion>) -> Result<Result<Option<exchange::Event>, Error>> {
        self.has_read = true;
        match self.table.get_mut(&completion)?.next().await {
            None => Ok(Ok(None)),
            Some(Ok(event)) => Ok(Ok(Some(into_guest(event)))),
            Some(Err(error)) => Ok(Err(error)),
        }
    }

    async fn drop(&mut self, completion: Resource<Completion>) -> Result<()> {
        self.table.delete(completion)?;
        Ok(())
    }
}

impl State {
    fn exchange(&self, turn: Arc<Turn>, mut request: exchange::Request) -> std::result::Result<ModelCall, Error> {
        let model = self.model_of(&turn, request.model.take());
        self.granted(&grant_of(&model))?;
        let depth = self.check_depth()?;
        let request = Request::new(&turn, model, request)?;
        let _token = turn.task_token();
        let caller = Running::new(&self.plugin, self.hook);
        Ok(ModelCall { turn, _token, depth, caller, request })
    }
}

/// What it takes to call that model.
fn grant_of(model: &str) -> String {
    format!("model:{model}")
}

fn into_error(error: bub_model::Error) -> Error {
    let kind = match error.kind {
        bub_model::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
        bub_model::ErrorKind::Config => ErrorKind::Config,
        bub_model::ErrorKind::Provider => ErrorKind::Provider,
        bub_model::ErrorKind::ContextLength => ErrorKind::ContextLength,
        bub_model::ErrorKind::Temporary => ErrorKind::Temporary,
        bub_model::ErrorKind::Cancelled => ErrorKind::Cancelled,
    };
    Error::new(kind, error.told())
}

fn into_call(call: bub_model::ToolCall) -> ToolCall {
    ToolCall { id: call.id, name: call.name, arguments: call.arguments }
}

fn into_guest(event: Event) -> exchange::Event {
    match event {
        Event::Text(text) => exchange::Event::Text(text),
        Event::Reasoning(text) => exchange::Event::Reasoning(text),
        Event::ToolCalls(calls) => exchange::Event::ToolCalls(calls.into_iter().map(into_call).collect()),
        Event::Usage(usage) => exchange::Event::Usage(usage),
        Event::Finish(reason) => exchange::Event::Finish(reason),
    }
}

pub(super) fn from_guest(event: exchange::Event) -> Event {
    match event {
        exchange::Event::Text(text) => Event::Text(text),
        exchange::Event::Reasoning(text) => Event::Reasoning(text),
        exchange::Event::ToolCalls(calls) => Event::ToolCalls(
            calls
                .into_iter()
                .map(|call| bub_model::ToolCall { id: call.id, name: call.name, arguments: call.arguments })
                .collect(),
        ),
        exchange::Event::Usage(usage) => Event::Usage(usage),
        exchange::Event::Finish(reason) => Event::Finish(reason),
    }
}
