//! The checks each time a guest comes back from the host: how often it may call, and that other tasks have their turn.

use super::state::State;
use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use wasmtime::{CallHook, CallHookHandler, Result, StoreContextMut};

/// How long a guest that calls the host keeps its thread. Fuel makes one that computes give way; one that keeps the host at
/// work burns next to none, and neither the others nor its own deadline would have their turn.
const KEEPS: Duration = Duration::from_millis(1);

/// Looks at every call of the host.
pub(super) struct Pace;

/// Nothing is wrong. Without a size, because a box of it is made four times in each call of the host, and then takes no memory.
struct Fine;

impl Future for Fine {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl CallHookHandler<State> for Pace {
    fn handle_call_event<'a, 's, 'f>(
        &'a self,
        mut store: StoreContextMut<'s, State>,
        transition: CallHook,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'f>>
    where
        'a: 'f,
        's: 'f,
    {
        if !matches!(transition, CallHook::ReturningFromHost) {
            return Box::pin(Fine);
        }
        if let Err(error) = store.data().check_calls() {
            return Box::pin(ready(Err(error)));
        }
        if !store.data_mut().gives_way(KEEPS) {
            return Box::pin(Fine);
        }
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(())
        })
    }
}
