//! What holds each time a guest comes back from the host: how often it may call, and that others have their turn.

use super::store::State;
use std::future::{Future, ready};
use std::pin::Pin;
use std::time::Duration;
use wasmtime::{CallHook, CallHookHandler, Result, StoreContextMut};

/// How long a guest that calls the host keeps its thread. Fuel makes one that computes give way; one that keeps the host at
/// work burns next to none, and neither the others nor its own deadline would have their turn.
const KEEPS: Duration = Duration::from_millis(1);

/// Looks at every call of the host.
pub(super) struct Pace;

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
            return Box::pin(ready(Ok(())));
        }
        if let Err(error) = store.data().check_calls() {
            return Box::pin(ready(Err(error)));
        }
        if !store.data_mut().gives_way(KEEPS) {
            return Box::pin(ready(Ok(())));
        }
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(())
        })
    }
}
