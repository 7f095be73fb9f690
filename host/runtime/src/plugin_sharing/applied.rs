//! Which versions of shared plugins a home has taken over: `plugins/.shared.json`, and a lock beside it.

use anyhow::{Context, Result};
use bub_postgres::PluginVersion;
use bub_system::files::{Draft, make_private_dir, read_regular};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep};

const FILE: &str = ".shared.json";

const LOCK: &str = ".shared.lock";

/// The largest file, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// How long a version that was refused is left alone.
const RETRY_DELAY: Duration = Duration::from_secs(30);

/// How often the lock is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The versions of a home.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Applied {
    /// By [`key`].
    versions: BTreeMap<String, AppliedVersion>,
    /// Stamps of versions that were refused, and when, in seconds since 1970.
    refused: BTreeMap<String, u64>,
}

/// A version that is active here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AppliedVersion {
    pub(super) stamp: String,
    pub(super) version: i64,
    /// Whether it was written by this home.
    pub(super) is_own: bool,
}

impl Applied {
    /// A file that is missing or damaged is an empty one: all versions are compared again then.
    pub(super) fn read(dir: &Path) -> Self {
        let bytes = read_regular(&dir.join(FILE), MAX_BYTES).map(|(bytes, _)| bytes).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let path = dir.join(FILE);
        let written = make_private_dir(dir).and_then(|()| {
            let mut draft = Draft::new(&path, 0o600)?;
            draft.write_all(&serde_json::to_vec_pretty(self)?)?;
            draft.publish_durably()
        });
        written.with_context(|| format!("`{}` cannot be written", path.display()))
    }

    pub(super) fn get(&self, key: &str) -> Option<&AppliedVersion> {
        self.versions.get(key)
    }

    pub(super) fn set(&mut self, key: String, version: AppliedVersion) {
        self.refused.remove(&version.stamp);
        self.versions.insert(key, version);
    }

    /// Whether there is nothing to do about that version now.
    pub(super) fn is_done(&self, version: &PluginVersion) -> bool {
        let is_refused =
            self.refused.get(&version.stamp).is_some_and(|at| now().saturating_sub(*at) < RETRY_DELAY.as_secs());
        is_refused || self.get(&key(version)).is_some_and(|applied| applied.stamp == version.stamp)
    }

    /// Notes that a version was refused. Returns whether it is refused for the first time.
    pub(super) fn refuse(&mut self, stamp: &str) -> bool {
        self.refused.insert(stamp.to_owned(), now()).is_none()
    }

    /// Takes over what another copy has refused, and forgets versions that are gone.
    pub(super) fn refused_too(&mut self, earlier: Self, versions: &[PluginVersion]) {
        for (stamp, at) in earlier.refused {
            self.refused.entry(stamp).or_insert(at);
        }
        self.refused.retain(|stamp, _| versions.iter().any(|version| version.stamp == *stamp));
    }
}

/// A row's key.
pub(super) fn key(version: &PluginVersion) -> String {
    format!("{}:{}", version.kind.name(), version.name)
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Held while plugins of a home and their settings are changed.
#[derive(Debug)]
pub(super) struct HomeLock {
    _file: File,
}

impl HomeLock {
    /// Waits that long for the lock; `None`: another process keeps it.
    ///
    /// # Errors
    ///
    /// The lock's file cannot be made.
    pub(super) async fn take(dir: &Path, wait: Duration) -> Result<Option<Self>> {
        let path = dir.join(LOCK);
        let opened = make_private_dir(dir)
            .and_then(|()| OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path));
        let file = opened.with_context(|| format!("`{}` cannot be written", path.display()))?;
        let start = Instant::now();
        while file.try_lock().is_err() {
            if start.elapsed() >= wait {
                return Ok(None);
            }
            sleep(LOCK_INTERVAL).await;
        }
        Ok(Some(Self { _file: file }))
    }
}
