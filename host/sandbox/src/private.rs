//! The directories of a session that its programs have as `/tmp` and as their home.

use bub_system::files::{TemporaryDirectory, remove_abandoned};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::{self, JoinHandle};

/// Sessions whose directories are kept; those of the one that was used longest ago are removed then.
const MAX_SESSIONS: usize = 64;

/// How the names of these directories begin, and those of the sockets of proxies.
const PREFIX: &str = "bub-session-";
const SOCKETS: &str = "bub-net-";

/// A directory that is seen in the place of one that is hidden.
pub(crate) const EMPTY: &str = "empty";

/// The private directories of a process, by session. They are removed with it. If it is killed, a later process removes
/// them.
#[derive(Debug, Default)]
pub struct Private(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    sessions: VecDeque<(String, TemporaryDirectory)>,
    /// Removes what killed processes have left; begun with the first directory.
    sweeper: Option<JoinHandle<()>>,
}

impl Private {
    /// The directory of that session, with `tmp`, `home` and `empty` in it.
    ///
    /// # Errors
    ///
    /// The system's, if it cannot be made.
    pub fn of_session(&self, session: &str) -> io::Result<PathBuf> {
        let mut inner = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let sessions = &mut inner.sessions;
        let found = sessions.iter().position(|(known, _)| known == session).and_then(|place| sessions.remove(place));
        // A cleaner of temporary files may have removed it.
        let folder = match found.filter(|(_, folder)| folder.path().exists()) {
            Some((_, folder)) => folder,
            None => TemporaryDirectory::new(PREFIX, &std::env::temp_dir().canonicalize()?)?,
        };
        folder.make("tmp")?;
        folder.make("home")?;
        folder.make(EMPTY)?;
        let path = folder.path().to_owned();
        sessions.push_back((session.to_owned(), folder));
        while sessions.len() > MAX_SESSIONS {
            sessions.pop_front();
        }
        if inner.sweeper.is_none() {
            // Beside the program: there may be much to remove.
            let sweep = || remove_abandoned(&std::env::temp_dir(), &[PREFIX, SOCKETS]);
            inner.sweeper = thread::Builder::new().name("sweeper".to_owned()).spawn(sweep).ok();
        }
        Ok(path)
    }

    /// Removes all of them: the process may end without dropping them.
    pub fn clear(&self) {
        let mut inner = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        inner.sessions.clear();
        if let Some(sweeper) = inner.sweeper.take() {
            // What it could not remove stays.
            let _ = sweeper.join();
        }
    }
}
