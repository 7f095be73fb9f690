//! Recovery of turns that an earlier process started. The tape decides: the messages of a turn that ended are on it.

use super::TurnOutcome;
use super::gateway::Gateway;
use bub_runtime::error::Failure;
use bub_tape::{Entry, Query, Start, TAKEN, json};
use bub_types::{Envelope, Error, ErrorKind};

/// The state of a turn that an earlier process started.
pub(crate) enum RecoveredTurn {
    /// It has ended, or must not be repeated, with this outcome.
    Ended(TurnOutcome),
    /// It had no visible effect and can be started again.
    Restartable,
}

impl Gateway {
    /// Finds the state of the turn of a message that was accepted at `since`. The journal of an attempt that can be
    /// repeated goes to the tape, out of context.
    pub(super) async fn recover_turn(&self, session: &str, message: &Envelope, since: &str) -> RecoveredTurn {
        match self.find_turn(session, message, since).await {
            Ok(turn) => turn,
            Err(error) => {
                let failure = Failure::from(error);
                tracing::error!("an interrupted turn of session `{session}` cannot be recovered: {failure}");
                RecoveredTurn::Ended(TurnOutcome::failed(session.to_owned(), &failure))
            }
        }
    }

    async fn find_turn(&self, session: &str, message: &Envelope, since: &str) -> bub_tape::Result<RecoveredTurn> {
        let host = self.host();
        let tapes = host.tapes();
        let name = bub_tape::tape_name(&host.workspace, session);
        let tape = tapes.open(&name)?;
        // Before the look at the tape: until its lease is claimed, the process of the turn may still write its end.
        let session_held = tapes.interrupted(&name).await?;
        let taken = Query {
            kinds: vec!["event".to_owned()],
            name: Some(TAKEN.to_owned()),
            since: Some(since.to_owned()),
            ..Query::default()
        };
        let taken = tape.query(&taken).await?;
        if let Some(at) = taken.iter().position(|event| names_message(event, message)) {
            let until = taken.get(at + 1).map(|next| next.id);
            let after = Query { start: Start::AfterId(taken[at].id), ..Query::default() };
            let mut entries = tape.query(&after).await?;
            entries.retain(|entry| until.is_none_or(|until| entry.id < until));
            return Ok(RecoveredTurn::Ended(outcome_from_entries(session, &entries)));
        }
        if let Some(left) = session_held.left() {
            // A message that was to steer the interrupted turn, which has not read it.
            if !left.taken.is_empty() && !left.taken.iter().any(|data| is_of(data, message)) {
                return Ok(RecoveredTurn::Restartable);
            }
            if !left.tools.is_empty() {
                return Ok(RecoveredTurn::Ended(interrupted(session, &left.tools)));
            }
        }
        session_held.set_aside().await?;
        Ok(RecoveredTurn::Restartable)
    }
}

fn names_message(event: &Entry, message: &Envelope) -> bool {
    is_of(json::get(&event.payload, "data").unwrap_or_default(), message)
}

/// Whether that data of an event names the message.
fn is_of(data: &str, message: &Envelope) -> bool {
    let is = |key: &str, value: &str| json::get(data, key).and_then(json::string).as_deref() == Some(value);
    is("channel", &message.channel) && message.id.as_ref().is_some_and(|id| is("id", id))
}

/// The outcome of a turn whose entries are on the tape.
fn outcome_from_entries(session: &str, entries: &[Entry]) -> TurnOutcome {
    let text = |entry: &Entry, key: &str| json::get(&entry.payload, key).and_then(json::string);
    let answer =
        entries.iter().rev().find(|entry| entry.is("message") && text(entry, "role").as_deref() == Some("assistant"));
    let failed = entries.iter().rev().find(|entry| entry.is("error"));
    let run_ids = entries.iter().filter_map(|entry| json::get(&entry.meta, "run_id").and_then(json::string));
    let mut run_ids: Vec<String> = run_ids.collect();
    run_ids.dedup();
    let mut outcome = TurnOutcome { run_ids, ..TurnOutcome::silent(session.to_owned()) };
    match (answer, failed) {
        (Some(answer), None) => outcome.model_output = text(answer, "content").unwrap_or_default(),
        (_, failed) => {
            let message = failed.and_then(|failed| text(failed, "message"));
            let message = message.unwrap_or_else(|| "the turn ended before it gave an answer".to_owned());
            outcome.error = Some(Error::new(ErrorKind::Temporary, message));
        }
    }
    outcome
}

/// The outcome of a turn whose tools may have had an effect.
fn interrupted(session: &str, tools: &[String]) -> TurnOutcome {
    let names = tools.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let message = format!("interrupted while {names} ran, which may or may not have had an effect; ask again to go on");
    let error = Some(Error::new(ErrorKind::Temporary, message));
    TurnOutcome { error, ..TurnOutcome::silent(session.to_owned()) }
}
