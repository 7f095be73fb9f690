//! Copies of a directory of tapes while others write to it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind, Read};

use super::super::error::{Error, Result};
use super::super::name::{check_tape_name, family};
use super::FileStore;
use super::directory::failed;
use super::erase::DRAFT;

/// Ends the name of a turn's journal, which belongs to the process that runs the turn.
const JOURNAL: &str = ".turn";

/// Ends the name of a lock.
const LOCK: &str = ".lock";

/// A file of a tape as it was between two writes.
pub struct SnapshotFile {
    /// Its name in the directory.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
    /// Reads that many bytes, whatever is written to the tape meanwhile.
    pub content: Box<dyn Read + Send>,
}

impl FileStore {
    /// The tapes that have a file of any kind, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the directory cannot be listed. One that is missing has none.
    pub fn families(&self) -> Result<Vec<String>> {
        let names = self
            .file_names()
            .map_err(|source| Error::Io { action: format!("list the tapes in `{}`", self.dir().display()), source })?;
        let families: BTreeSet<String> = names.iter().filter_map(|name| family_of(name)).map(str::to_owned).collect();
        Ok(families.into_iter().collect())
    }

    /// The files of a tape: itself, its sidecars, archives and torn lines, and the record of the last write. A write that
    /// was interrupted is completed or taken back before. Journals of turns are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the tape is locked for too long, or cannot be read.
    pub async fn snapshot(&self, tape: &str) -> Result<Vec<SnapshotFile>> {
        check_tape_name(tape)?;
        let lock = self.lock("copy", tape).await?;
        let take = || {
            self.files.recover(tape, lock.file())?;
            let names = self.file_names()?;
            let of_tape = names.into_iter().filter(|name| family_of(name) == Some(tape));
            of_tape.map(|name| self.open_part(name)).collect::<io::Result<Vec<_>>>()
        };
        take().map_err(failed("copy", tape))
    }

    /// Opens a file under the lock. Tapes only grow, or are replaced under their name, so that what was there stays
    /// readable.
    fn open_part(&self, name: String) -> io::Result<SnapshotFile> {
        let mut file = File::open(self.dir().join(&name))?;
        // This one is written in place.
        if name.ends_with(LOCK) {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(SnapshotFile { name, length: bytes.len() as u64, content: Box::new(Cursor::new(bytes)) });
        }
        let length = file.metadata()?.len();
        Ok(SnapshotFile { name, length, content: Box::new(file.take(length)) })
    }

    fn file_names(&self) -> io::Result<Vec<String>> {
        let listed = match fs::read_dir(self.dir()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed?,
        };
        let mut names = Vec::new();
        for found in listed {
            let found = found?;
            if found.file_type()?.is_file() {
                names.extend(found.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// The tape that a file belongs to; none if no tape keeps it.
fn family_of(file: &str) -> Option<&str> {
    let (stem, rest) = file.split_once(".jsonl")?;
    let is_kept = !rest.ends_with(JOURNAL) && !rest.ends_with(DRAFT);
    let tape = family(stem);
    (is_kept && check_tape_name(tape).is_ok()).then_some(tape)
}
