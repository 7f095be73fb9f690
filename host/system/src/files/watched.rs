//! Whether a file has changed since it was read last.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A file that is read again when its time or its size is another one.
#[derive(Debug)]
pub struct WatchedFile {
    path: PathBuf,
    interval: Duration,
    looked: Instant,
    stamp: Option<(SystemTime, u64)>,
}

impl WatchedFile {
    /// The file as it is now, which is looked at again after the interval.
    pub fn new(path: PathBuf, interval: Duration) -> Self {
        let stamp = stamp(&path);
        Self { path, interval, looked: Instant::now(), stamp }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the last look is long enough ago.
    pub fn is_due(&self) -> bool {
        self.looked.elapsed() >= self.interval
    }

    /// Looks at it: whether it is another one than at the last look.
    pub fn has_changed(&mut self) -> bool {
        self.looked = Instant::now();
        let stamp = stamp(&self.path);
        std::mem::replace(&mut self.stamp, stamp) != stamp
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}
