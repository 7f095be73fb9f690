//! How changes and their undoing are shown. Paths and contents are of others: they are escaped and bounded.

use crate::{Change, Difference, Kind, Node, Origin, Outcome, Record, Step, Undo};
use bub_types::text::{clipped, count, line};

/// Lines of a difference that are shown.
const MAX_LINES: usize = 1_000;

/// Characters of a line that are shown.
const MAX_WIDTH: usize = 400;

/// Files of a list that are shown.
const MAX_FILES: usize = 200;

/// What a line of a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// A record, or a changed file.
    Title,
    /// Something about the file.
    Note,
    /// It was there before.
    Removed,
    /// It is there now.
    Added,
    /// Where the next lines are in the file.
    Place,
    /// It is there before and now.
    Context,
}

/// What a record holds, as a unified difference. No text of it breaks a line.
pub fn lines(undo: &Undo, record: &Record) -> Vec<(LineKind, String)> {
    let mut lines = vec![(LineKind::Title, row(record))];
    for change in &record.changes {
        if lines.len() > MAX_LINES {
            break;
        }
        lines.extend(change_lines(undo, change));
    }
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines.push((LineKind::Note, "… and more, which is not shown".to_owned()));
    }
    lines
}

fn change_lines(undo: &Undo, change: &Change) -> Vec<(LineKind, String)> {
    let note = |text: &str| (LineKind::Note, text.to_owned());
    let mut lines = vec![(LineKind::Title, format!("{} {}", verb(change), line(&change.path.to_text())))];
    let is_directory = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.kind == Kind::Directory);
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && before.mode != after.mode
    {
        lines.push(note(&format!("mode {:o} -> {:o}", before.mode, after.mode)));
    }
    for (mark, node) in [('-', &change.before), ('+', &change.after)] {
        if let Some(Kind::Link(target)) = node.as_ref().map(|node| &node.kind) {
            lines.push((LineKind::Context, format!("{mark}link to {}", line(target))));
        }
    }
    if is_directory(&change.before) || is_directory(&change.after) || lines.len() > 1 && is_link(change) {
        return lines;
    }
    match undo.difference(change) {
        Some(Difference::Text(text)) => lines.extend(text.lines().take(MAX_LINES).map(shown)),
        Some(Difference::Binary) => lines.push(note("binary")),
        None if change.before.as_ref().is_some_and(|before| !before.is_kept) => {
            lines.push(note("what it held before is not kept"));
        }
        None => lines.push(note("it has changed again since")),
    }
    lines
}

fn is_link(change: &Change) -> bool {
    [&change.before, &change.after].into_iter().flatten().any(|node| matches!(node.kind, Kind::Link(_)))
}

fn shown(text: &str) -> (LineKind, String) {
    let kind = match text.chars().next() {
        Some('-') => LineKind::Removed,
        Some('+') => LineKind::Added,
        Some('@') => LineKind::Place,
        _ => LineKind::Context,
    };
    (kind, clipped(&line(text), MAX_WIDTH))
}

/// What has become of a file: `created`, `changed` or `deleted`.
pub fn verb(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "created",
        (_, None) => "deleted",
        _ => "changed",
    }
}

/// A record on one line.
pub fn row(record: &Record) -> String {
    let files = count(record.changes.len() as u64, "file", "files");
    let time = record.ended.strftime("%Y-%m-%d %H:%M:%S UTC");
    let what = match record.label.origin {
        Origin::Turn => format!("turn {} of session `{}`", record.number, line(&record.label.session)),
        Origin::UndoOf(turn) => format!("turn {}, which has undone {turn}", record.number),
    };
    let interrupted = if record.is_interrupted { ", interrupted" } else { "" };
    let undone = record.undone_by.map(|by| format!(", undone by {by}")).unwrap_or_default();
    format!("{what}: {files}, {time}{interrupted}{undone}")
}

/// The files that stay as they are, and why.
pub fn exceptions(steps: &[Step]) -> Vec<String> {
    let left = |step: &Step| match &step.outcome {
        Outcome::Skipped(why) => Some(format!("left: `{}`: {}", line(&step.path.to_text()), line(why))),
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

/// What an undo has done.
pub fn outcome(undone: Option<&Record>, steps: &[Step]) -> Vec<String> {
    let of = |wanted: &Outcome| steps.iter().filter(|step| step.outcome == *wanted).count() as u64;
    let (restored, removed) = (of(&Outcome::Restored), of(&Outcome::Removed));
    let mut lines = exceptions(steps);
    lines.push(format!("{} put back, {} removed", count(restored, "file", "files"), count(removed, "file", "files")));
    if let Some(undone) = undone {
        lines.push(format!("`bub-wasm undo {}` takes that back", undone.number));
    }
    lines
}
