//! What became of a turn that a process began which is gone. The tape knows: what is part of a conversation stands there.

use super::{Answer, Gateway};
use bub_runtime::error::Failure;
use bub_tape::{Entry, Query, Start, TAKEN, json};
use bub_types::{Envelope, Error, ErrorKind};

/// What was found of a turn.
pub(super) enum Found {
    /// It has ended, or must not be begun again; this came of it.
    Ended(Answer),
    /// Nothing that anybody would see: it can be begun again.
    Nothing,
}

impl Gateway {
    /// Looks for the turn of a message that was taken at `since`. What an attempt left that can be made again is put on the
    /// tape, out of context.
    pub(super) async fn evidence(&self, session: &str, message: &Envelope, since: &str) -> Found {
        match self.look(session, message, since).await {
            Ok(found) => found,
            Err(error) => {
                let failure = Failure::from(error);
                tracing::error!("what became of an interrupted turn of session `{session}` cannot be seen: {failure}");
                Found::Ended(Answer::failed(session.to_owned(), &failure))
            }
        }
    }

    async fn look(&self, session: &str, message: &Envelope, since: &str) -> bub_tape::Result<Found> {
        let host = self.host();
        let tapes = host.tapes();
        let name = bub_tape::tape_name(&host.workspace, session);
        let tape = tapes.open(&name)?;
        let taken = Query {
            kinds: vec!["event".to_owned()],
            name: Some(TAKEN.to_owned()),
            since: Some(since.to_owned()),
            ..Query::default()
        };
        let taken = tape.query(&taken).await?;
        if let Some(at) = taken.iter().position(|event| is_of(event, message)) {
            let until = taken.get(at + 1).map(|next| next.id);
            let behind = Query { start: Start::AfterId(taken[at].id), ..Query::default() };
            let mut entries = tape.query(&behind).await?;
            entries.retain(|entry| until.is_none_or(|until| entry.id < until));
            return Ok(Found::Ended(ended(session, &entries)));
        }
        if let Some(left) = tapes.journals().left(&name)? {
            if !left.tools.is_empty() {
                return Ok(Found::Ended(interrupted(session, &left.tools)));
            }
            tapes.set_aside(&name).await?;
        }
        Ok(Found::Nothing)
    }
}

fn is_of(event: &Entry, message: &Envelope) -> bool {
    let data = json::get(&event.payload, "data").unwrap_or_default();
    let is = |key: &str, value: &str| json::get(data, key).and_then(json::string).as_deref() == Some(value);
    is("channel", &message.channel) && message.id.as_ref().is_some_and(|id| is("id", id))
}

/// What a turn says that stands on its tape.
fn ended(session: &str, entries: &[Entry]) -> Answer {
    let text = |entry: &Entry, key: &str| json::get(&entry.payload, key).and_then(json::string);
    let said =
        entries.iter().rev().find(|entry| entry.is("message") && text(entry, "role").as_deref() == Some("assistant"));
    let failed = entries.iter().rev().find(|entry| entry.is("error"));
    let run_ids = entries.iter().filter_map(|entry| json::get(&entry.meta, "run_id").and_then(json::string));
    let mut run_ids: Vec<String> = run_ids.collect();
    run_ids.dedup();
    let mut answer = Answer { run_ids, ..Answer::silent(session.to_owned()) };
    match (said, failed) {
        (Some(said), None) => answer.model_output = text(said, "content").unwrap_or_default(),
        (_, failed) => {
            let message = failed.and_then(|failed| text(failed, "message"));
            let message = message.unwrap_or_else(|| "the turn ended before it gave an answer".to_owned());
            answer.error = Some(Error::new(ErrorKind::Temporary, message));
        }
    }
    answer
}

/// What is said in place of a turn whose tools may have had their effect.
fn interrupted(session: &str, tools: &[String]) -> Answer {
    let names = tools.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let message = format!("interrupted while {names} ran, which may or may not have had an effect; ask again to go on");
    Answer { error: Some(Error::new(ErrorKind::Temporary, message)), ..Answer::silent(session.to_owned()) }
}
