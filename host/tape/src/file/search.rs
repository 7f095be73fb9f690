//! A search over a tape's file, from its end.

pub(super) mod blocks;

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::super::entry::Entry;
use super::super::search::{Collector, Hit};
use super::numbered::{NumberedFile, NumberedLine};
use blocks::Blocks;

/// Searches the lines before `end`, which is the end of the file or the start of a line. Holds a few blocks of the file
/// at a time.
///
/// Ends soon after `stop` is set, with the hits so far.
pub(super) fn search(of: &NumberedFile<'_>, end: u64, mut found: Collector, stop: &AtomicBool) -> io::Result<Vec<Hit>> {
    if of.points.is_some() {
        return search_numbered(of, end, found, stop);
    }
    let (file, late) = (of.file, found.deadline());
    pass(file, end, stop, late, &mut |line| match found.may_be_literal(line).then(|| read(line)).flatten() {
        Some(entry) => found.offer_literal(entry),
        None => ControlFlow::Continue(()),
    })?;
    if found.wants_more() {
        // The first pass skipped these lines by their bytes, so they are examined again if necessary.
        pass(file, end, stop, late, &mut |line| match found.may_be_forgiven(line).then(|| read(line)).flatten() {
            Some(entry) => found.offer_forgiving(entry),
            None => ControlFlow::Continue(()),
        })?;
    }
    Ok(found.finish())
}

/// The same for tapes with irregular ids: all lines are parsed.
fn search_numbered(of: &NumberedFile<'_>, end: u64, mut found: Collector, stop: &AtomicBool) -> io::Result<Vec<Hit>> {
    let mut entries = of.backward(end)?;
    while !stop.load(Ordering::Relaxed)
        && !found.is_late()
        && let Some(NumberedLine { entry, .. }) = entries.next(&|_| true)?
    {
        if entry.is_some_and(|entry| found.offer(entry).is_break()) {
            break;
        }
    }
    Ok(found.finish())
}

/// Passes the lines to `visit`, last first.
fn pass(
    file: &File,
    end: u64,
    stop: &AtomicBool,
    late: Option<Instant>,
    visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut blocks = Blocks::new(file, end);
    while let Some(block) = blocks.next()? {
        if late.is_some_and(|late| Instant::now() >= late) {
            return Ok(());
        }
        let mut rest = Some(block);
        while let Some(lines) = rest {
            let line = match memchr::memrchr(b'\n', lines).and_then(|newline| lines.split_at_checked(newline)) {
                Some((before, line)) => {
                    rest = Some(before);
                    line.get(1..).unwrap_or_default()
                }
                None => {
                    rest = None;
                    lines
                }
            };
            if stop.load(Ordering::Relaxed) || !line.is_empty() && visit(line).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Parses a line.
fn read(line: &[u8]) -> Option<Entry> {
    Entry::parse(std::str::from_utf8(line).ok()?)
}
