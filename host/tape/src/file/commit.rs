//! Atomic writes under the lock of a tape: all of a write or nothing, also after a crash.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::super::draft::Draft;
use super::super::error::{Error, Result};
use super::super::name::{SIDECAR, archive_beside, check_tape_name, family};
use super::super::store::{Commit, Outcome, next_id};
use super::super::{Durability, failpoint};
use super::commit_record::{self, Block, CommitRecord, Pending};
use super::directory::{Directory, failed};
use super::end::{self, Tail};
use super::numbered;

/// Lines to append to one file.
pub(super) struct Addition<'a> {
    /// The tape or archive.
    pub(super) name: String,
    pub(super) file: Arc<File>,
    pub(super) offset: u64,
    pub(super) text: String,
    /// For the tape: the id of the first line, and the drafts; for entries that have ids, the last of those and no drafts.
    pub(super) drafts: (u64, &'a [Draft]),
}

impl Directory {
    /// Under the lock of `tape`, whose file is `lock`.
    pub(super) fn commit(&self, tape: &str, lock: &File, commit: &Commit) -> Result<Outcome> {
        let failed = || failed("append to", tape);
        failpoint::point("commit.locked");
        check_room(tape, commit)?;
        let mut record = self.recover(tape, lock).map_err(failed())?;
        if commit.key.is_some() && commit.key == record.merged {
            return Ok(Outcome::Already);
        }
        let all_reset = commit.batches.iter().any(|batch| batch.tape == tape && batch.reset.is_some());
        let mut first = Vec::with_capacity(commit.batches.len());
        let mut texts = Vec::with_capacity(commit.batches.len());
        for batch in &commit.batches {
            let last = if all_reset || batch.reset.is_some() { 0 } else { self.last_id(&batch.tape)? };
            if batch.expect_last.is_some_and(|expected| expected != last) {
                return Err(Error::Conflict { last });
            }
            let id = next_id(last, batch.drafts.len())?;
            texts.push(text(id, &batch.drafts)?);
            first.push(id);
        }
        let mut moved = Vec::new();
        let stored = self.store(tape, &mut record, lock, commit, (texts, &first), &mut moved);
        if stored.is_err() {
            self.move_back(moved);
        }
        stored.map(|()| Outcome::Stored(first))
    }

    /// `moved` lists files to move back when this fails; empty when recovery must decide.
    fn store(
        &self,
        tape: &str,
        record: &mut CommitRecord,
        lock: &File,
        commit: &Commit,
        (texts, first): (Vec<String>, &[u64]),
        moved: &mut Vec<(String, PathBuf)>,
    ) -> Result<()> {
        let failed = || failed("append to", tape);
        // The archives' ids follow those of the moved entries.
        let kept = self.clear_tape(tape, commit, moved).map_err(failed())?;
        let mut additions = Vec::new();
        for (archive, drafts) in kept {
            let addition = self.add_to_archive(&archive, &drafts)?;
            additions.push(addition);
        }
        for ((batch, text), id) in commit.batches.iter().zip(texts).zip(first) {
            if !batch.drafts.is_empty() {
                additions.push(self.addition(&batch.tape, text, (*id, &batch.drafts)).map_err(failed())?);
            }
        }
        if additions.is_empty() && commit.key.is_none() {
            return Ok(());
        }
        let mut undone = false;
        let wrote = self.write(lock, record, commit.key.clone(), &additions, &mut undone);
        if wrote.is_err() && !undone {
            // The record may refer to a tape that was moved away.
            moved.clear();
        }
        wrote.map_err(failed())
    }

    /// Completes or rolls back an interrupted write. Idempotent.
    pub(super) fn recover(&self, tape: &str, lock: &File) -> io::Result<CommitRecord> {
        // The last write of another process may not be durable yet.
        self.sync(lock)?;
        let mut record = CommitRecord::read(lock)?;
        let Some(pending) = record.pending.take() else {
            return Ok(record);
        };
        let mut files = Vec::new();
        for block in &pending.blocks {
            // The record is read from a file, which may be corrupt.
            if !may_be_of(&block.file, tape) {
                continue;
            }
            match OpenOptions::new().read(true).write(true).open(self.dir().join(&block.file)) {
                Ok(file) => files.push((block, Some(file))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => files.push((block, None)),
                Err(error) => return Err(error),
            }
        }
        let mut done = true;
        for (block, file) in &files {
            done &= match file {
                Some(file) => commit_record::is_intact(file, block)?,
                None => false,
            };
        }
        if done {
            record.merged = pending.key.or(record.merged);
        }
        for (block, file) in &files {
            if let Some(file) = file {
                if !done && file.metadata()?.len() > block.offset {
                    self.undo(file, block)?;
                }
                // The outcome must be durable before the record forgets it.
                self.sync(file)?;
            }
            failpoint::point("recover.cut");
        }
        self.sync_dir()?;
        record.write(lock, "recover.record", self.durability == Durability::Fsync)?;
        failpoint::point("recover.end");
        Ok(record)
    }

    /// Rolls back a block. Bytes that another program appended after it without the lock are kept.
    fn undo(&self, file: &File, block: &Block) -> io::Result<()> {
        let ours = block.offset.checked_add(block.length);
        let tape = block.file.strip_suffix(".jsonl");
        match tape.filter(|_| ours.is_none_or(|ours| file.metadata().is_ok_and(|found| found.len() > ours))) {
            Some(tape) => end::set_aside(file, block.offset, &self.path(tape, ".torn")),
            None => file.set_len(block.offset),
        }
    }

    /// Moves away the tapes that are reset. Returns the fork's entries for the archives, with the archives' names.
    fn clear_tape(
        &self,
        tape: &str,
        commit: &Commit,
        moved: &mut Vec<(String, PathBuf)>,
    ) -> io::Result<Vec<(String, Vec<Draft>)>> {
        let mut kept = Vec::new();
        let resets = commit.batches.iter().filter_map(|batch| Some((batch, batch.reset.as_ref()?)));
        for (batch, reset) in resets {
            let mut archive = reset.archive.clone();
            if batch.tape == tape {
                // Sidecars use the number of their tape's archive.
                archive = archive.map(|archive| self.free_name(&archive)).transpose()?;
                for sidecar in self.sidecars_of(tape)? {
                    let archive = archive.as_ref().map(|archive| archive_beside(archive, tape, &sidecar));
                    self.move_away(&sidecar, archive.as_deref(), moved)?;
                }
            }
            let archive = self.move_away(&batch.tape, archive.as_deref(), moved)?.or(archive);
            if let Some(archive) = archive.filter(|_| !reset.kept.is_empty()) {
                kept.push((archive, reset.kept.clone()));
            }
            failpoint::point("commit.reset");
        }
        Ok(kept)
    }

    fn add_to_archive(&self, archive: &str, drafts: &[Draft]) -> Result<Addition<'static>> {
        let failed = || failed("archive", archive);
        let file = OpenOptions::new().read(true).append(true).create(true).open(self.dir().join(archive));
        let file = Arc::new(file.map_err(failed())?);
        let length = file.metadata().map_err(failed())?.len();
        let end = numbered::end_of(&file, length).map_err(failed())?;
        let mut text = text(next_id(end.last_id, drafts.len())?, drafts)?;
        if end.tail != Tail::Nothing {
            text.insert(0, '\n');
        }
        Ok(Addition { name: archive.to_owned(), file, offset: length, text, drafts: (0, &[]) })
    }

    /// Repairs the tape's end, and prepares the text to append.
    pub(super) fn addition<'a>(
        &self,
        tape: &str,
        mut text: String,
        drafts: (u64, &'a [Draft]),
    ) -> io::Result<Addition<'a>> {
        let file = self.opened.append(tape, &self.path(tape, ""))?;
        let mut offset = file.metadata()?.len();
        match self.end(tape, &file, offset)?.tail {
            Tail::Nothing => {}
            Tail::Whole => text.insert(0, '\n'),
            Tail::Torn(start) => {
                end::set_aside(&file, start, &self.path(tape, ".torn"))?;
                offset = start;
            }
        }
        Ok(Addition { name: format!("{tape}.jsonl"), file, offset, text, drafts })
    }

    /// Writes all or nothing; `undone` is set if an error left everything unchanged.
    pub(super) fn write(
        &self,
        lock: &File,
        record: &mut CommitRecord,
        key: Option<String>,
        additions: &[Addition<'_>],
        undone: &mut bool,
    ) -> io::Result<()> {
        let sync = self.durability == Durability::Fsync;
        let blocks = additions.iter().map(|addition| Block {
            file: addition.name.clone(),
            offset: addition.offset,
            length: addition.text.len() as u64,
            crc: crc32fast::hash(addition.text.as_bytes()),
        });
        let before = record.clone();
        record.pending = Some(Pending { key: key.clone(), blocks: blocks.collect() });
        let mut wrote = record.write(lock, "commit.pending", sync);
        failpoint::point("commit.begun");
        for addition in additions {
            let bytes = addition.text.as_bytes();
            wrote = wrote.and_then(|()| failpoint::write("commit.block", &addition.file, bytes, addition.offset));
            wrote = wrote.and_then(|()| self.sync(&addition.file));
            failpoint::point("commit.written");
        }
        // A new file's directory entry must be as durable as its content.
        if additions.iter().any(|addition| addition.offset == 0) {
            wrote = wrote.and_then(|()| self.sync_dir());
        }
        if wrote.is_ok() {
            record.pending = None;
            record.merged = key.clone().or(record.merged.take());
            wrote = record.write(lock, "commit.merged", sync);
            // A write with a key counts as committed: its repetition returns `Already`.
            if key.is_some() && wrote.is_err() {
                return wrote;
            }
        }
        if let Err(error) = wrote {
            for addition in additions {
                self.opened.forget(addition.name.trim_end_matches(".jsonl"));
                // Truncating needs no space. If it fails too, recovery truncates by the record.
                addition.file.set_len(addition.offset)?;
                self.sync(&addition.file)?;
            }
            CommitRecord { seq: record.seq, ..before }.write(lock, "undo.record", sync)?;
            *undone = true;
            return Err(error);
        }
        failpoint::point("commit.end");
        for addition in additions {
            if let Some(tape) = addition.name.strip_suffix(".jsonl") {
                self.wrote(tape, addition);
            }
        }
        Ok(())
    }

    /// Updates the caches after a write to the tape.
    fn wrote(&self, tape: &str, Addition { file, offset, text, drafts: (first, drafts), .. }: &Addition<'_>) {
        let end = offset + text.len() as u64;
        self.opened.remember(tape, file, end, first + (drafts.len() as u64).saturating_sub(1));
        // An index that is in memory would not know them.
        if drafts.is_empty() {
            return self.indexes.forget(tape);
        }
        // A leading newline ends the previous line, which no index has included yet.
        if text.starts_with('\n') {
            return;
        }
        let lengths = text.split_inclusive('\n').map(str::len);
        let places = lengths.scan(*offset, |at, length| Some(std::mem::replace(at, *at + length as u64)));
        let entries = (*first..).zip(*drafts).map(|(id, draft)| draft.clone().numbered(id));
        self.indexes.extend(tape, file, (*offset, end), entries.zip(places));
    }

    /// Moves files back, as far as possible; the rest stays in its archive.
    fn move_back(&self, moved: Vec<(String, PathBuf)>) {
        for (tape, target) in moved.into_iter().rev() {
            let path = self.path(&tape, "");
            self.opened.forget(&tape);
            // The new tape is still empty.
            if fs::metadata(&path).is_ok_and(|made| made.len() == 0) {
                let _removed = fs::remove_file(&path);
            }
            let _moved = renameat_with(CWD, &target, CWD, &path, RenameFlags::NOREPLACE);
        }
        let _synced = self.sync_dir();
    }

    fn last_id(&self, tape: &str) -> Result<u64> {
        let last = || {
            let Some((file, length)) = self.opened.read(tape, &self.path(tape, ""))? else {
                return Ok(0);
            };
            Ok(self.end(tape, &file, length)?.last_id)
        };
        last().map_err(failed("append to", tape))
    }

    /// The tape's existing sidecars, in order.
    pub(super) fn sidecars_of(&self, tape: &str) -> io::Result<Vec<String>> {
        let prefix = format!("{tape}{SIDECAR}");
        let mut names = Vec::new();
        let listed = match fs::read_dir(self.dir()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
            listed => listed?,
        };
        for found in listed {
            let file = found?.file_name();
            let name = file.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            names.extend(name.filter(|name| name.starts_with(&prefix)).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// Whether a file of that name can belong to the tape: the tape, a sidecar, or an archive of one of them.
pub(super) fn may_be_of(file: &str, tape: &str) -> bool {
    let Some((name, rest)) = file.split_once(".jsonl") else {
        return false;
    };
    let is_archive =
        rest.starts_with('.') && rest.ends_with(".bak") && file.len() <= 255 && !rest.contains(['/', '\0']);
    check_tape_name(name).is_ok() && family(name) == tape && (rest.is_empty() || is_archive)
}

/// Rejects a commit that the record cannot describe, before any change.
fn check_room(tape: &str, commit: &Commit) -> Result<()> {
    // A block's numbers and the archive's date, twice if entries go to the archive too.
    let names = commit.batches.iter().map(|batch| 2 * (batch.tape.len() + 120)).sum::<usize>();
    let whole = names + commit.key.as_ref().map_or(0, |key| 2 * key.len());
    if whole <= commit_record::MAX_LENGTH || commit.batches.len() <= 2 {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "one write to tape `{tape}` goes to {} sidecars, which are too many",
        commit.batches.len() - 1
    )))
}

fn text(first: u64, drafts: &[Draft]) -> Result<String> {
    let mut text = String::with_capacity(drafts.iter().map(Draft::room).sum());
    for (id, draft) in (first..).zip(drafts) {
        text.push_str(&draft.line(id)?);
        text.push('\n');
    }
    Ok(text)
}
