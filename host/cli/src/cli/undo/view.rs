//! How changes and their undoing are shown. Paths and contents are of others: they are escaped and bounded.

use super::super::style::Style;
use super::super::text;
use bub_undo::{Change, Difference, Kind, Node, Origin, Outcome, Record, Step, Undo};
use serde_json::{Value, json};

/// Lines of a difference that are shown.
const MAX_LINES: usize = 1_000;

/// Columns of a line that are shown.
const MAX_WIDTH: usize = 400;

/// Files of a list that are shown.
const MAX_FILES: usize = 200;

/// What a turn has changed, as a unified difference.
pub(in crate::cli) fn difference(undo: &Undo, record: &Record, style: Style) -> Vec<String> {
    let mut lines = vec![style.bold(row(record))];
    for change in &record.changes {
        if lines.len() > MAX_LINES {
            break;
        }
        lines.extend(change_lines(undo, change, style));
    }
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines.push(style.dim("… and more, which is not shown"));
    }
    lines
}

fn change_lines(undo: &Undo, change: &Change, style: Style) -> Vec<String> {
    let path = shown(change);
    let mut lines = vec![style.bold(format!("{} {path}", verb(change)))];
    let is_directory = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.kind == Kind::Directory);
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && before.mode != after.mode
    {
        lines.push(style.dim(format!("mode {:o} -> {:o}", before.mode, after.mode)));
    }
    for (mark, node) in [('-', &change.before), ('+', &change.after)] {
        if let Some(Kind::Link(target)) = node.as_ref().map(|node| &node.kind) {
            lines.push(format!("{mark}link to {}", text::line(target)));
        }
    }
    if is_directory(&change.before) || is_directory(&change.after) || lines.len() > 1 && is_link(change) {
        return lines;
    }
    match undo.difference(change) {
        Some(Difference::Text(text)) => lines.extend(text.lines().take(MAX_LINES).map(|line| colored(line, style))),
        Some(Difference::Binary) => lines.push(style.dim("binary")),
        None if change.before.as_ref().is_some_and(|before| !before.is_kept) => {
            lines.push(style.dim("what it held before is not kept"));
        }
        None => lines.push(style.dim("it has changed again since")),
    }
    lines
}

fn is_link(change: &Change) -> bool {
    [&change.before, &change.after].into_iter().flatten().any(|node| matches!(node.kind, Kind::Link(_)))
}

fn colored(line: &str, style: Style) -> String {
    let shown = text::cut(&text::line(line), MAX_WIDTH);
    match line.chars().next() {
        Some('-') => style.red(shown),
        Some('+') => style.green(shown),
        Some('@') => style.cyan(shown),
        _ => shown,
    }
}

fn verb(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "created",
        (_, None) => "deleted",
        _ => "changed",
    }
}

fn shown(change: &Change) -> String {
    text::line(&change.path.to_text())
}

/// A record on one line.
pub(super) fn row(record: &Record) -> String {
    let files = text::count(record.changes.len() as u64, "file", "files");
    let time = record.ended.strftime("%Y-%m-%d %H:%M:%S UTC");
    let what = match record.label.origin {
        Origin::Turn => format!("turn {} of session `{}`", record.number, text::line(&record.label.session)),
        Origin::UndoOf(turn) => format!("turn {}, which has undone {turn}", record.number),
    };
    let interrupted = if record.is_interrupted { ", interrupted" } else { "" };
    let undone = record.undone_by.map(|by| format!(", undone by {by}")).unwrap_or_default();
    format!("{what}: {files}, {time}{interrupted}{undone}")
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

/// The files that stay as they are, and why.
pub(in crate::cli) fn exceptions(steps: &[Step]) -> Vec<String> {
    let left = |step: &Step| match &step.outcome {
        Outcome::Skipped(why) => Some(format!("left: `{}`: {}", text::line(&step.path.to_text()), text::line(why))),
        Outcome::Restored | Outcome::Removed => None,
    };
    let mut lines: Vec<String> = steps.iter().filter_map(left).collect();
    let more = lines.len().saturating_sub(MAX_FILES);
    lines.truncate(MAX_FILES);
    if more > 0 {
        lines.push(format!("left: {more} more"));
    }
    lines
}

/// The question before an undo.
pub(in crate::cli) fn question(count: usize) -> String {
    format!("Put {} back? [y/N] ", text::count(count as u64, "file", "files"))
}

/// What an undo has done.
pub(in crate::cli) fn outcome(undone: Option<&Record>, steps: &[Step]) -> Vec<String> {
    let count = |wanted: &Outcome| steps.iter().filter(|step| step.outcome == *wanted).count() as u64;
    let (restored, removed) = (count(&Outcome::Restored), count(&Outcome::Removed));
    let mut lines = exceptions(steps);
    lines.push(format!(
        "{} put back, {} removed",
        text::count(restored, "file", "files"),
        text::count(removed, "file", "files")
    ));
    if let Some(undone) = undone {
        lines.push(format!("`bub-wasm undo {}` takes that back", undone.number));
    }
    lines
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
