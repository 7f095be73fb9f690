//! Tapes whose files are open, and what is known of them.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::end::{End, Tail};

/// How many tapes are kept open.
const OPEN: usize = 64;

/// The tapes that were used last. What is known of one is a hint: good only while its name leads to the same file, as long
/// as it was.
#[derive(Default)]
pub(super) struct Opened(Mutex<VecDeque<Known>>);

struct Known {
    tape: String,
    file: Arc<File>,
    /// Which file it is; another may have the name by now.
    identity: (u64, u64),
    writable: bool,
    /// Its length and last id, behind an append of this process.
    end: Option<(u64, u64)>,
}

impl Opened {
    /// The file that the tape's name leads to now; `None` when there is none.
    pub(super) fn read(&self, tape: &str, path: &Path) -> io::Result<Option<Arc<File>>> {
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if let Some(file) = self.with(tape, |known| known.is(&found).then(|| Arc::clone(&known.file))).flatten() {
            return Ok(Some(file));
        }
        let opened = match OpenOptions::new().read(true).append(true).open(path) {
            Ok(file) => Ok((file, true)),
            // Reading needs no more than reading.
            Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
            Err(_) => File::open(path).map(|file| (file, false)),
        };
        match opened {
            Ok((file, writable)) => self.keep(tape, file, writable).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same for appending; the file is made when it is not there.
    pub(super) fn append(&self, tape: &str, path: &Path) -> io::Result<Arc<File>> {
        let kept = match fs::metadata(path) {
            Ok(found) => {
                let usable = |known: &mut Known| known.is(&found) && known.writable;
                self.with(tape, |known| usable(known).then(|| Arc::clone(&known.file))).flatten()
            }
            Err(_) => None,
        };
        if let Some(file) = kept {
            return Ok(file);
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).mode(0o600);
        let file = options.create(true).open(path)?;
        self.keep(tape, file, true)
    }

    /// How the tape ends, if it has the length that an append left it with.
    pub(super) fn end(&self, tape: &str, file: &Arc<File>, length: u64) -> Option<End> {
        let known = |known: &mut Known| known.end.filter(|_| Arc::ptr_eq(&known.file, file));
        let (at, last_id) = self.with(tape, known).flatten()?;
        (at == length).then_some(End { length, last_id, tail: Tail::Nothing })
    }

    pub(super) fn remember(&self, tape: &str, length: u64, last_id: u64) {
        self.with(tape, |known| known.end = Some((length, last_id)));
    }

    pub(super) fn forget(&self, tape: &str) {
        self.lock().retain(|known| known.tape != tape);
    }

    fn keep(&self, tape: &str, file: File, writable: bool) -> io::Result<Arc<File>> {
        let found = file.metadata()?;
        let file = Arc::new(file);
        let known = Known {
            tape: tape.to_owned(),
            file: Arc::clone(&file),
            identity: (found.dev(), found.ino()),
            writable,
            end: None,
        };
        let mut tapes = self.lock();
        tapes.retain(|known| known.tape != tape);
        tapes.push_front(known);
        // The one that was not used for the longest time falls out.
        tapes.truncate(OPEN);
        Ok(file)
    }

    fn with<T>(&self, tape: &str, act: impl FnOnce(&mut Known) -> T) -> Option<T> {
        let mut tapes = self.lock();
        let place = tapes.iter().position(|known| known.tape == tape)?;
        let mut known = tapes.remove(place)?;
        let result = act(&mut known);
        tapes.push_front(known);
        Some(result)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn is(&self, found: &Metadata) -> bool {
        self.identity == (found.dev(), found.ino())
    }
}
