//! The sessions of the terminal in a workspace, and the latest one, for `run -c` and `chat --resume`.
//!
//! `$BUB_HOME/sessions` has a file for each, named like the session's tape. It names the session and the workspace, which
//! the name of the tape does not reveal, and its modification time is that of the last use. Files are replaced atomically,
//! so that processes need no lock.

use anyhow::{Context, Result};
use bub_config::Config;
use bub_system::files::{Draft, read_regular};
use bub_tape::tape_name;
use bub_types::is_ephemeral;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The directory below `$BUB_HOME`.
const DIR: &str = "sessions";

/// The longest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// A session of the terminal's user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct SessionRecord {
    /// Its id.
    pub(in crate::cli) session: String,
    /// Its workspace.
    pub(in crate::cli) workspace: PathBuf,
    /// Its last use.
    #[serde(skip, default = "never")]
    pub(super) used: SystemTime,
}

fn never() -> SystemTime {
    SystemTime::UNIX_EPOCH
}

/// The sessions of one home.
pub(in crate::cli) struct Sessions {
    dir: PathBuf,
}

impl Sessions {
    pub(in crate::cli) fn new(config: &Config) -> Self {
        Self { dir: config.home.join(DIR) }
    }

    /// The latest session of that workspace, whose path must be canonical.
    ///
    /// # Errors
    ///
    /// The directory exists and cannot be read.
    pub(in crate::cli) fn latest(&self, workspace: &Path) -> Result<Option<String>> {
        let here = self.all()?.into_iter().filter(|record| record.workspace == workspace);
        Ok(here.max_by_key(|record| record.used).map(|record| record.session))
    }

    /// The record of the session of that tape.
    pub(in crate::cli) fn of_tape(&self, tape: &str) -> Option<SessionRecord> {
        read(&self.dir.join(format!("{tape}.json")))
    }

    /// The last use of the session of that tape at the terminal.
    pub(in crate::cli) fn used(&self, tape: &str) -> Option<SystemTime> {
        fs::metadata(self.dir.join(format!("{tape}.json"))).ok()?.modified().ok()
    }

    /// All records, unordered. Invalid files are skipped.
    ///
    /// # Errors
    ///
    /// The directory is there and cannot be read.
    pub(super) fn all(&self) -> Result<Vec<SessionRecord>> {
        let files = match fs::read_dir(&self.dir) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).with_context(|| format!("`{}` cannot be read", self.dir.display())),
        };
        Ok(files.flatten().filter_map(|file| read(&file.path())).collect())
    }

    /// Records a use of the session. A failure only affects continuing it later.
    pub(in crate::cli) fn note(&self, session: &str, workspace: &Path) {
        if session.is_empty() || is_ephemeral(session) {
            return;
        }
        if let Err(error) = self.write(session, workspace) {
            tracing::warn!("`run -c` and `chat --resume` will not find this session: {error}");
        }
    }

    fn write(&self, session: &str, workspace: &Path) -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let record = SessionRecord { session: session.to_owned(), workspace: workspace.to_owned(), used: never() };
        let file = self.dir.join(format!("{}.json", tape_name(workspace, session)));
        let text = serde_json::to_vec(&record)?;
        // A new file at each turn is the slowest thing that a turn does on some file systems.
        if touch(&file, &text).is_ok_and(|is_there| is_there) {
            return Ok(());
        }
        let mut draft = Draft::new(&file, 0o600)?;
        draft.write_all(&text)?;
        draft.publish()
    }
}

/// Makes now the last use of a file with that content. `false`: it has another.
fn touch(file: &Path, text: &[u8]) -> std::io::Result<bool> {
    let (written, opened) = read_regular(file, text.len() + 1)?;
    if written != text {
        return Ok(false);
    }
    opened.set_modified(SystemTime::now())?;
    Ok(true)
}

fn read(file: &Path) -> Option<SessionRecord> {
    if file.extension()? != "json" {
        return None;
    }
    let about = fs::metadata(file).ok().filter(|about| about.is_file() && about.len() <= MAX_FILE)?;
    let record: SessionRecord = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    // The name of a file must match its content, because it is the name of the tape.
    let is_named = *file.file_stem()? == *tape_name(&record.workspace, &record.session);
    is_named.then(|| Some(SessionRecord { used: about.modified().ok()?, ..record }))?
}
