//! `,diff` and `,undo`: the owner looks at what a turn has changed in the workspace, and puts it back, on any channel.

use super::data::Turn;
use super::undoing::undo;
use crate::error::Failure;
use crate::hooks;
use bub_types::text::line;
use bub_types::{Error, ErrorKind, MessageKind, Principal, Prompt};
use bub_undo::{Origin, Outcome, Record, Step, Undo, view};
use std::sync::Arc;
use std::time::Instant;

/// Paths in the event on a tape.
const MAX_PATHS: usize = 50;

/// A command about the changes of a turn: of that number, or of the latest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoCommand {
    /// Shows them.
    Diff(Option<u64>),
    /// Puts them back.
    Undo(Option<u64>),
}

impl UndoCommand {
    /// The names of these commands without the comma, and what they do.
    pub const NAMES: [(&str, &str); 2] =
        [("diff", "Show what the latest turn has changed"), ("undo", "Put back what the latest turn has changed")];

    /// Whether that is the name of one of these commands, which a tool of the same name does not replace.
    pub fn is_name(name: &str) -> bool {
        Self::NAMES.iter().any(|(own, _)| *own == name)
    }

    /// The command in a line. Anything else that begins so, such as `,diff a b`, is for the shell.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (command, number) = (words.next()?, words.next());
        let number = number.map(|number| number.parse().ok()).map_or(Some(None), |number| number.map(Some))?;
        match (command, words.next()) {
            (",diff", None) => Some(Self::Diff(number)),
            (",undo", None) => Some(Self::Undo(number)),
            _ => None,
        }
    }
}

/// The event on the tape of a session whose turn was undone.
pub fn undone_event(record: &Record, undone: Option<&Record>, steps: &[Step]) -> serde_json::Value {
    let done = steps.iter().filter(|step| !matches!(step.outcome, Outcome::Skipped(_)));
    let paths: Vec<String> = done.clone().take(MAX_PATHS).map(|step| line(&step.path.to_text())).collect();
    serde_json::json!({
        "turn": record.number,
        "undone_by": undone.map(|undone| undone.number),
        "files": paths,
        "count": done.count(),
    })
}

impl Turn {
    /// What takes the place of the model's answer for a command about changes, or the answer of the first plugin that has
    /// one.
    pub(super) async fn output(self: &Arc<Self>, prompt: &Prompt) -> Result<Option<String>, Failure> {
        let is_command = self.message.kind == MessageKind::Command && self.nesting() == 0;
        let Some(command) = UndoCommand::parse(&self.message.content).filter(|_| is_command) else {
            return hooks::run_model(self, prompt).await;
        };
        let began = Instant::now();
        let outcome = self.carry_out(command).await;
        let (status, output) = match &outcome {
            Ok(output) => ("ok", output.as_str()),
            Err(error) => ("error", error.message.as_str()),
        };
        let elapsed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let name = if let UndoCommand::Diff(_) = command { "diff" } else { "undo" };
        let raw = self.message.content.trim().trim_start_matches(',');
        let event =
            serde_json::json!({ "raw": raw, "name": name, "status": status, "elapsed_ms": elapsed, "output": output });
        self.append_event("command", &event).await?;
        outcome.map(Some).map_err(Failure::Refused)
    }

    async fn carry_out(self: &Arc<Self>, command: UndoCommand) -> Result<String, Error> {
        // It shows files of the workspace, and changes them.
        if self.principal() != Principal::Owner {
            return Err(Error::denied("only the owner sees what a turn has changed, and puts it back"));
        }
        let store = undo(&self.scope.host.config, &self.workspace).ok_or_else(|| {
            Error::invalid("nothing is kept to be undone, since `enabled` of `[undo]` in config.toml is `false`")
        })?;
        let session = self.session_id.clone();
        let work = move || {
            store.recover_interrupted()?;
            let (UndoCommand::Diff(number) | UndoCommand::Undo(number)) = command;
            let record = find(&store, number, &session)?;
            let mut lines: Vec<String> = view::lines(&store, &record).into_iter().map(|(_, line)| line).collect();
            if let UndoCommand::Diff(_) = command {
                return Ok((lines, None));
            }
            let (steps, undone) = store.undo(&record, false)?;
            lines.truncate(1);
            lines.extend(view::outcome(undone.as_ref(), &steps));
            let has_done = steps.iter().any(|step| !matches!(step.outcome, Outcome::Skipped(_)));
            let event = has_done.then(|| undone_event(&record, undone.as_ref(), &steps));
            anyhow::Ok((lines, event))
        };
        let done = tokio::task::spawn_blocking(work).await;
        let unknown = |error: String| Error::new(ErrorKind::Unknown, error);
        let (lines, event) =
            done.map_err(|error| unknown(error.to_string()))?.map_err(|error| Error::invalid(format!("{error:#}")))?;
        if let Some(event) = event {
            let written = self.append_event("turn.undone", &event).await;
            written
                .map_err(|error| unknown(format!("the files are put back, but the tape does not say so: {error}")))?;
        }
        Ok(lines.join("\n"))
    }
}

/// The record with that number, or that of the latest turn that is not undone: of this session, because its tape is told.
fn find(store: &Undo, number: Option<u64>, session: &str) -> anyhow::Result<Record> {
    let record = match number {
        Some(number) => Some(store.record(number)?),
        None => {
            let is_meant = |record: &Record| {
                record.undone_by.is_none() && record.label.origin == Origin::Turn && record.label.session == session
            };
            store.records().into_iter().find(is_meant)
        }
    };
    let record = record.ok_or_else(|| {
        anyhow::anyhow!("no turn of this session has changed files of this workspace that could be put back")
    })?;
    anyhow::ensure!(
        record.label.session == session,
        "turn {number} is of another session: `bub-wasm undo {number}` shows and undoes it",
        number = record.number
    );
    Ok(record)
}
