//! Where the files of a home are, and which of them no plugin may open.

use super::home_version::{self, HOME_VERSION};
use super::{Config, PLUGINS_DIR, environment, file};
use crate::tapes::TapeStorage;
use anyhow::{Context, Result};
use bub_system::environment as process_environment;
use bub_system::files::{ProtectedFiles, make_private_dir};
use std::path::{Path, PathBuf};

impl Config {
    /// Creates the home directory and its missing parents, and brings it to the version of this program. Only commands
    /// that write need it.
    ///
    /// # Errors
    ///
    /// It cannot be created or changed.
    pub fn make_home(&self) -> Result<()> {
        // Created first: a directory created on the way to a file would be group-readable under some umasks.
        make_private_dir(&self.home)
            .with_context(|| format!("the home `{}` cannot be created", self.home.display()))?;
        // A home that was never used has no version before.
        let is_new = !self.tapes_dir().exists();
        if let Some(before) = home_version::upgrade(&self.home)?
            && !is_new
        {
            tracing::info!(
                "the home `{}` was brought from version {before} to {HOME_VERSION}; `bub-wasm home downgrade` takes it back",
                self.home.display()
            );
        }
        Ok(())
    }

    /// Directory of tapes in files, of journals and of archives' attachments.
    pub fn tapes_dir(&self) -> PathBuf {
        self.home.join("tapes")
    }

    /// Directory of tape indexes. Not in the cache of compiled code, which several homes may share.
    pub fn index_dir(&self) -> PathBuf {
        self.home.join("cache/index")
    }

    /// Directory of recall indexes, a file per workspace.
    pub fn recall_dir(&self) -> PathBuf {
        self.home.join("index")
    }

    /// Directory of recordings of turns, a folder for each session.
    pub fn recordings_dir(&self) -> PathBuf {
        self.home.join("recordings")
    }

    /// Path of `config.toml`.
    pub fn file(&self) -> PathBuf {
        self.home.join(file::FILE)
    }

    /// The files that [`Self::load`] reads. Any of them may be missing.
    pub fn sources(&self) -> [PathBuf; 3] {
        sources(&self.home)
    }

    /// Files that no plugin may open or replace: configuration, secrets, caches and the executable.
    pub fn protected_files(&self) -> ProtectedFiles {
        let listed = [self.home.clone(), self.home.join(PLUGINS_DIR)];
        let mut others = vec![self.cache_dir.clone(), self.program.clone()];
        if let TapeStorage::Sqlite(path) = &self.tapes.storage {
            others.push(path.clone());
        }
        others.extend(self.secrets.files().map(Path::to_owned));
        if let Some(tls) = &self.serve.tls {
            others.extend([self.home.join(&tls.certificate), self.home.join(&tls.key)]);
        }
        ProtectedFiles::find(&listed, &others)
    }
}

pub(super) fn sources(home: &Path) -> [PathBuf; 3] {
    [file::FILE, environment::FILE, bub_egress::secret::FILE].map(|name| home.join(name))
}

pub(super) fn home_dir(home: Option<&Path>) -> Result<PathBuf> {
    let home = match home {
        Some(home) => home.to_owned(),
        None => match process_environment::get("BUB_HOME").filter(|home| !home.is_empty()) {
            Some(home) => PathBuf::from(home),
            None => std::env::home_dir().context("there is no home directory; set `BUB_HOME`")?.join(".bub"),
        },
    };
    std::path::absolute(&home).with_context(|| format!("`{}` is no path", home.display()))
}
