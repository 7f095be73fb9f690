//! Which tape is meant.

use super::super::text;
use super::place::{Place, SESSION, keep_index, require_listed};
use anyhow::{Result, bail};
use bub_config::Config;
use bub_runtime::host::Host;
use bub_tape::{Tape, check_tape_name};
use bub_types::suggest;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a command is told which tape is meant.
#[derive(clap::Args, Default)]
pub(super) struct Named {
    /// Name of a tape as `list` shows it, or path of a `.jsonl` file [default: the tape of the session]
    #[arg(value_name = "TAPE")]
    tape: Option<String>,
    /// Session of this workspace whose tape is used [default: cli:local]
    #[arg(long, value_name = "ID", conflicts_with = "tape")]
    session: Option<String>,
}

/// A tape that is there.
pub(super) struct Found {
    pub(super) tape: Tape,
    pub(super) place: Place,
    /// The session that it is of, where that is known.
    pub(super) session: Option<String>,
}

impl Named {
    /// The tape of that name, or at that path.
    pub(super) fn of_tape(tape: &str) -> Self {
        Self { tape: Some(tape.to_owned()), session: None }
    }

    /// The tape of that session.
    pub(super) fn of_session(session: &str) -> Self {
        Self { tape: None, session: Some(session.to_owned()) }
    }

    /// The tape that is meant.
    ///
    /// # Errors
    ///
    /// It is not there, or what keeps tapes cannot be asked.
    pub(super) async fn find(&self, config: Config, workspace: &Path) -> Result<Found> {
        match &self.tape {
            Some(given) => match path(given, &config) {
                Some(path) => in_directory(given, &path, &config, workspace).await,
                None => by_name(given, Place::open(config, workspace).await?).await,
            },
            None => {
                let session = self.session();
                let place = Place::open(config, workspace).await?;
                let Some(found) = place.holds(&place.tape_name(session)).await? else {
                    let shown = text::line(session);
                    bail!(
                        "session `{shown}` of this workspace has no tape; `bub-wasm run --session '{shown}' MESSAGE` begins one"
                    );
                };
                Ok(Found { tape: found, place, session: Some(session.to_owned()) })
            }
        }
    }

    /// The same with all plugins at hand; none where the session has no tape yet.
    ///
    /// # Errors
    ///
    /// A tape that was named is not there.
    pub(super) async fn find_with(&self, host: &Arc<Host>) -> Result<Option<Found>> {
        match &self.tape {
            Some(given) => match path(given, &host.config) {
                Some(path) => in_directory(given, &path, &host.config, &host.workspace).await.map(Some),
                None => by_name(given, Place::of(host)).await.map(Some),
            },
            None => Ok(None),
        }
    }

    /// The session whose tape is meant; not of interest where a tape was named.
    pub(super) fn session(&self) -> &str {
        self.session.as_deref().unwrap_or(SESSION)
    }
}

impl Found {
    /// The tape's file, where it is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.place.file(self.tape.name())
    }

    /// Behind what a command has shown: the next one finds its way by the index. A directory that is nobody's home has no
    /// place for one.
    pub(super) async fn keep_index(&self) {
        if let Some(tapes) = self.place.tapes().filter(|_| !self.place.is_elsewhere) {
            keep_index(&**tapes.store(), self.tape.name()).await;
        }
    }

    /// For commands that write.
    ///
    /// # Errors
    ///
    /// It is a sidecar, or a file that does not lie among tapes.
    pub(super) fn require_own(&self) -> Result<()> {
        let name = self.tape.name();
        if name.contains("__sidecar__") {
            bail!("`{name}` is a sidecar and changes with its tape only: name the tape");
        }
        require_listed(name)
    }
}

/// What was given as a path, if it is one: it has a directory in it, or lies here and not among the tapes.
fn path(given: &str, config: &Config) -> Option<PathBuf> {
    let path = Path::new(given);
    let is_here = || {
        let among_tapes = config.tapes_dir().join(given);
        given.ends_with(".jsonl") && path.is_file() && !among_tapes.is_file()
    };
    (given.contains('/') || is_here()).then(|| path.to_owned())
}

/// A tape of some directory, which may be nobody's.
async fn in_directory(given: &str, path: &Path, config: &Config, workspace: &Path) -> Result<Found> {
    let shown = text::line(given);
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
    let Some(name) = name else { bail!("`{shown}` is no path to a `.jsonl`") };
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !dir.is_dir() {
        bail!("there is no tape `{shown}`: its directory is not there");
    }
    let place = Place::at(dir, config, workspace)?;
    if check_tape_name(name).is_err() {
        bail!("`{shown}` cannot be read under this name: copy it to one of letters, digits, `_`, `.` and `-`");
    }
    match place.holds(name).await? {
        Some(tape) => {
            let session = place.session(name).await?;
            Ok(Found { tape, place, session })
        }
        None => Err(unknown(given, name, &place).await?),
    }
}

async fn by_name(given: &str, place: Place) -> Result<Found> {
    let name = given.strip_suffix(".jsonl").unwrap_or(given);
    let found = if check_tape_name(name).is_ok() { place.holds(name).await? } else { None };
    match found {
        Some(tape) => {
            let session = place.session(name).await?;
            Ok(Found { tape, place, session })
        }
        None => Err(unknown(given, name, &place).await?),
    }
}

async fn unknown(given: &str, name: &str, place: &Place) -> Result<anyhow::Error> {
    let names = place.names().await?;
    let hint = match suggest::nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`"),
        None if place.is_elsewhere => String::new(),
        None => "; `bub-wasm tape list` shows their names".to_owned(),
    };
    Ok(anyhow::anyhow!("there is no tape `{}`{hint}", text::line(given)))
}
