//! What every call of a hook has in common: the interface is loaded, the turn lent, the export called.

use super::Answer;
use crate::imports::turn::TurnHandle;
use crate::plugin::GuestCall;
use crate::plugin::quarantine::RecordGuard;
use crate::plugin::store::State;
use crate::turn::Turn;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::Resource;

/// A handle of the turn for a guest, its own: a borrow would have to be given back before the call returns, and
/// JavaScript guests cannot do that.
pub(super) fn push_turn_handle(store: &mut Store<State>, turn: &Arc<Turn>) -> wasmtime::Result<Resource<TurnHandle>> {
    Ok(store.data_mut().table.push(TurnHandle(turn.clone()))?)
}

/// Says to the compiler what kind of closure a visit is, before it looks inside.
pub(super) fn asking<'c, T, F>(ask: F) -> F
where
    F: for<'a> Fn(GuestCall<'a, 'c>) -> Answer<'a, T>,
{
    ask
}

/// What is done in a visit to an export: `visit!(interface.call(arguments))`, or with `turn;` in front for an export
/// that takes the turn first. Behind `answer =>` stands what the host makes of the answer before anybody uses it.
macro_rules! visit {
    ($interface:ident.$call:ident($($argument:expr),*)) => {
        visit!($interface.$call($($argument),*), answer => Ok(answer))
    };
    ($interface:ident.$call:ident($($argument:expr),*), $answer:ident => $made:expr) => {
        crate::hooks::visit::asking(|visit| Box::pin(async move {
            let given = crate::hooks::visit::given!(visit, $($argument),*);
            let guest = visit.exports.$interface(visit.store, &visit.instance)?;
            let $answer = guest.$call(visit.store, $($argument),*).await?;
            crate::hooks::visit::unless_broken(given, $made)
        }))
    };
    ($turn:expr; $interface:ident.$call:ident($($argument:expr),*)) => {
        visit!($turn; $interface.$call($($argument),*), answer => Ok(answer))
    };
    ($turn:expr; $interface:ident.$call:ident($($argument:expr),*), $answer:ident => $made:expr) => {
        crate::hooks::visit::asking(|visit| Box::pin(async move {
            let given = crate::hooks::visit::given!(visit, $($argument),*);
            let guest = visit.exports.$interface(visit.store, &visit.instance)?;
            let handle = crate::hooks::visit::push_turn_handle(visit.store, $turn)?;
            let $answer = guest.$call(visit.store, handle, $($argument),*).await?;
            crate::hooks::visit::unless_broken(given, $made)
        }))
    };
}

pub(super) use visit;

/// What the call is given, as JSON, should it break: the arguments behind the handle.
macro_rules! given {
    ($visit:expr, $($argument:expr),*) => {
        $visit.store.data().witness.of(|| serde_json::json!([$(&$argument),*]))
    };
}

pub(crate) use given;

/// What is made of an answer; when that is no fault, nobody has to know what the call was given.
pub fn unless_broken<T, F: FnOnce() -> serde_json::Value>(
    given: RecordGuard<F>,
    made: wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    if made.is_ok() {
        given.withdraw();
    }
    made
}
