//! Writing behind the end of a tape's file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;

use super::super::draft::Draft;
use super::super::error::{Error, Result};
use super::super::store::next_id;
use super::end::{self, End, Tail};
use super::scan::LONGEST_LINE;
use super::{FileStore, failed};

impl FileStore {
    /// Under the lock: finds the end, mends it, writes one block behind it.
    pub(super) fn write(&self, tape: &str, drafts: Vec<Draft>, expect_last: Option<u64>) -> Result<u64> {
        let failed = || failed("append to", tape);
        let path = self.path(tape, "");
        let mut options = OpenOptions::new();
        options.read(true).append(true).mode(0o600);
        let found = match options.open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed()(error)),
        };
        let mut end = match &found {
            Some(file) => self.end_of(tape, file).map_err(failed())?,
            None => End::EMPTY,
        };
        if expect_last.is_some_and(|expected| expected != end.last_id) {
            return Err(Error::Conflict { last: end.last_id });
        }
        let first = next_id(end.last_id, drafts.len())?;
        if drafts.is_empty() {
            return Ok(first);
        }
        let block = block(first, drafts)?;
        let last = first + block.count - 1;
        let mut text = block.text;
        let mut file = match found {
            Some(file) => file,
            None => options.create(true).open(&path).map_err(failed())?,
        };
        match end.tail {
            Tail::Nothing => {}
            Tail::Whole => text.insert(0, '\n'),
            Tail::Torn(start) => {
                end::set_aside(&file, start, &self.path(tape, ".torn")).map_err(failed())?;
                end.length = start;
            }
        }
        if let Err(error) = file.write_all(text.as_bytes()) {
            self.ends.forget(tape);
            // Cutting off needs no space. Where it fails too, the next append sets the half line aside.
            let _cut = file.set_len(end.length);
            return Err(failed()(error));
        }
        match file.metadata() {
            Ok(metadata) => self.ends.remember(tape, &metadata, last),
            Err(_) => self.ends.forget(tape),
        }
        Ok(first)
    }

    pub(super) fn end_of(&self, tape: &str, file: &File) -> io::Result<End> {
        match self.ends.recall(tape, &file.metadata()?) {
            Some(end) => Ok(end),
            None => End::of(file),
        }
    }
}

/// Lines to be written as one.
struct Block {
    text: String,
    count: u64,
}

fn block(first: u64, drafts: Vec<Draft>) -> Result<Block> {
    let mut block = Block { text: String::new(), count: 0 };
    for (id, draft) in (first..).zip(drafts) {
        let line = draft.numbered(id).line();
        if line.len() > LONGEST_LINE {
            return Err(Error::invalid(format!("an entry of {} bytes is longer than a line may be", line.len())));
        }
        if line.contains('\n') {
            return Err(Error::invalid("an entry spans lines"));
        }
        block.text.push_str(&line);
        block.text.push('\n');
        block.count += 1;
    }
    Ok(block)
}
