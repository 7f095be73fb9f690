//! The directories of a session that its programs have as `/tmp` and as their home.

use std::collections::VecDeque;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// Sessions whose directories are kept; those of the one that was used longest ago are removed then.
const MAX_SESSIONS: usize = 64;

/// The private directories of a process, by session. They are removed with it.
#[derive(Debug, Default)]
pub struct Private {
    sessions: Mutex<VecDeque<(String, TempDir)>>,
}

impl Private {
    /// The directory of that session, with `tmp` and `home` in it.
    ///
    /// # Errors
    ///
    /// The system's, if it cannot be made.
    pub fn of_session(&self, session: &str) -> io::Result<PathBuf> {
        let mut sessions = self.sessions.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(place) = sessions.iter().position(|(known, _)| known == session)
            && let Some(found) = sessions.remove(place)
        {
            let path = found.1.path().to_owned();
            // A cleaner of temporary files may have removed it.
            make(&path)?;
            sessions.push_back(found);
            return Ok(path);
        }
        let folder = tempfile::Builder::new().prefix("bub-session-").permissions(owners()).tempdir()?;
        let path = folder.path().canonicalize()?;
        make(&path)?;
        sessions.push_back((session.to_owned(), folder));
        while sessions.len() > MAX_SESSIONS {
            sessions.pop_front();
        }
        Ok(path)
    }

    /// Removes all of them: the process may end without dropping them.
    pub fn clear(&self) {
        self.sessions.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    }
}

/// The rights of what is its owner's alone.
fn owners() -> Permissions {
    Permissions::from_mode(0o700)
}

fn make(path: &Path) -> io::Result<()> {
    for name in ["tmp", "home"] {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path.join(name))?;
    }
    Ok(())
}
