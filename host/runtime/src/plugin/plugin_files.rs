//! The file of a plugin in the user's directory: installed, removed, and kept once more as the previous version, for
//! `plugin rollback`.

use super::discovery::{MAX_FILE, bytes_of, user_dir};
use super::private::PrivateDir;
use anyhow::{Context, Result, bail};
use bub_config::{Config, edit};
use bub_permissions::{Grant, Grants};
use bub_system::files::{Draft, make_private_dir};
use bub_types::text::one_line;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// The directory of previous versions, below that of plugins: one version of each, never loaded.
const PREVIOUS_DIR: &str = ".before";

/// The largest record of a version's grants, in bytes.
const MAX_RECORD: u64 = 1 << 20;

/// The grants of the configuration to the bytes of a plugin.
#[derive(Debug, Default, Serialize, Deserialize)]
struct GrantRecord {
    grants: Option<Grants>,
    digest: Option<String>,
    follow: bool,
}

/// The files of one plugin in the user's directory, and its grants in the configuration.
pub struct PluginFiles {
    name: String,
    dir: PathBuf,
    /// The configuration file.
    config: PathBuf,
    current: GrantRecord,
}

impl PluginFiles {
    /// # Errors
    ///
    /// The name is invalid.
    pub fn new(config: &Config, name: &str) -> Result<Self> {
        bub_types::plugin_name::check_name(name)
            .with_context(|| format!("`{}` is not a name for a plugin", one_line(name)))?;
        let bub_config::Plugin { grants, digest, follow, .. } = config.plugin(name);
        let current = GrantRecord { grants, digest, follow };
        Ok(Self { name: name.to_owned(), dir: user_dir(config), config: config.file(), current })
    }

    /// The same with the grants that are in the configuration file now, which may have changed since `config` was read.
    ///
    /// # Errors
    ///
    /// The name is invalid, or the file cannot be read.
    pub fn read_again(config: &Config, name: &str) -> Result<Self> {
        let mut files = Self::new(config, name)?;
        let (mut plugins, _) = bub_config::read_plugins(&config.file())?;
        let bub_config::Plugin { grants, digest, follow, .. } = plugins.remove(name).unwrap_or_default();
        files.current = GrantRecord { grants, digest, follow };
        Ok(files)
    }

    /// The file that is loaded.
    pub fn file(&self) -> PathBuf {
        self.dir.join(self.file_name())
    }

    /// Whether the file exists. A dangling link exists, and can be removed.
    pub fn exists(&self) -> bool {
        self.file().symlink_metadata().is_ok()
    }

    /// Whether a previous version is kept.
    pub fn has_previous(&self) -> bool {
        self.dir.join(PREVIOUS_DIR).join(self.file_name()).exists()
    }

    fn previous_dir(&self) -> Result<PrivateDir> {
        let dir = self.dir.join(PREVIOUS_DIR);
        PrivateDir::open(&dir).map_err(|reason| anyhow::anyhow!("`{}` {reason}", dir.display()))
    }

    fn file_name(&self) -> String {
        format!("{}.wasm", self.name)
    }

    fn record_name(&self) -> String {
        format!("{}.json", self.name)
    }

    /// Writes these bytes atomically, and keeps those that they replace.
    ///
    /// # Errors
    ///
    /// A file cannot be read or written; the plugin is unchanged.
    pub fn install(&self, bytes: &[u8]) -> Result<()> {
        if self.exists() {
            self.keep_previous()?;
        }
        self.write(bytes)
    }

    /// Writes these bytes atomically; those that they replace are gone.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn replace(&self, bytes: &[u8]) -> Result<()> {
        self.write(bytes)
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        let file = self.file();
        let written = make_private_dir(&self.dir).and_then(|()| {
            let mut draft = Draft::new(&file, 0o644)?;
            draft.write_all(bytes)?;
            draft.publish_durably()
        });
        written.with_context(|| format!("`{}` cannot be written", file.display()))
    }

    /// Keeps the current bytes and their grants, in place of those that were kept before.
    fn keep_previous(&self) -> Result<()> {
        let file = self.file();
        let bytes = bytes_of(&file).with_context(|| format!("`{}` cannot be kept", file.display()))?;
        let previous = self.previous_dir()?;
        let record = serde_json::to_vec(&self.current)?;
        let written =
            previous.write(&self.file_name(), &[&bytes]).and_then(|()| previous.write(&self.record_name(), &[&record]));
        written.with_context(|| format!("`{}` cannot be written to", previous.path().display()))
    }

    /// Removes the file and its grants, and keeps both as the previous version.
    ///
    /// # Errors
    ///
    /// The file does not exist, or a file cannot be written.
    pub fn remove(&self) -> Result<()> {
        let file = self.file();
        // A dangling link has no bytes to keep.
        if file.exists() {
            self.keep_previous()?;
        }
        fs::remove_file(&file).with_context(|| format!("`{}` cannot be removed", file.display()))?;
        self.write_grants(&GrantRecord::default())
    }

    /// Removes the file alone, and keeps it with its grants as the previous version.
    ///
    /// # Errors
    ///
    /// A file cannot be read or written.
    pub fn remove_file(&self) -> Result<()> {
        let file = self.file();
        if file.exists() {
            self.keep_previous()?;
        }
        fs::remove_file(&file).with_context(|| format!("`{}` cannot be removed", file.display()))
    }

    /// The bytes of the previous version.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn previous_bytes(&self) -> Result<Vec<u8>> {
        if !self.has_previous() {
            bail!("no version of plugin `{}` is kept: `plugin add` and `plugin remove` keep the one before", self.name);
        }
        let bytes = self.previous_dir()?.read(&self.file_name(), MAX_FILE);
        bytes.with_context(|| {
            format!("`{}` cannot be read", self.dir.join(PREVIOUS_DIR).join(self.file_name()).display())
        })
    }

    /// Restores the previous version, which has these bytes, with the grants that it had, and keeps the current one.
    ///
    /// # Errors
    ///
    /// A file cannot be read or written.
    pub fn restore(&self, bytes: &[u8]) -> Result<()> {
        let previous = self.previous_dir()?;
        // Without a record, the version has no grants.
        let record = previous.read(&self.record_name(), MAX_RECORD);
        let record: GrantRecord = record.and_then(|record| serde_json::from_slice(&record).ok()).unwrap_or_default();
        let existed = self.exists();
        if existed {
            self.keep_previous()?;
        }
        if let Err(error) = self.write(bytes) {
            // The previous version was overwritten by the current one: put it back.
            previous.write(&self.file_name(), &[bytes])?;
            previous.write(&self.record_name(), &[&serde_json::to_vec(&record)?])?;
            return Err(error);
        }
        if !existed {
            [self.file_name(), self.record_name()].iter().try_for_each(|name| previous.remove(name))?;
        }
        self.write_grants(&record)
    }

    /// Writes the grants of the current bytes to the configuration. Other keys of the plugin's table are kept.
    fn write_grants(&self, record: &GrantRecord) -> Result<()> {
        let is_empty = |record: &GrantRecord| record.grants.is_none() && record.digest.is_none() && !record.follow;
        if is_empty(record) && is_empty(&self.current) {
            return Ok(());
        }
        edit::edit(&self.config, |document| {
            let table = edit::plugin(document, &self.name)?;
            for key in ["grants", "digest", "follow"] {
                table.remove(key);
            }
            if let Some(grants) = &record.grants {
                edit::set_list(table, "grants", grants.iter().map(Grant::as_str));
            }
            if let Some(digest) = &record.digest {
                table["digest"] = toml_edit::value(digest.as_str());
            }
            if record.follow {
                table["follow"] = toml_edit::value(true);
            }
            if table.is_empty() {
                edit::drop_plugin(document, &self.name);
            }
            Ok(())
        })
    }
}
