//! Recovery of an interrupted turn.

use super::super::draft::{self, Draft};
use super::super::entry::Entry;
use super::super::error::Result;
use super::super::fork::ForkState;
use super::super::interruption;
use super::super::store::{Batch, Commit, Store};
use super::super::{TAKEN, failpoint, json};
use super::record::{self, Record};
use super::{HeldJournal, Recovered};

/// Recovery of interrupted turns from their journals.
pub(super) struct Left {
    key: String,
    date: String,
    /// Its writes, applied by the rules of forks.
    writes: ForkState,
    prompt: Option<String>,
    /// Calls of tools with an effect, as JSON.
    tools: Vec<String>,
}

/// Commits an interrupted turn to the tape, idempotently. `is_aside`: the turn will be retried, so this attempt is kept
/// out of context.
pub(super) async fn recover(
    store: &dyn Store,
    journal: &dyn HeldJournal,
    tape: &str,
    is_aside: bool,
) -> Result<Option<Recovered>> {
    let bytes = journal.left()?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let left = read(&bytes, tape);
    drop(bytes);
    failpoint::point("recover.read");
    let mut recovered = None;
    if let Some(left) = left {
        let summary = left.summary();
        let commit = if is_aside { left.aside(tape)? } else { left.commit(tape)? };
        store.commit(commit).await?;
        recovered = Some(summary);
        failpoint::point("recover.stored");
    }
    journal.empty_left().await?;
    failpoint::point("recover.emptied");
    Ok(recovered)
}

/// Reads the journal; `None` if the turn had not written anything.
pub(super) fn read(bytes: &[u8], tape: &str) -> Option<Left> {
    let mut records = record::parse(bytes);
    let Some(Record::Begin { key, date, .. }) = records.next() else {
        return None;
    };
    let mut left = Left { key, date, writes: ForkState::default(), prompt: None, tools: Vec::new() };
    let mut nothing = true;
    for record in records {
        nothing = false;
        match record {
            Record::Begin { .. } => break,
            Record::Commit(batches) => left.writes.apply(tape, batches.into_iter().map(|batch| (batch, 1, 0))),
            Record::Prompt(text) => left.prompt = Some(text),
            // A call that cannot be stored must not block the rest.
            Record::Tool(call) if interruption::tool_call(std::slice::from_ref(&call)).is_ok() => {
                left.writes.begin_tool(tape, &call);
                left.tools.push(call);
            }
            Record::Tool(_) => {}
        }
    }
    (!nothing).then_some(left)
}

impl Left {
    pub(super) fn summary(&self) -> Recovered {
        let entries = self.writes.tapes.values().map(|local| local.entries.len()).sum();
        let name = |call: &String| {
            let name = json::get(json::get(call, "function")?, "name")?;
            json::string(name)
        };
        let is_taken =
            |entry: &&Entry| json::get(&entry.payload, "name").and_then(json::string).as_deref() == Some(TAKEN);
        let all = self.writes.tapes.values().flat_map(|local| &local.entries);
        let taken = all.filter(|entry| entry.is("event")).filter(is_taken);
        let taken = taken.filter_map(|entry| json::get(&entry.payload, "data").map(str::to_owned)).collect();
        Recovered { entries, tools: self.tools.iter().filter_map(name).collect(), taken }
    }

    /// The turn's own commit, with its open tool calls closed.
    fn commit(mut self, tape: &str) -> Result<Commit> {
        let batches = self.writes.begin_merge(tape).batches;
        let own = batches.iter().find(|batch| batch.tape == tape).map_or(&[][..], |batch| &batch.drafts);
        let closing = self.closing(tape, own)?;
        // After the turn's own entries: sidecars come first, the tape last.
        self.writes.apply(tape, [(Batch { tape: tape.to_owned(), drafts: closing, ..Batch::default() }, 1, 0)]);
        let commit = self.writes.begin_merge(tape);
        Ok(Commit { key: Some(self.key), ..commit })
    }

    /// The turn's own commit, out of context. The message is not marked as taken, since the next attempt takes it.
    fn aside(mut self, tape: &str) -> Result<Commit> {
        let mut commit = self.writes.begin_merge(tape);
        let data = serde_json::json!({ "begun": self.date, "entries": self.summary().entries, "again": true });
        for batch in commit.batches.iter_mut().filter(|batch| batch.tape == tape) {
            let drafts = std::mem::take(&mut batch.drafts).into_iter();
            let drafts = drafts
                .filter(|draft| json::get(draft.payload(), "name").and_then(json::string).as_deref() != Some(TAKEN));
            batch.drafts = drafts.map(|draft| draft.with_meta("context", "false")).collect::<Result<_>>()?;
        }
        let note = draft::event("turn.recovered", &data.to_string())?.with_meta("context", "false")?;
        match commit.batches.iter_mut().find(|batch| batch.tape == tape) {
            Some(batch) => batch.drafts.push(note),
            None => commit.batches.push(Batch { tape: tape.to_owned(), drafts: vec![note], ..Batch::default() }),
        }
        Ok(Commit { key: Some(self.key), ..commit })
    }

    /// The entries that close the turn. `own` are the turn's own entries of the tape.
    fn closing(&self, tape: &str, own: &[Draft]) -> Result<Vec<Draft>> {
        let mut closing = Vec::new();
        let said = own.iter().any(|draft| {
            draft.kind() == "message"
                && json::get(draft.payload(), "role").and_then(json::string).as_deref() == Some("user")
        });
        if let Some(prompt) = self.prompt.as_ref().filter(|_| !said) {
            let payload = format!(r#"{{"role": "user", "content": {}}}"#, json::quote(prompt));
            closing.push(Draft::new("message", &payload, "{}")?);
        }
        let interrupted = self.writes.interrupted_calls(tape)?;
        // Without a prompt the turn was a typed command, which is not part of the conversation.
        let is_command = self.prompt.is_none() && !said;
        for draft in interrupted {
            closing.push(if is_command { draft.with_meta("context", "false")? } else { draft });
        }
        let error = r#"{"kind": "temporary", "message": "the turn was interrupted"}"#;
        closing.push(Draft::new("error", error, "{}")?);
        let summary = self.summary();
        let data = serde_json::json!({ "begun": self.date, "entries": summary.entries, "tools": summary.tools });
        closing.push(draft::event("turn.recovered", &data.to_string())?.with_meta("context", "false")?);
        Ok(closing)
    }
}
