//! Putting the changes of a record back.

use super::directory;
use super::listing::look;
use super::node::{Kind, Node};
use super::objects::{Objects, duplicate};
use super::path::WorkspacePath;
use super::record::{Change, Record};
use std::fs::File;
use std::io;
use std::path::Path;

/// What becomes of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The file is, or would be, as before.
    Restored,
    /// It is, or would be, removed.
    Removed,
    /// It stays as it is, and why.
    Skipped(String),
}

/// A change and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The file.
    pub path: WorkspacePath,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// What an undo of the record would do. `force`: files that have changed again since are put back too.
pub(crate) fn plan(workspace: &Path, record: &Record, force: bool) -> Vec<Step> {
    let outcome = |change: &Change| {
        let now = look(&workspace.join(change.path.as_path()));
        if matches(now.as_ref(), change.before.as_ref()) {
            return Outcome::Skipped("it is as before already".to_owned());
        }
        if !force && !matches(now.as_ref(), change.after.as_ref()) {
            return Outcome::Skipped("it has changed again since".to_owned());
        }
        match &change.before {
            None if record.ignores_changed && !force => Outcome::Skipped(
                "the turn changed which files are ignored, so that it may have been there before".to_owned(),
            ),
            None => Outcome::Removed,
            Some(before) if !before.is_kept => Outcome::Skipped("it was not kept".to_owned()),
            Some(_) => Outcome::Restored,
        }
    };
    let steps = record.changes.iter().map(|change| Step { path: change.path.clone(), outcome: outcome(change) });
    steps.collect()
}

/// Whether the file is that one. A directory is one whatever its mode is, since only its mode may differ.
fn matches(now: Option<&Node>, expected: Option<&Node>) -> bool {
    match (now, expected) {
        (Some(now), Some(expected)) => now.is_same(expected),
        (now, expected) => now.is_none() && expected.is_none(),
    }
}

/// Carries the plan out: first what is removed, the deepest first, then what is restored.
pub(crate) fn apply(workspace: &Path, objects: &Objects, record: &Record, steps: &mut [Step]) {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    // What is no directory any more, or was none, has to make room as well.
    order.sort_by_key(|at| {
        let is_removed = steps[*at].outcome == Outcome::Removed;
        let depth = steps[*at].path.depth();
        (!is_removed, if is_removed { usize::MAX - depth } else { depth })
    });
    for at in order {
        let (step, change) = (&mut steps[at], &record.changes[at]);
        let done = match &step.outcome {
            Outcome::Removed => remove(workspace, change),
            Outcome::Restored => restore(workspace, objects, change),
            Outcome::Skipped(_) => continue,
        };
        if let Err(error) = done {
            step.outcome = Outcome::Skipped(match error.kind() {
                io::ErrorKind::DirectoryNotEmpty => "it holds files that the turn did not make".to_owned(),
                _ => format!("it cannot be put back: {error}"),
            });
        }
    }
}

fn remove(workspace: &Path, change: &Change) -> io::Result<()> {
    let parent = match directory::parent(workspace, &change.path, false) {
        // It went with its directory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        parent => parent?,
    };
    let is_directory = change.after.as_ref().is_some_and(|after| after.kind == Kind::Directory);
    let removed = if is_directory { parent.remove_directory() } else { parent.remove() };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn restore(workspace: &Path, objects: &Objects, change: &Change) -> io::Result<()> {
    let Some(before) = &change.before else { return Ok(()) };
    let parent = directory::parent(workspace, &change.path, true)?;
    let now = look(&workspace.join(change.path.as_path()));
    let was_directory = before.kind == Kind::Directory;
    let is_directory = now.as_ref().is_some_and(|now| now.kind == Kind::Directory);
    match (now.is_some(), was_directory, is_directory) {
        (true, true, false) => parent.remove()?,
        (true, false, true) => parent.remove_directory()?,
        _ => {}
    }
    match &before.kind {
        Kind::Directory => parent.make_directory(before.mode),
        Kind::Link(_) => parent.put_link(&before.target().unwrap_or_default()),
        Kind::File => {
            let copy = File::open(objects.path(&before.key(&change.path)))?;
            parent.put_file(before.mode, |file| duplicate(&copy, file))
        }
    }
}
