//! The location of tapes.

use super::super::sessions::{self, SessionRecord, Sessions};
use anyhow::{Context, Result, bail};
use bub_audit::ChainedStore;
use bub_config::{Config, Plugin, TapeStorage};
use bub_permissions::Grant;
use bub_postgres::Database;
use bub_runtime::channel::Printer;
use bub_runtime::host::{Host, chained};
use bub_tape::{FileStore, Journals, Store, Tape, Tapes, check_tape_name, is_listed, tape_name};
use bub_types::hook::Hook;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The default session of `run`.
pub(super) const SESSION: &str = "cli:local";

/// The end of the name of a chain's file.
const CHAIN_FILE: &str = "__sidecar__chain.jsonl";

/// Names that are requested at once.
const NAMES: usize = 1000;

/// Where tapes are kept.
pub(in crate::cli) struct TapeLocation {
    /// `None`: no tape was ever stored.
    tapes: Option<Tapes>,
    /// The directory, if tapes are files.
    pub(super) dir: Option<PathBuf>,
    /// Canonical.
    workspace: PathBuf,
    /// The records of the terminal's sessions.
    sessions: Sessions,
    /// Whether it was given as a path.
    pub(super) is_elsewhere: bool,
    /// The host, if plugins were needed to open the tapes.
    host: Option<Arc<Host>>,
}

impl TapeLocation {
    /// Opens the configured location. Nothing is created, and plugins are loaded only if one of them is the tape store.
    ///
    /// # Errors
    ///
    /// The workspace does not exist, or the tape store cannot be opened.
    pub(in crate::cli) async fn open(config: Config, workspace: &Path) -> Result<Self> {
        let canonical =
            workspace.canonicalize().with_context(|| format!("there is no workspace `{}`", workspace.display()))?;
        if is_plain(&config) {
            let sessions = Sessions::new(&config);
            let dir = config.tapes_dir();
            let tapes = if dir.exists() {
                let durability = config.tapes.journal.durability;
                let store = FileStore::indexed(&dir, durability, config.index_dir())?;
                Some(tapes(chained(&config, Arc::new(store)), &dir, &config))
            } else {
                None
            };
            return Ok(Self { tapes, dir: Some(dir), workspace: canonical, sessions, is_elsewhere: false, host: None });
        }
        Ok(Self::from_host(&Host::start(config, workspace, Box::new(Printer)).await?))
    }

    /// The tapes in a directory, which may be outside of a home.
    ///
    /// # Errors
    ///
    /// It is not a directory.
    pub(super) fn in_directory(dir: &Path, config: &Config, workspace: &Path) -> Result<Self> {
        let store = FileStore::durable(dir, config.tapes.journal.durability)?;
        Ok(Self {
            tapes: Some(tapes(beside(config, store, dir), dir, config)),
            dir: Some(dir.to_owned()),
            workspace: workspace.canonicalize().unwrap_or_default(),
            sessions: Sessions::new(config),
            is_elsewhere: true,
            host: None,
        })
    }

    /// The location of a host's tapes.
    pub(in crate::cli) fn from_host(host: &Arc<Host>) -> Self {
        let config = &host.config;
        Self {
            tapes: Some(host.tapes()),
            dir: is_plain(config).then(|| config.tapes_dir()),
            workspace: host.workspace.clone(),
            sessions: Sessions::new(config),
            is_elsewhere: false,
            host: Some(Arc::clone(host)),
        }
    }

    /// The database that the tapes and the inbox are in, if workers share one.
    pub(in crate::cli) fn database(&self) -> Option<&Database> {
        self.host.as_ref()?.database()
    }

    pub(in crate::cli) fn tapes(&self) -> Option<&Tapes> {
        self.tapes.as_ref()
    }

    /// The name of the tape of a session.
    pub(in crate::cli) fn tape_name(&self, session: &str) -> String {
        tape_name(&self.workspace, session)
    }

    /// Whether a tape belongs to a session of this workspace.
    pub(in crate::cli) fn is_of_workspace(&self, tape: &str) -> bool {
        let half = |name: &str| name.split_once("__").map(|(half, _)| half.to_owned());
        half(tape) == half(&self.tape_name(SESSION))
    }

    /// The session of a tape, if it is known: its name is a digest, so the tape is read.
    ///
    /// # Errors
    ///
    /// The tape cannot be read.
    pub(in crate::cli) async fn session(&self, tape: &str) -> Result<Option<String>> {
        if self.tape_name("") == tape {
            return Ok(Some(String::new()));
        }
        Ok(sessions::mark(self, tape).await?.map(|mark| mark.id))
    }

    /// The record of the session of that tape at the terminal.
    pub(in crate::cli) fn record(&self, tape: &str) -> Option<SessionRecord> {
        self.sessions.of_tape(tape)
    }

    /// The workspace, canonical.
    pub(in crate::cli) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The last use of the session of a tape; `None`: it is empty.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(in crate::cli) async fn used(&self, tape: &str) -> Result<Option<Timestamp>> {
        let written = match (self.file(tape), &self.tapes) {
            (Some(file), _) => {
                let about = file.metadata().ok().filter(|about| about.len() > 0);
                let written = about.and_then(|about| about.modified().ok());
                written.and_then(|written| Timestamp::try_from(written).ok())
            }
            (None, Some(tapes)) => {
                let last = tapes.store().tail(tape, None, 1).await?.pop();
                last.map(|last| last.date.parse().unwrap_or(Timestamp::UNIX_EPOCH))
            }
            (None, None) => None,
        };
        let used = self.sessions.used(tape).and_then(|used| Timestamp::try_from(used).ok());
        Ok(written.map(|written| used.map_or(written, |used| used.max(written))))
    }

    /// The directory of the tapes, if they are files.
    pub(in crate::cli) fn directory(&self) -> Option<PathBuf> {
        self.dir.clone()
    }

    /// The file of a tape, if tapes are files.
    pub(super) fn file(&self, tape: &str) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join(format!("{tape}.jsonl")))
    }

    /// The tape as an argument of commands.
    pub(super) fn display_name(&self, tape: &str) -> String {
        match self.file(tape).filter(|_| self.is_elsewhere) {
            Some(file) => file.display().to_string(),
            None => tape.to_owned(),
        }
    }

    /// The tape of that name, if it exists.
    pub(in crate::cli) async fn holds(&self, name: &str) -> Result<Option<Tape>> {
        let Some(tapes) = &self.tapes else { return Ok(None) };
        let tape = tapes.open(name)?;
        let is_there = self.file(name).is_some_and(|file| file.is_file()) || tape.last_id().await? > 0;
        Ok(is_there.then_some(tape))
    }

    /// The names of all tapes.
    pub(in crate::cli) async fn names(&self) -> Result<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        let Some(tapes) = &self.tapes else { return Ok(names) };
        loop {
            let more = tapes.store().list(names.last().map(String::as_str), NAMES).await?;
            if more.is_empty() {
                return Ok(names);
            }
            names.extend(more);
        }
    }
}

/// Checks that a store lists a tape of this name.
///
/// # Errors
///
/// The name is invalid, or a tape of this name would not be listed.
pub(super) fn require_listed(name: &str) -> Result<()> {
    check_tape_name(name)?;
    if !is_listed(name) {
        bail!("`{name}` is not the name of a session's tape, which has two parts with `__` between them");
    }
    Ok(())
}

/// Whether tapes are files, which need no plugins.
fn is_plain(config: &Config) -> bool {
    config.tapes.storage == TapeStorage::Files && !config.plugins.values().any(keeps_tapes)
}

/// Whether the plugin may be the tape store.
fn keeps_tapes(plugin: &Plugin) -> bool {
    plugin.enabled && plugin.grants.as_ref().is_some_and(|grants| grants.allow(&Grant::hook(Hook::Store)))
}

fn tapes(store: Arc<dyn Store>, dir: &Path, config: &Config) -> Tapes {
    let journals = Journals::new(dir, config.tapes.journal);
    Tapes::new(store, Arc::new(journals))
}

/// The store of a directory that may be another home's: chains that are there go on, and none begin. Their heads are the
/// other home's to sign.
fn beside(config: &Config, store: FileStore, dir: &Path) -> Arc<dyn Store> {
    let is_own = || Some(dir.canonicalize().ok()? == config.tapes_dir().canonicalize().ok()?);
    if is_own().unwrap_or(false) {
        return chained(config, Arc::new(store));
    }
    let mut files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let has_chains = files.any(|file| file.file_name().to_string_lossy().ends_with(CHAIN_FILE));
    if has_chains { Arc::new(ChainedStore::new(Arc::new(store), None)) } else { Arc::new(store) }
}

/// The store of a tape that exists.
///
/// # Errors
///
/// No tape was ever stored.
pub(super) fn store(location: &TapeLocation) -> Result<&Arc<dyn Store>> {
    Ok(location.tapes().context("there are no tapes yet")?.store())
}

/// Indexes a tape for the next command. A failure only costs time.
pub(super) async fn keep_index(store: &dyn Store, tape: &str) {
    if let Err(error) = store.index(tape).await {
        tracing::debug!("tape `{tape}` is not indexed: {error}");
    }
}
