//! `bub:turn/subturn`: a turn inside a turn.

use super::turn::TurnHandle;
use crate::plugin::bindings::Error;
use crate::plugin::bindings::subturn::{Host, Request};
use crate::plugin::store::State;
use crate::turn::Inner;
use tokio::sync::watch;
use wasmtime::Result;
use wasmtime::component::Resource;

impl Host for State {
    async fn run(&mut self, turn: Resource<TurnHandle>, request: Request) -> Result<Result<String, Error>> {
        let turn = self.turn_of(&turn)?;
        if let Err(refusal) = self.granted("agent") {
            return Ok(Err(refusal));
        }
        let inner = Inner {
            prompt: request.prompt,
            session: request.session,
            model: request.model,
            tools: request.tools,
            skills: request.skills,
        };
        // In a task of its own, so that turns inside turns do not grow one future without end.
        let (cancel, abandoned) = watch::channel(false);
        let task = tokio::spawn(async move {
            let working = turn.working();
            turn.run_inner(inner, abandoned, working).await
        });
        Ok(match (CancelOnDrop { task, cancel }).await {
            Ok(output) => output.map_err(|failure| failure.to_error()),
            Err(error) => Err(Error::new(crate::plugin::bindings::ErrorKind::Unknown, error.to_string())),
        })
    }
}

/// Cancels the turn when its caller stops waiting. It is not aborted: what its tools have done is still written down, and
/// the programs that it started are ended.
struct CancelOnDrop<T> {
    task: tokio::task::JoinHandle<T>,
    cancel: watch::Sender<bool>,
}

impl<T> std::future::Future for CancelOnDrop<T> {
    type Output = std::result::Result<T, tokio::task::JoinError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.task).poll(context)
    }
}

impl<T> Drop for CancelOnDrop<T> {
    fn drop(&mut self) {
        self.cancel.send_replace(true);
    }
}
