//! `bub:model/chat`: a model call on behalf of a guest, which never sees a key or an address.

mod call;
mod metering;
mod request;
mod response;
mod spans;
mod trail;

use self::call::ModelCall;
pub use self::call::ask_provider;
use self::request::Request;
pub use self::trail::preview;
use crate::guest::Running;
use crate::guest::State;
use crate::guest::bindings::chat::{Host, HostCompletion};
use crate::guest::bindings::exchange;
use crate::guest::completion::Completion;
pub(super) use crate::guest::convert::from_guest;
use crate::guest::convert::{EVENTS, into_guest};
use crate::guest::handles::TurnHandle;
use crate::turn::Turn;
use bub_model::local_stream::LocalStream;
use bub_permissions::Grant;
use bub_types::Error;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tokio::sync::mpsc;
use tracing::Instrument;
use wasmtime::Result;
use wasmtime::component::Resource;

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
        let exchange: BoxFuture<'static, ()> = Box::pin(exchange.run(sender).in_current_span());
        let mut completion = Completion::new(LocalStream::new(exchange, events));
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
        self.granted(&Grant::model(&model))?;
        let depth = self.check_depth()?;
        let request = Request::new(&turn, model, request)?;
        let _token = turn.task_token();
        let caller = Running::new(&self.plugin, self.call);
        Ok(ModelCall { turn, _token, depth, caller, request })
    }
}
