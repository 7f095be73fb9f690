//! The tape of a handle, and what a guest may do with it.

use crate::guest::State;
use crate::guest::handles::TapeHandle;
use crate::imports::sidecars::owner;
use crate::turn::{DenialReason, Turn};
use bub_permissions::Grant;
use bub_tape::Tape;
use bub_types::Error;
use std::sync::Arc;
use wasmtime::Result;
use wasmtime::component::Resource;

impl State {
    pub(super) fn handle_of(&self, handle: &Resource<TapeHandle>) -> Result<TapeHandle> {
        Ok(self.table.get(handle)?.clone())
    }

    pub(super) fn tape_of(&self, handle: &Resource<TapeHandle>) -> Result<(Tape, Arc<Turn>)> {
        let handle = self.table.get(handle)?;
        Ok((handle.tape.clone(), handle.turn.clone()))
    }

    /// The outcome of a write. Writes of a streaming agent do not invalidate cached hook answers.
    pub(super) fn written<T>(&self, handle: &TapeHandle, outcome: bub_tape::Result<T>) -> Result<T, Error> {
        if !handle.turn.is_streaming(&self.plugin.name) {
            handle.turn.changed();
        }
        outcome.map_err(Error::from)
    }

    /// Refuses unless that sidecar is the plugin's own.
    pub(crate) fn owns_sidecar(&self, name: &str) -> Result<(), Error> {
        if !self.holds(&Grant::TAPE_APPEND) {
            self.granted(&Grant::TAPE_EVENT)?;
        }
        if owner(name) == self.plugin.name && !bub_tape::HOST_SIDECARS.contains(&name) {
            return Ok(());
        }
        let message = format!(
            "the sidecar `{name}` is not plugin `{0}`'s: its own are called `{0}` or `{0}.NAME`",
            self.plugin.name
        );
        Err(self.denied(DenialReason::Reach, &format!("sidecar:{name}"), Error::denied(message)))
    }
}

/// Forgets new entries that repeat a text that was forgotten in this turn.
pub(super) async fn forget_again(
    handle: &TapeHandle,
    written: Result<u64, Error>,
    drafts: &[bub_tape::Draft],
) -> Result<u64, Error> {
    let first = written?;
    handle.turn.forget_written(&handle.tape, drafts).await?;
    Ok(first)
}
