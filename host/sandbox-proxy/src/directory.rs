//! The directories of sockets.
//!
//! A program that was started just before its turn ended still binds the socket into its sandbox, so a directory stays for
//! a while after its proxy. Those of a process that was killed are removed with the directories of sessions.

use bub_system::files::TemporaryDirectory;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How its name begins.
const PREFIX: &str = "bub-net-";

/// How long a directory stays at least, unless there are too many.
const LINGER: Duration = Duration::from_secs(60);

/// Directories of ended proxies.
const MAX_ENDED: usize = 64;

/// The longest path of a temporary folder in which the sockets have paths that all systems take, in bytes.
const MAX_PATH: usize = 75;

/// The directories of ended proxies, oldest first.
static ENDED: Mutex<VecDeque<(Instant, TemporaryDirectory)>> = Mutex::new(VecDeque::new());

/// A directory of mode 0700.
pub(crate) struct Directory(Option<TemporaryDirectory>);

impl Directory {
    pub(crate) fn new() -> io::Result<Self> {
        let folder = std::env::temp_dir();
        let is_short = folder.as_os_str().len() < MAX_PATH;
        let folder = if is_short { folder.as_path() } else { Path::new("/tmp") };
        TemporaryDirectory::new(PREFIX, folder).map(|made| Self(Some(made)))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), TemporaryDirectory::path)
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
