//! Model calls that could not be written to the database: files in `usage/unsettled` of the home, one for each call, which
//! are sent when the database answers again.

use bub_model::usage::Call;
use bub_system::files::{Draft, make_private_dir, read_regular};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The largest file, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// A call, and the id under which it is written once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Unsettled {
    pub(super) id: [u8; 16],
    /// When it ended, in milliseconds since 1970 by this machine's clock.
    ended: u64,
    pub(super) call: Call,
}

/// The directory.
pub(super) struct UnsettledFiles {
    dir: PathBuf,
}

impl Unsettled {
    /// A call that ends now.
    pub(super) fn now(id: [u8; 16], call: &Call) -> Self {
        Self { id, ended: now(), call: call.clone() }
    }

    /// How long ago it ended.
    pub(super) fn age(&self) -> Duration {
        Duration::from_millis(now().saturating_sub(self.ended))
    }

    fn file_name(&self) -> String {
        let hex: String = self.id.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}.json")
    }
}

impl UnsettledFiles {
    pub(super) fn new(home: &Path) -> Self {
        Self { dir: home.join("usage/unsettled") }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn keep(&self, call: &Unsettled) -> io::Result<()> {
        make_private_dir(&self.dir)?;
        let mut draft = Draft::new(&self.dir.join(call.file_name()), 0o600)?;
        draft.write_all(&serde_json::to_vec(call)?)?;
        draft.publish_durably()
    }

    /// The files. One that is no call is left where it is, and skipped.
    pub(super) fn list(&self) -> Vec<(PathBuf, Unsettled)> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|file| file.path());
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let read = |path: PathBuf| {
            let (bytes, _) = read_regular(&path, MAX_BYTES).ok()?;
            Some((path, serde_json::from_slice(&bytes).ok()?))
        };
        files.filter_map(read).collect()
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
