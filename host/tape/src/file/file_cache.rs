//! A cache of open tape files.

use parking_lot::{Mutex, MutexGuard};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::num::NonZeroUsize;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;

use super::end::{End, Tail};

/// Maximum open tapes, and maximum open lock files.
const MAX_OPEN: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// The least recently used tapes are closed. Cached data is a hint, valid only while the path leads to the same file
/// with the same length.
pub(super) struct FileCache {
    tapes: Mutex<LruCache<String, CachedFile>>,
    /// Lock files, by path.
    locks: Mutex<LruCache<PathBuf, (Arc<File>, FileIdentity)>>,
}

/// Device and inode of a file.
type FileIdentity = (u64, u64);

/// The state of a tape's file: the checksum of its slots, and its length. Equal states mean that nothing was written
/// between them.
pub(super) type FileState = (Option<u32>, u64);

struct CachedFile {
    file: Arc<File>,
    identity: FileIdentity,
    writable: bool,
    /// A length, and the last id before it.
    end: Option<(u64, u64)>,
    /// The visible length, and the state at which it was determined.
    seen: Option<(FileState, u64)>,
}

impl Default for FileCache {
    fn default() -> Self {
        Self { tapes: Mutex::new(LruCache::new(MAX_OPEN)), locks: Mutex::new(LruCache::new(MAX_OPEN)) }
    }
}

impl FileCache {
    /// The file at that path now, and its length; `None` if there is none.
    pub(super) fn read(&self, tape: &str, path: &Path) -> io::Result<Option<(Arc<File>, u64)>> {
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if let Some(file) = self.with(tape, |known| known.is(&found).then(|| Arc::clone(&known.file))).flatten() {
            return Ok(Some((file, found.len())));
        }
        let opened = match OpenOptions::new().read(true).append(true).open(path) {
            Ok(file) => Ok((file, true)),
            // Open read-only where that suffices.
            Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
            Err(_) => File::open(path).map(|file| (file, false)),
        };
        match opened {
            Ok((file, writable)) => {
                let length = file.metadata()?.len();
                Ok(Some((self.keep(tape, file, writable)?, length)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Like `read`, for appending; the file is created if it is missing.
    pub(super) fn append(&self, tape: &str, path: &Path) -> io::Result<Arc<File>> {
        let kept = match fs::metadata(path) {
            Ok(found) => {
                let usable = |known: &mut CachedFile| known.is(&found) && known.writable;
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

    /// The end of the tape, if the file still has the cached length.
    pub(super) fn end(&self, tape: &str, file: &Arc<File>, length: u64) -> Option<End> {
        let (at, last_id) = self.of(tape, file, |known| known.end)?;
        (at == length).then_some(End { length, last_id, has_entry: last_id > 0, tail: Tail::Nothing })
    }

    /// Records the last id before that length, where a line ends.
    pub(super) fn remember(&self, tape: &str, file: &Arc<File>, length: u64, last_id: u64) {
        self.of(tape, file, |known| known.end.replace((length, last_id)));
    }

    /// Drops the cached end.
    pub(super) fn forget_end(&self, tape: &str) {
        self.with(tape, |known| known.end = None);
    }

    /// The cached visible length, if the state is the same.
    pub(super) fn seen(&self, tape: &str, file: &Arc<File>, found: FileState) -> Option<u64> {
        let (before, end) = self.of(tape, file, |known| known.seen)?;
        (before == found).then_some(end)
    }

    pub(super) fn saw(&self, tape: &str, file: &Arc<File>, found: FileState, end: u64) {
        self.of(tape, file, |known| known.seen.replace((found, end)));
    }

    pub(super) fn forget(&self, tape: &str) {
        lock(&self.tapes).pop(tape);
    }

    /// The lock file, for reading; `None` if there is none.
    pub(super) fn lock_file(&self, path: &Path) -> Option<Arc<File>> {
        let found = identity(&fs::metadata(path).ok()?);
        if let Some((file, _)) = lock(&self.locks).get(path).filter(|(_, identity)| *identity == found) {
            return Some(Arc::clone(file));
        }
        let file = File::open(path).ok()?;
        let identity = identity(&file.metadata().ok()?);
        let file = Arc::new(file);
        lock(&self.locks).put(path.to_owned(), (Arc::clone(&file), identity));
        Some(file)
    }

    fn keep(&self, tape: &str, file: File, writable: bool) -> io::Result<Arc<File>> {
        let identity = identity(&file.metadata()?);
        let file = Arc::new(file);
        let known = CachedFile { file: Arc::clone(&file), identity, writable, end: None, seen: None };
        lock(&self.tapes).put(tape.to_owned(), known);
        Ok(file)
    }

    fn with<T>(&self, tape: &str, act: impl FnOnce(&mut CachedFile) -> T) -> Option<T> {
        lock(&self.tapes).get_mut(tape).map(act)
    }

    /// Runs `act` on the cached data of that file, if it is the cached one.
    fn of<T>(&self, tape: &str, file: &Arc<File>, act: impl FnOnce(&mut CachedFile) -> Option<T>) -> Option<T> {
        self.with(tape, |known| Arc::ptr_eq(&known.file, file).then(|| act(known)).flatten()).flatten()
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock()
}

fn identity(found: &Metadata) -> FileIdentity {
    (found.dev(), found.ino())
}

impl CachedFile {
    fn is(&self, found: &Metadata) -> bool {
        self.identity == identity(found)
    }
}
