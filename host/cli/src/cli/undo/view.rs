//! How changes and their undoing are shown on a terminal, and as JSON.

use super::super::style::Style;
use super::super::text;
use bub_undo::view::{LineKind, lines, verb};
use bub_undo::{Origin, Outcome, Record, Step, Undo};
use serde_json::{Value, json};

/// What a turn has changed, as a unified difference.
pub(in crate::cli) fn difference(undo: &Undo, record: &Record, style: Style) -> Vec<String> {
    let styled = |(kind, line)| match kind {
        LineKind::Title => style.bold(line),
        LineKind::Note => style.dim(line),
        LineKind::Removed => style.red(line),
        LineKind::Added => style.green(line),
        LineKind::Place => style.cyan(line),
        LineKind::Context => line,
    };
    lines(undo, record).into_iter().map(styled).collect()
}

pub(super) fn to_json(record: &Record) -> Value {
    let changes = record.changes.iter().map(|change| json!({ "path": change.path, "change": verb(change) }));
    json!({
        "turn": record.number,
        "session": record.label.session,
        "undoes": match record.label.origin { Origin::UndoOf(turn) => Some(turn), Origin::Turn => None },
        "ended": record.ended.to_string(),
        "interrupted": record.is_interrupted,
        "undone_by": record.undone_by,
        "changes": changes.collect::<Vec<_>>(),
    })
}

/// The question before an undo.
pub(in crate::cli) fn question(count: usize) -> String {
    format!("Put {} back? [y/N] ", text::count(count as u64, "file", "files"))
}

pub(super) fn outcome_json(record: &Record, undone: Option<&Record>, steps: &[Step]) -> Value {
    let files = steps.iter().map(|step| {
        let (done, why) = match &step.outcome {
            Outcome::Restored => ("restored", None),
            Outcome::Removed => ("removed", None),
            Outcome::Skipped(why) => ("skipped", Some(why)),
        };
        json!({ "path": step.path, "done": done, "why": why })
    });
    let undone_by = undone.map(|undone| undone.number);
    json!({ "turn": record.number, "undone_by": undone_by, "files": files.collect::<Vec<_>>() })
}
