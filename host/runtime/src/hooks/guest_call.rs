//! The steps that all hook calls have in common: load the interface, lend the turn, call the export.

use super::Answer;
use crate::guest::GuestCall;
use crate::guest::State;
use crate::guest::handles::TurnHandle;
use crate::plugin::quarantine::RecordGuard;
use crate::turn::Turn;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::Resource;

/// A handle of the turn for a guest, its own: a borrow would have to be given back before the call returns, and
/// JavaScript guests cannot do that.
pub(super) fn push_turn_handle(store: &mut Store<State>, turn: &Arc<Turn>) -> wasmtime::Result<Resource<TurnHandle>> {
    Ok(store.data_mut().table.push(TurnHandle(turn.clone()))?)
}

/// Fixes the closure's type for the compiler.
pub(super) fn guest_closure<'c, T, F>(ask: F) -> F
where
    F: for<'a> Fn(GuestCall<'a, 'c>) -> Answer<'a, T>,
{
    ask
}

/// A call of an export: `guest_call!(interface.call(arguments))`, or with `turn;` in front for an export that takes the
/// turn first. The expression after `answer =>` converts or validates the answer.
macro_rules! guest_call {
    ($interface:ident.$call:ident($($argument:expr),*)) => {
        guest_call!($interface.$call($($argument),*), answer => Ok(answer))
    };
    ($interface:ident.$call:ident($($argument:expr),*), $answer:ident => $made:expr) => {
        crate::hooks::guest_call::guest_closure(|guest_call| Box::pin(async move {
            let given = crate::hooks::given!(guest_call.store.data().recorder, $($argument),*);
            let guest = guest_call.exports.$interface(guest_call.store, &guest_call.instance)?;
            let $answer = guest.$call(&mut *guest_call.store, $($argument),*).await?;
            crate::hooks::answered!(guest_call.store.data().recorder, &$answer);
            crate::hooks::guest_call::unless_broken(given, $made)
        }))
    };
    ($turn:expr; $interface:ident.$call:ident($($argument:expr),*)) => {
        guest_call!($turn; $interface.$call($($argument),*), answer => Ok(answer))
    };
    ($turn:expr; $interface:ident.$call:ident($($argument:expr),*), $answer:ident => $made:expr) => {
        crate::hooks::guest_call::guest_closure(|guest_call| Box::pin(async move {
            let given = crate::hooks::given!(guest_call.store.data().recorder, $($argument),*);
            let guest = guest_call.exports.$interface(guest_call.store, &guest_call.instance)?;
            let handle = crate::hooks::guest_call::push_turn_handle(guest_call.store, $turn)?;
            let $answer = guest.$call(&mut *guest_call.store, handle, $($argument),*).await?;
            crate::hooks::answered!(guest_call.store.data().recorder, &$answer);
            crate::hooks::guest_call::unless_broken(given, $made)
        }))
    };
}

pub(super) use guest_call;

/// Records the arguments, without the turn handle: as JSON for a crash report, and for the recording of a turn as copies.
macro_rules! given {
    ($recorder:expr, $($argument:expr),*) => {{
        let recorder = &$recorder;
        if recorder.is_late() {
            let kept = ($(crate::plugin::recording::Owned::owned(&$argument),)*);
            let weight = crate::plugin::recording::length(&kept);
            recorder.recording().arguments_late(weight, move || crate::hooks::list(&kept));
        }
        recorder.record(|| serde_json::json!([$(&$argument),*]))
    }};
}

/// Records what an export returned, in the same way.
macro_rules! answered {
    ($recorder:expr, $answer:expr) => {{
        let recorder = &$recorder;
        match recorder.is_late() {
            true => recorder.recording().answered_late(crate::plugin::recording::Owned::owned(&$answer)),
            false => recorder.answered(|| serde_json::json!($answer)),
        }
    }};
}

pub(crate) use {answered, given};

/// The arguments as JSON: a tuple, of which that of none is no list by itself.
pub(crate) fn list(arguments: &impl Serialize) -> Value {
    match serde_json::to_value(arguments).unwrap_or_default() {
        Value::Null => Value::Array(Vec::new()),
        list => list,
    }
}

/// Discards the recorded arguments unless the call ended in a fault.
pub(super) fn unless_broken<T, F: FnOnce() -> serde_json::Value>(
    given: RecordGuard<F>,
    made: wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    if made.is_ok() {
        given.discard();
    }
    made
}
