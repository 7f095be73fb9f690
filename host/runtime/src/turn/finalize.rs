//! How a turn ends on the tape.

mod forget;

use super::data::Turn;
use super::decision::DECIDED;
use super::denial::DENIED;
use super::spans;
use crate::error::Failure;
use crate::host::cutoff;
use bub_tape::{Draft, SESSION_MARK, SessionMark};
use bub_types::{Envelope, MessageKind, is_ephemeral};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;
use tracing::Instrument;

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Turn {
    /// Writes an event that says what happened without being conversation: no selector sees it. Once the turn's writes
    /// are on the tape it goes there directly.
    pub async fn append_event(&self, name: &str, data: &serde_json::Value) -> bub_tape::Result<()> {
        let event = bub_tape::event(name, &data.to_string())?.with_meta("context", "false")?;
        let tape = self.tape().await?;
        let tape = match self.is_settled() {
            true if is_ephemeral(&self.session_id) => return Ok(()),
            true => tape.stored(),
            false => tape,
        };
        tape.append(vec![event]).await.map(drop)
    }

    /// Says that a message is a part of this turn from here on, where its channel knows it again by its id.
    pub(super) async fn record_message_id(&self, message: &Envelope) -> Result<(), Failure> {
        if let Some(id) = &message.id {
            self.append_event(bub_tape::TAKEN, &serde_json::json!({ "channel": message.channel, "id": id })).await?;
        }
        Ok(())
    }

    /// Puts the turn's writes on the tape, together. A failed turn keeps the user's message, and says what happened in an
    /// `error` entry.
    ///
    /// # Errors
    ///
    /// [`Failure::LeaseLost`], before anything is written: the worker that claims the lease puts the journal there.
    pub(super) async fn finalize(&self, failure: Option<&Failure>) -> Result<(), Failure> {
        self.check_lease()?;
        self.write_audit().await?;
        // Only where there is a conversation that the next turn will read.
        if self.tainted().is_some() && (failure.is_some() || self.has_opened_tape()) {
            self.write_taint().await?;
        }
        self.write_addresses(failure.is_some()).await?;
        if let Some(failure) = failure {
            let tape = self.tape().await?;
            let mut entries = Vec::new();
            if self.kind() != MessageKind::Command && !self.options.is_direct {
                entries = self.unwritten(&self.tape.read(self.first, usize::MAX).await?)?;
            }
            entries.extend(self.interrupted_calls()?);
            entries.push(error_entry(failure)?);
            tape.append(entries).await?;
        }
        self.forget_own().await?;
        self.mark_tape().await?;
        self.mark_settled();
        if !is_ephemeral(&self.session_id) {
            let span = bub_telemetry::span!("commit", tape = self.tape.name());
            self.tape.merge().instrument(span).await?;
        }
        Ok(())
    }

    /// Which session the turn's tape is of; none where it is none that is kept under its own name.
    pub fn session_mark(&self) -> Option<SessionMark> {
        let (id, workspace) = (self.session_id.clone(), self.workspace.to_string_lossy().into_owned());
        let mark = SessionMark { id, workspace, channel: self.message.channel.clone() };
        (!is_ephemeral(&self.session_id) && mark.is_of(self.tape.name())).then_some(mark)
    }

    /// Says whose tape it is on one that began without it: in another program, or as a copy.
    async fn mark_tape(&self) -> bub_tape::Result<()> {
        // A tape that this turn began has the mark already.
        if self.began() == 0 || !self.has_opened_tape() {
            return Ok(());
        }
        let Some(mark) = self.session_mark() else { return Ok(()) };
        if self.tape.session_mark().await?.is_some() {
            return Ok(());
        }
        let event = bub_tape::event(SESSION_MARK, &mark.json())?.with_meta("context", "false")?;
        self.tape.append(vec![event]).await.map(drop)
    }

    /// Calls of tools that began and of which no entry says what came: a tool has its effect, however its turn ends.
    fn interrupted_calls(&self) -> bub_tape::Result<Vec<Draft>> {
        let calls = self.tape.interrupted_calls()?;
        // Neither a typed command nor a client's own call is a part of the conversation.
        match self.kind() == MessageKind::Command || self.options.is_direct {
            true => calls.into_iter().map(|call| call.with_meta("context", "false")).collect(),
            false => Ok(calls),
        }
    }

    /// Writes what the host has counted since the last call, out of context: what was denied, and what plugins used.
    pub(super) async fn write_audit(&self) -> bub_tape::Result<()> {
        for data in self.audit(|audit| audit.decisions.take()) {
            self.append_event(DECIDED, &data).await?;
        }
        for data in self.audit(|audit| std::mem::take(&mut audit.denials)).into_events() {
            self.append_event(DENIED, &data).await?;
        }
        for ((plugin, digest, grant, host), amount) in self.audit(|audit| std::mem::take(&mut audit.uses)) {
            let mut data = serde_json::json!({
                "plugin": plugin, "digest": digest, "grant": grant, "times": amount.times, "bytes": amount.received,
            });
            if let (Some(host), Some(data)) = (host, data.as_object_mut()) {
                data.insert("host".to_owned(), host.into());
                data.insert("sent".to_owned(), amount.sent.into());
                self.receipt("connection", data.clone().into());
            }
            self.append_event("plugin.grant", &data).await?;
        }
        if self.nesting() == 0 {
            self.write_receipts().await;
        }
        Ok(())
    }

    /// Behind the answer: a long tape that has no index gets one, for the turns that come.
    pub(super) async fn index_tape(&self) {
        if !is_ephemeral(&self.session_id)
            && let Err(error) = self.tape.index().await
        {
            tracing::debug!("the tape is not indexed: {error}");
        }
    }

    /// Behind the answer, once a day for a workspace: old versions of its memory and of the session's go.
    pub(super) async fn compact_memory(&self) {
        let config = &self.scope.host.config;
        let workspace = bub_tape::workspace_tape_name(&self.workspace);
        let mark = config.index_dir().join(format!("{workspace}.zones"));
        if is_ephemeral(&self.session_id) || self.shared.is_some() || !is_due(&mark) {
            return;
        }
        let (tapes, cutoff) = (self.scope.host.tapes_of(&self.scope), cutoff(config.tapes.memory_history_days));
        for (name, sidecar) in [(workspace.as_str(), None), (self.tape.name(), Some(bub_tape::MEMORY))] {
            if let Err(error) = tapes.compact(name, sidecar, cutoff, false).await {
                tracing::debug!("the memory on tape `{name}` keeps its old versions for now: {error}");
            }
        }
    }

    /// The turn is over. Of one that failed what was counted last is written down; behind an answer there is more to come.
    pub(super) async fn end(&self, has_failed: bool) {
        spans::ended(self, has_failed);
        let is_lost = self.check_lease().is_err();
        self.discard().await;
        self.record_changes().await;
        if is_lost {
            self.scope.host.processes.end_session(&self.session_id).await;
        } else if has_failed && let Err(error) = self.write_audit().await {
            tracing::warn!("what was denied last is not on the tape: {error}");
        }
    }

    /// The same for a failure behind the model stage: the conversation is on the tape already.
    pub(super) async fn finalize_late<T>(&self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        if let Err(failure) = &outcome
            && !is_ephemeral(&self.session_id)
        {
            self.tape.stored().append(vec![error_entry(failure)?]).await?;
        }
        outcome
    }
}

/// Whether that was done last more than a day ago, as a file says; from here on it says that it is done now. Where it cannot
/// be written nothing is due.
fn is_due(mark: &Path) -> bool {
    let made = fs::metadata(mark).and_then(|about| about.modified()).ok();
    if made.is_some_and(|made| made.elapsed().is_ok_and(|age| age < A_DAY)) {
        return false;
    }
    let dir = mark.parent().map_or(Ok(()), |dir| DirBuilder::new().recursive(true).mode(0o700).create(dir));
    dir.and_then(|()| fs::write(mark, "")).is_ok()
}

fn error_entry(failure: &Failure) -> bub_tape::Result<Draft> {
    let error = failure.to_error();
    let payload = serde_json::json!({ "kind": error.kind.name(), "message": error.message });
    Draft::new("error", &payload.to_string(), "{}")
}
