//! Arguments that select a tape.

use super::super::text;
use super::tape_location::{SESSION, TapeLocation, keep_index, require_listed};
use anyhow::{Result, bail};
use bub_config::Config;
use bub_runtime::host::Host;
use bub_tape::{Tape, check_tape_name};
use bub_types::suggest;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tape that a command works on.
#[derive(clap::Args, Default)]
pub(super) struct TapeArg {
    /// Name of a tape as `list` shows it, or path of a `.jsonl` file [default: the tape of the session]
    #[arg(value_name = "TAPE")]
    tape: Option<String>,
    /// Session of this workspace whose tape is used [default: cli:local]
    #[arg(long, value_name = "ID", conflicts_with = "tape")]
    session: Option<String>,
}

/// An existing tape.
pub(in crate::cli) struct ResolvedTape {
    pub(in crate::cli) tape: Tape,
    pub(super) location: TapeLocation,
    /// Its session, if it is known.
    pub(super) session: Option<String>,
}

impl TapeArg {
    /// The tape of that name, or at that path.
    pub(super) fn from_name(tape: &str) -> Self {
        Self { tape: Some(tape.to_owned()), session: None }
    }

    /// The tape of that session.
    pub(super) fn from_session(session: &str) -> Self {
        Self { tape: None, session: Some(session.to_owned()) }
    }

    /// Finds the tape.
    ///
    /// # Errors
    ///
    /// It does not exist, or the tape store fails.
    pub(super) async fn find(&self, config: Config, workspace: &Path) -> Result<ResolvedTape> {
        match &self.tape {
            Some(given) => match path(given, &config) {
                Some(path) => in_directory(given, &path, &config, workspace).await,
                None => by_name(given, TapeLocation::open(config, workspace).await?).await,
            },
            None => {
                let session = self.session();
                let location = TapeLocation::open(config, workspace).await?;
                let Some(found) = location.holds(&location.tape_name(session)).await? else {
                    let shown = text::line(session);
                    bail!(
                        "session `{shown}` of this workspace has no tape; `bub-wasm run --session '{shown}' MESSAGE` begins one"
                    );
                };
                Ok(ResolvedTape { tape: found, location, session: Some(session.to_owned()) })
            }
        }
    }

    /// Finds the tape with all plugins loaded; `None` if the session has no tape yet.
    ///
    /// # Errors
    ///
    /// The named tape does not exist.
    pub(super) async fn find_with(&self, host: &Arc<Host>) -> Result<Option<ResolvedTape>> {
        match &self.tape {
            Some(given) => match path(given, &host.config) {
                Some(path) => in_directory(given, &path, &host.config, &host.workspace).await.map(Some),
                None => by_name(given, TapeLocation::from_host(host)).await.map(Some),
            },
            None => Ok(None),
        }
    }

    /// The session; ignored if a tape was named.
    pub(super) fn session(&self) -> &str {
        self.session.as_deref().unwrap_or(SESSION)
    }
}

impl ResolvedTape {
    /// The file of the tape, if it is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.location.file(self.tape.name())
    }

    /// Indexes the tape after a command, for the next one. A directory outside of a home has no index.
    pub(super) async fn keep_index(&self) {
        if let Some(tapes) = self.location.tapes().filter(|_| !self.location.is_elsewhere) {
            keep_index(&**tapes.store(), self.tape.name()).await;
        }
    }

    /// For commands that write.
    ///
    /// # Errors
    ///
    /// It is a sidecar, or a file outside of a tape directory.
    pub(super) fn require_own(&self) -> Result<()> {
        let name = self.tape.name();
        if name.contains("__sidecar__") {
            bail!("`{name}` is a sidecar and changes with its tape only: name the tape");
        }
        require_listed(name)
    }
}

/// The argument as a path, if it is one: it contains a separator, or the file exists here and not among the tapes.
fn path(given: &str, config: &Config) -> Option<PathBuf> {
    let path = Path::new(given);
    let is_here = || {
        let among_tapes = config.tapes_dir().join(given);
        given.ends_with(".jsonl") && path.is_file() && !among_tapes.is_file()
    };
    (given.contains('/') || is_here()).then(|| path.to_owned())
}

/// A tape in another directory.
async fn in_directory(given: &str, path: &Path, config: &Config, workspace: &Path) -> Result<ResolvedTape> {
    let shown = text::line(given);
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
    let Some(name) = name else { bail!("`{shown}` is not a path to a `.jsonl`") };
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !dir.is_dir() {
        bail!("there is no tape `{shown}`: its directory does not exist");
    }
    let location = TapeLocation::in_directory(dir, config, workspace)?;
    if check_tape_name(name).is_err() {
        bail!("`{shown}` cannot be read under this name: copy it to one of letters, digits, `_`, `.` and `-`");
    }
    match location.holds(name).await? {
        Some(tape) => {
            let session = location.session(name).await?;
            Ok(ResolvedTape { tape, location, session })
        }
        None => Err(unknown(given, name, &location).await?),
    }
}

async fn by_name(given: &str, location: TapeLocation) -> Result<ResolvedTape> {
    let name = given.strip_suffix(".jsonl").unwrap_or(given);
    let found = if check_tape_name(name).is_ok() { location.holds(name).await? } else { None };
    match found {
        Some(tape) => {
            let session = location.session(name).await?;
            Ok(ResolvedTape { tape, location, session })
        }
        None => Err(unknown(given, name, &location).await?),
    }
}

async fn unknown(given: &str, name: &str, location: &TapeLocation) -> Result<anyhow::Error> {
    let names = location.names().await?;
    let hint = match suggest::nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`"),
        None if location.is_elsewhere => String::new(),
        None => "; `bub-wasm tape list` shows their names".to_owned(),
    };
    Ok(anyhow::anyhow!("there is no tape `{}`{hint}", text::line(given)))
}
