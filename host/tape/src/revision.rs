//! Revisions of tapes: whether anything was written since a tape was read.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Identifies a state of a tape in its store: as long as the revision is the same, the tape has the same entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Revision(u64);

/// How long after a write the times of a file may still stay the same at the next one: a file system sets them by a
/// clock of at most some tens of milliseconds, or of seconds.
const TICK: Duration = Duration::from_millis(100);
const COARSE_TICK: Duration = Duration::from_secs(3);

impl Revision {
    /// The revision of a state; the hash stands for it.
    pub fn of(state: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// The revision of files, `None` for each that is missing. `None` if one was written only now: a later write need not
    /// change its times.
    pub(super) fn of_files(files: &[Option<Metadata>]) -> Option<Self> {
        let now = SystemTime::now();
        let is_settled = |file: &Metadata| {
            let tick = if file.ctime_nsec() == 0 { COARSE_TICK } else { TICK };
            let nanos = u32::try_from(file.ctime_nsec()).unwrap_or_default();
            let changed = u64::try_from(file.ctime()).ok().map(|seconds| UNIX_EPOCH + Duration::new(seconds, nanos));
            changed.and_then(|changed| now.duration_since(changed).ok()).is_some_and(|age| age >= tick)
        };
        if !files.iter().flatten().all(is_settled) {
            return None;
        }
        let state = |file: &Metadata| (file.dev(), file.ino(), file.size(), file.ctime(), file.ctime_nsec());
        let states: Vec<_> = files.iter().map(|file| file.as_ref().map(state)).collect();
        Some(Self::of(states))
    }
}
