//! Garbage collection in a directory of tapes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::super::lock;
use super::super::name::{check_tape_name, family};
use super::directory::{KEPT, TRASH};
use super::erase::DRAFT;

/// A file that was removed, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbage {
    /// Its path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Why it is not needed.
    pub why: &'static str,
}

/// Collects garbage in a directory of tapes and in `index`, the directory of saved indexes. Never removes an entry of a
/// listed tape, an archive, or torn lines. `dry` removes nothing.
///
/// # Errors
///
/// The directory cannot be listed. Files that are locked or cannot be removed are skipped.
pub fn gc(dir: &Path, index: &Path, now: SystemTime, dry: bool) -> io::Result<Vec<Garbage>> {
    let mut gc = Collector { dir, now, dry, found: Vec::new() };
    let names = names(dir)?;
    for (name, bytes) in self::files(&dir.join(TRASH)) {
        let path = dir.join(TRASH).join(name);
        if gc.is_old(&path) {
            gc.remove(path, bytes, "was moved to the trash more than a day ago");
        }
    }
    let mut families = BTreeSet::new();
    for name in &names {
        if let Some(tape) = name.strip_suffix(".jsonl") {
            gc.empty_tape(tape);
        }
        if name.strip_suffix(DRAFT).is_some_and(|name| name.contains(".jsonl")) && gc.is_old(&dir.join(name)) {
            let bytes = fs::metadata(dir.join(name)).map_or(0, |about| about.len());
            gc.remove(dir.join(name), bytes, "was never finished");
        }
        if name.ends_with(".jsonl.torn") {
            let path = dir.join(name);
            if fs::metadata(&path).is_ok_and(|about| about.len() == 0) {
                gc.remove(path, 0, "is empty");
            }
        }
        families.extend(name.strip_suffix(".jsonl.lock").or_else(|| name.strip_suffix(".jsonl.turn")));
    }
    for tape in families {
        gc.locks_of(tape);
    }
    for (name, bytes) in files(index) {
        let path = index.join(&name);
        let is_gone = |tape: &str| check_tape_name(tape).is_ok() && !dir.join(format!("{tape}.jsonl")).exists();
        if name.strip_suffix(".index").or_else(|| name.strip_suffix(".zones")).is_some_and(is_gone) {
            gc.remove(path, bytes, "is the index of a tape that is gone");
        } else if name.ends_with(".new") && gc.is_old(&path) {
            gc.remove(path, bytes, "was never finished");
        }
    }
    Ok(gc.found)
}

struct Collector<'a> {
    dir: &'a Path,
    now: SystemTime,
    dry: bool,
    found: Vec<Garbage>,
}

impl Collector<'_> {
    fn is_old(&self, path: &Path) -> bool {
        let changed = fs::metadata(path).and_then(|about| about.modified()).ok();
        changed.and_then(|time| self.now.duration_since(time).ok()).is_some_and(|age| age > KEPT)
    }

    fn remove(&mut self, path: PathBuf, bytes: u64, why: &'static str) {
        if self.dry || fs::remove_file(&path).is_ok() {
            self.found.push(Garbage { path, bytes, why });
        }
    }

    /// Removes an empty tape, under its lock.
    fn empty_tape(&mut self, tape: &str) {
        let path = self.dir.join(format!("{tape}.jsonl"));
        let is_empty = || fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() == 0);
        if check_tape_name(tape).is_err() || !is_empty() || !self.is_old(&path) {
            return;
        }
        if self.dry {
            return self.remove(path, 0, "is a tape without entries");
        }
        // Created if it is missing: an append that begins now must wait for it.
        let held = lock::open(&self.dir.join(format!("{}.jsonl.lock", family(tape))));
        if held.is_ok_and(|held| held.try_lock().is_ok() && is_empty()) {
            self.remove(path, 0, "is a tape without entries");
        }
    }

    /// Removes locks and journals of a missing tape, unless one is held or the journal has a turn. Waiters notice the
    /// removal and create a new file.
    fn locks_of(&mut self, tape: &str) {
        let paths = ["turn", "lock"].map(|kind| self.dir.join(format!("{tape}.jsonl.{kind}")));
        let mut held = Vec::new();
        for path in &paths {
            let Ok(file) = File::open(path) else { continue };
            let Ok(about) = file.metadata() else { return };
            let is_journal = path.extension().is_some_and(|kind| kind == "turn");
            if file.try_lock().is_err() || is_journal && about.len() > 0 {
                return;
            }
            held.push((path, about.len(), file));
        }
        let is_of = |name: &String| name.strip_suffix(".jsonl").is_some_and(|other| family(other) == family(tape));
        if names(self.dir).is_ok_and(|names| !names.iter().any(is_of)) {
            for (path, bytes, _file) in &held {
                self.remove((*path).clone(), *bytes, "belongs to a tape that is gone");
            }
        }
    }
}

fn names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for found in fs::read_dir(dir)? {
        names.extend(found?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// Names and sizes of the files of a directory; empty if it is missing.
fn files(dir: &Path) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    for found in fs::read_dir(dir).into_iter().flatten().flatten() {
        if let (Ok(name), Ok(about)) = (found.file_name().into_string(), found.metadata())
            && about.is_file()
        {
            files.push((name, about.len()));
        }
    }
    files.sort_unstable();
    files
}
