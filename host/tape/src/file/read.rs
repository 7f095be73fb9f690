//! Reading a tape's file, from either end.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::super::entry::Entry;
use super::super::error::Result;
use super::super::name::check_tape_name;
use super::super::revision::Revision;
use super::directory::{Directory, failed};
use super::numbered::{NumberedFile, NumberedLine, has_irregular_ids};

impl Directory {
    pub(super) fn last(&self, tape: &str) -> Result<u64> {
        check_tape_name(tape)?;
        let last = || match self.seen(tape)? {
            Some((file, length)) => Ok(self.end(tape, &file, length)?.last_id),
            None => Ok(0),
        };
        last().map_err(failed("read", tape))
    }

    pub(super) fn revision(&self, tape: &str) -> Result<Option<Revision>> {
        check_tape_name(tape)?;
        let found = |path| match fs::metadata(path) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", tape)(error)),
        };
        // A write becomes visible by a change of the lock file alone.
        Ok(Revision::of_files(&[found(self.path(tape, ""))?, found(self.lock_path(tape))?]))
    }

    pub(super) fn page(&self, tape: &str, after: u64, max: usize) -> Result<Vec<Entry>> {
        self.reading(tape, |_, of| {
            let mut found = Vec::new();
            let mut entries = of.forward(after)?;
            while found.len() < max
                && let Some((_, entry)) = entries.next()?
            {
                found.push(entry);
            }
            Ok(found)
        })
    }

    pub(super) fn tail(&self, tape: &str, before: Option<u64>, max: usize) -> Result<Vec<Entry>> {
        self.back(tape, before, max, |_| false)
    }

    pub(super) fn since_anchor(&self, tape: &str) -> Result<Vec<Entry>> {
        self.back(tape, None, usize::MAX, Entry::begins_phase)
    }

    /// The newest `max` entries before `before`, in order, back to the first that `is_last` accepts.
    fn back(&self, tape: &str, before: Option<u64>, max: usize, is_last: fn(&Entry) -> bool) -> Result<Vec<Entry>> {
        self.reading(tape, |file, of| {
            let mut found: Vec<Entry> = Vec::new();
            let mut entries = of.backward(self.before(tape, file, of, before)?)?;
            while found.len() < max
                && !found.last().is_some_and(is_last)
                && let Some(NumberedLine { entry, .. }) = entries.next(&|_| true)?
            {
                found.extend(entry.filter(|entry| before.is_none_or(|before| entry.id < before)));
            }
            found.reverse();
            Ok(found)
        })
    }

    /// Applies `read` to the visible part of the tape's file; the default without a file.
    pub(super) fn reading<T: Default>(
        &self,
        tape: &str,
        read: impl Fn(&Arc<File>, &NumberedFile<'_>) -> io::Result<T>,
    ) -> Result<T> {
        check_tape_name(tape)?;
        let read = || match self.seen(tape)? {
            Some((file, end)) => self.numbered(tape, &file, end, |of| read(&file, of)),
            None => Ok(T::default()),
        };
        read().map_err(failed("read", tape))
    }

    /// Reads the first `end` bytes of a tape's file by the ids on its lines; if those do not increase, by the sparse
    /// index.
    pub(super) fn numbered<T>(
        &self,
        tape: &str,
        file: &Arc<File>,
        end: u64,
        read: impl Fn(&NumberedFile<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.is_read_by_lines(tape) {
            return read(&NumberedFile { file, end, points: None }).map_err(|error| {
                if !has_irregular_ids(&error) {
                    return error;
                }
                // Otherwise an entry's id would change within a turn.
                self.log_irregular(tape);
                io::Error::other(
                    "the ids of its entries do not increase, which was detected only now: try again in the next turn",
                )
            });
        }
        if !self.indexes.has_irregular_ids(tape) {
            match read(&NumberedFile { file, end, points: None }) {
                Err(error) if has_irregular_ids(&error) => self.log_irregular(tape),
                Err(error) => return Err(error),
                // A concurrent query may have found irregular ids.
                Ok(_) if self.indexes.has_irregular_ids(tape) => {}
                Ok(found) => return Ok(found),
            }
        }
        let points = self.ask(tape, file, end, |index| Ok(index.points().clone()))?;
        read(&NumberedFile { file, end, points: Some(points) })
    }

    /// Switches the tape to its sparse index; logged once.
    pub(super) fn log_irregular(&self, tape: &str) {
        if self.indexes.mark_irregular(tape) {
            self.opened.forget_end(tape);
            tracing::warn!(
                "tape `{tape}`: the ids of its entries do not increase, so the entries are numbered in file order; to list them: bub-wasm tape verify {tape}"
            );
        }
    }
}
