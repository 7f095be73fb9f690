//! Where the circuit breakers are stored: in a file, which one process at a time changes, or in a table of all workers.

use super::super::private::PrivateDir;
use super::breaker::{Breaker, Key};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::future::ready;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

const FILE: &str = "breakers.json";

const LOCK: &str = "lock";

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Breakers that are stored; the one with the oldest fault is removed first.
const MAX_BREAKERS: usize = 256;

/// How often the file is checked at most: a check costs as much as several hook calls.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// How long to wait for the file's lock.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) type Breakers = BTreeMap<Key, Breaker>;

/// A change of a store that is under way.
pub(super) type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// A change of breakers. It may be made several times, each time on what is stored then.
pub(super) type Change<'a> = &'a mut (dyn FnMut(&mut Breakers) + Send);

/// A store of breakers.
pub(super) trait BreakerStore: Send + Sync {
    /// The current breakers. Every call of a guest asks, so nothing is waited for.
    fn read(&self) -> Arc<Breakers>;

    /// The time of the store, in milliseconds since 1970.
    fn now(&self) -> u64;

    /// Changes the breaker with that key; others may be missing in what is changed. If it cannot be stored, the change
    /// applies to this process alone.
    fn change<'a>(&'a self, key: &'a Key, change: Change<'a>) -> Future<'a, ()>;

    /// Removes the breakers of the plugin with that name or digest, and returns their number.
    fn lift<'a>(&'a self, plugin: &'a str) -> Future<'a, Result<usize, String>>;
}

/// The time of this machine, in milliseconds since 1970.
pub(super) fn local_now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A file.
pub(super) struct FileStore(Mutex<BreakerFile>);

/// The file and its latest content.
struct BreakerFile {
    dir: PathBuf,
    breakers: Arc<Breakers>,
    seen: Option<(Instant, FileFingerprint)>,
    write_error: Option<String>,
}

type FileFingerprint = Option<(SystemTime, u64)>;

/// The file's version. Files of another version are ignored, and counting restarts.
const VERSION: u32 = 2;

/// The file.
#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    breakers: Vec<Line>,
}

/// A line of the file: a map would need keys that are texts.
#[derive(Serialize, Deserialize)]
struct Line {
    digest: String,
    hook: String,
    #[serde(flatten)]
    breaker: Breaker,
}

impl FileStore {
    pub(super) fn new(dir: &Path) -> Self {
        let breakers = Arc::new(Breakers::new());
        Self(Mutex::new(BreakerFile { dir: dir.to_owned(), breakers, seen: None, write_error: None }))
    }
}

impl BreakerStore for FileStore {
    fn read(&self) -> Arc<Breakers> {
        self.0.lock().read()
    }

    fn now(&self) -> u64 {
        local_now()
    }

    fn change<'a>(&'a self, _: &'a Key, change: Change<'a>) -> Future<'a, ()> {
        self.0.lock().change(change);
        Box::pin(ready(()))
    }

    fn lift<'a>(&'a self, plugin: &'a str) -> Future<'a, Result<usize, String>> {
        let mut file = self.0.lock();
        let lifted = file.change(|breakers| lift_in(breakers, plugin));
        Box::pin(ready(file.write_error.clone().map_or(Ok(lifted), Err)))
    }
}

/// Whether the breaker is of the plugin with that name or digest.
pub(super) fn is_of((digest, _): &Key, breaker: &Breaker, plugin: &str) -> bool {
    digest == plugin || breaker.plugin == plugin
}

fn lift_in(breakers: &mut Breakers, plugin: &str) -> usize {
    let before = breakers.len();
    breakers.retain(|key, breaker| !is_of(key, breaker, plugin));
    before - breakers.len()
}

impl BreakerFile {
    /// The current breakers.
    fn read(&mut self) -> Arc<Breakers> {
        if self.seen.as_ref().is_none_or(|(at, _)| at.elapsed() >= CHECK_INTERVAL) {
            let stamp = self.stamp();
            if self.seen.as_ref().is_none_or(|(_, seen)| *seen != stamp) {
                match stamp.and_then(|_| PrivateDir::open(&self.dir).ok()) {
                    Some(dir) => self.breakers = Arc::new(read(&dir)),
                    // The file was removed, unless it never existed because it cannot be written.
                    None if self.write_error.is_none() => self.breakers = Arc::default(),
                    None => {}
                }
            }
            self.seen = Some((Instant::now(), stamp));
        }
        self.breakers.clone()
    }

    /// Changes the breakers in memory and in the file. If the file cannot be written, the change applies to this
    /// process alone.
    fn change<T>(&mut self, change: impl FnOnce(&mut Breakers) -> T) -> T {
        let opened = PrivateDir::open(&self.dir);
        let locked = opened.as_ref().ok().map(lock);
        if let Ok(dir) = &opened {
            self.breakers = Arc::new(read(dir));
        }
        let breakers = Arc::make_mut(&mut self.breakers);
        let answer = change(breakers);
        while breakers.len() > MAX_BREAKERS {
            let oldest = breakers.iter().min_by_key(|(_, breaker)| breaker.at).map(|(key, _)| key.clone());
            oldest.and_then(|key| breakers.remove(&key));
        }
        let written = opened.and_then(|dir| write(&dir, breakers));
        drop(locked);
        let write_error = written.err().map(|reason| format!("`{}` {reason}", self.dir.display()));
        if let Some(write_error) =
            write_error.as_ref().filter(|write_error| self.write_error.as_ref() != Some(write_error))
        {
            tracing::warn!("who is in quarantine is not written down: {write_error}");
        }
        self.write_error = write_error;
        self.seen = Some((Instant::now(), self.stamp()));
        answer
    }

    fn stamp(&self) -> FileFingerprint {
        let meta = std::fs::symlink_metadata(self.dir.join(FILE)).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    }
}

/// Empty, when there is no file, or one that was not written here: what it said is lost, and faults are counted anew.
fn read(dir: &PrivateDir) -> Breakers {
    let Some(bytes) = dir.read(FILE, MAX_BYTES) else { return Breakers::new() };
    let wrong = |why: &str| {
        let file = dir.path().join(FILE);
        tracing::warn!("`{}` is not understood, and who was in quarantine is not: {why}", file.display());
        Vec::new()
    };
    let lines = match serde_json::from_slice::<Written>(&bytes) {
        Ok(Written { version: VERSION, breakers }) => breakers,
        Ok(Written { version, .. }) => wrong(&format!("it is of version {version}, not {VERSION}")),
        Err(error) => wrong(&error.to_string()),
    };
    lines.into_iter().map(|line| ((line.digest, line.hook), line.breaker)).collect()
}

fn write(dir: &PrivateDir, breakers: &Breakers) -> Result<(), String> {
    let line = |((digest, hook), breaker): (&Key, &Breaker)| Line {
        digest: digest.clone(),
        hook: hook.clone(),
        breaker: breaker.clone(),
    };
    let written = Written { version: VERSION, breakers: breakers.iter().map(line).collect() };
    let text = serde_json::to_vec_pretty(&written).map_err(|error| error.to_string())?;
    dir.write(FILE, &[&text])
        .map_err(|error| format!("cannot be written: {}", bub_types::text::plain(&error.to_string())))
}

/// Locked while the file is read and written. One that cannot be had is gone without: a fault that is not counted is less than
/// a turn that waits.
fn lock(dir: &PrivateDir) -> Option<File> {
    let path = dir.path().join(LOCK);
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).ok()?;
    let start = Instant::now();
    while file.try_lock().is_err() {
        if start.elapsed() > LOCK_TIMEOUT {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Some(file)
}
