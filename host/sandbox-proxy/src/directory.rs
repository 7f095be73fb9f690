//! The directories of sockets.
//!
//! A program that was started just before its turn ended still binds the socket into its sandbox, so a directory stays for
//! a while after its proxy.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a directory stays at least, unless there are too many.
const LINGER: Duration = Duration::from_secs(60);

/// Directories of ended proxies.
const MAX_ENDED: usize = 64;

/// The longest path of a directory whose sockets all systems take, in bytes.
const MAX_PATH: usize = 90;

/// The directories of ended proxies, oldest first.
static ENDED: Mutex<VecDeque<(Instant, TempDir)>> = Mutex::new(VecDeque::new());

/// A directory of mode 0700.
pub(crate) struct Directory(Option<TempDir>);

impl Directory {
    pub(crate) fn new() -> io::Result<Self> {
        let builder = || {
            let mut builder = tempfile::Builder::new();
            builder.prefix("bub-net-").permissions(Permissions::from_mode(0o700));
            builder
        };
        let directory = builder().tempdir()?;
        let is_short = directory.path().as_os_str().len() < MAX_PATH;
        Ok(Self(Some(if is_short { directory } else { builder().tempdir_in("/tmp")? })))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), TempDir::path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let Some(directory) = self.0.take() else { return };
        let mut ended = ENDED.lock();
        ended.push_back((Instant::now(), directory));
        while ended.len() > MAX_ENDED || ended.front().is_some_and(|(since, _)| since.elapsed() > LINGER) {
            ended.pop_front();
        }
    }
}

/// Removes the directories of all proxies that have ended: the process may end without dropping them.
pub fn remove_ended() {
    ENDED.lock().clear();
}
