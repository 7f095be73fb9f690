//! Reading a tape's file, from either end.

use std::io;
use std::ops::ControlFlow;

use super::super::entry::Entry;
use super::super::error::Result;
use super::super::name::check_tape_name;
use super::directory::{Directory, failed};
use super::scan::{self, Backward, Forward};

impl Directory {
    pub(super) fn last(&self, tape: &str) -> Result<u64> {
        check_tape_name(tape)?;
        let last = || match self.seen(tape)? {
            Some((file, length)) => Ok(self.end(tape, &file, length)?.last_id),
            None => Ok(0),
        };
        last().map_err(failed("read", tape))
    }

    pub(super) fn page(&self, tape: &str, after: u64, max: usize) -> Result<Vec<Entry>> {
        check_tape_name(tape)?;
        let read = || -> io::Result<Vec<Entry>> {
            let mut found = Vec::new();
            let Some((file, end)) = self.seen(tape)? else {
                return Ok(found);
            };
            let start = if after == 0 { 0 } else { scan::behind(&file, after, end)? };
            let mut lines = Forward::new(&file, start, end);
            while found.len() < max
                && let Some(line) = lines.next()?
            {
                found.extend(line.entry().filter(|entry| entry.id > after));
            }
            Ok(found)
        };
        read().map_err(failed("read", tape))
    }

    pub(super) fn tail(&self, tape: &str, before: Option<u64>, max: usize) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        if max > 0 {
            self.walk_back(tape, before, |entry| {
                found.push(entry);
                if found.len() < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
        }
        found.reverse();
        Ok(found)
    }

    pub(super) fn since_anchor(&self, tape: &str) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        self.walk_back(tape, None, |entry| {
            let done = entry.begins_phase();
            found.push(entry);
            if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        found.reverse();
        Ok(found)
    }

    /// Shows `visit` the entries before `before`, newest first, until it has seen enough.
    fn walk_back(
        &self,
        tape: &str,
        before: Option<u64>,
        mut visit: impl FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<()> {
        check_tape_name(tape)?;
        let mut walk = || -> io::Result<()> {
            let Some((file, end)) = self.seen(tape)? else {
                return Ok(());
            };
            let mut lines = Backward::new(&file, self.before(tape, &file, before, end)?)?;
            while let Some(line) = lines.next()? {
                if let Some(entry) = line.entry()
                    && before.is_none_or(|before| entry.id < before)
                    && visit(entry).is_break()
                {
                    break;
                }
            }
            Ok(())
        };
        walk().map_err(failed("read", tape))
    }
}
