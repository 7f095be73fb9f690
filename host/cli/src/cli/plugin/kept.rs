//! Files of the user's directory of plugins: put there, taken away, and kept once more, so that there is a way back.

use anyhow::{Context, Result, bail};
use bub_config::{Config, edit};
use bub_permissions::Grants;
use bub_runtime::plugin;
use bub_runtime::plugin::{PrivateDir, user_dir};
use bub_system::files::make_private_dir;
use bub_types::text::one_line;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// Below the directory of plugins, where nothing is loaded from: the version before, of each plugin one.
const BEFORE: &str = ".before";

/// The longest note of what a version was granted, in bytes.
const MAX_NOTE: u64 = 1 << 20;

/// What the user said of the bytes of a plugin.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Said {
    grants: Option<Grants>,
    digest: Option<String>,
    follow: bool,
}

/// A plugin of the user's directory, by its name, and what is said of it.
pub(super) struct Place {
    name: String,
    dir: PathBuf,
    /// The configuration.
    config: PathBuf,
    said: Said,
}

impl Place {
    /// # Errors
    ///
    /// No plugin can have that name.
    pub(super) fn of(config: &Config, name: &str) -> Result<Self> {
        bub_types::plugin_name::check_name(name)
            .with_context(|| format!("`{}` is no name for a plugin", one_line(name)))?;
        let bub_config::Plugin { grants, digest, follow, .. } = config.plugin(name);
        let said = Said { grants, digest, follow };
        Ok(Self { name: name.to_owned(), dir: user_dir(config), config: config.file(), said })
    }

    /// The file that is loaded.
    pub(super) fn file(&self) -> PathBuf {
        self.dir.join(self.wasm())
    }

    /// Whether there is one. A link that leads nowhere is one that can be taken away.
    pub(super) fn is_there(&self) -> bool {
        self.file().symlink_metadata().is_ok()
    }

    /// Whether the version before is kept.
    pub(super) fn keeps(&self) -> bool {
        self.dir.join(BEFORE).join(self.wasm()).exists()
    }

    fn before(&self) -> Result<PrivateDir> {
        let dir = self.dir.join(BEFORE);
        PrivateDir::open(&dir).map_err(|reason| anyhow::anyhow!("`{}` {reason}", dir.display()))
    }

    fn wasm(&self) -> String {
        format!("{}.wasm", self.name)
    }

    fn note(&self) -> String {
        format!("{}.json", self.name)
    }

    /// Puts these bytes where they are loaded from, all at once, and keeps those that were there.
    ///
    /// # Errors
    ///
    /// Something cannot be read or written; what serves has not changed then.
    pub(super) fn put(&self, bytes: &[u8]) -> Result<()> {
        if self.is_there() {
            self.keep()?;
        }
        self.write(bytes)
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        let file = self.file();
        // Not one that is looked at: it does not end as plugins do.
        let draft = self.dir.join(format!(".{}.{}.new", self.name, std::process::id()));
        let written = make_private_dir(&self.dir)
            .and_then(|()| fs::File::create(&draft))
            .and_then(|mut out| out.write_all(bytes).and_then(|()| out.sync_all()))
            .and_then(|()| fs::rename(&draft, &file));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written.with_context(|| format!("`{}` cannot be written", file.display()))
    }

    /// Keeps the bytes that are there, with what the user said of them. What was kept before is gone.
    fn keep(&self) -> Result<()> {
        let file = self.file();
        let bytes = plugin::bytes_of(&file).with_context(|| format!("`{}` cannot be kept", file.display()))?;
        let before = self.before()?;
        let note = serde_json::to_vec(&self.said)?;
        let written = before.write(&self.wasm(), &[&bytes]).and_then(|()| before.write(&self.note(), &[&note]));
        written.with_context(|| format!("`{}` cannot be written to", before.path().display()))
    }

    /// Takes the file away, and what the user granted it. Both are kept.
    ///
    /// # Errors
    ///
    /// It is not there, or something cannot be written.
    pub(super) fn remove(&self) -> Result<()> {
        let file = self.file();
        // One that cannot be read (a link that leads nowhere) has nothing that could be kept.
        if file.exists() {
            self.keep()?;
        }
        fs::remove_file(&file).with_context(|| format!("`{}` cannot be removed", file.display()))?;
        self.say(&Said::default())
    }

    /// The bytes of the version before.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(super) fn bytes_before(&self) -> Result<Vec<u8>> {
        if !self.keeps() {
            bail!("no version of plugin `{}` is kept: `plugin add` and `plugin remove` keep the one before", self.name);
        }
        let bytes = self.before()?.read(&self.wasm(), plugin::MAX_FILE);
        bytes.with_context(|| format!("`{}` cannot be read", self.dir.join(BEFORE).join(self.wasm()).display()))
    }

    /// Puts these bytes, which are the version before, in the place of those that are there, with what they were granted
    /// then, and keeps the others in turn.
    ///
    /// # Errors
    ///
    /// Something cannot be read or written.
    pub(super) fn swap(&self, bytes: &[u8]) -> Result<()> {
        let before = self.before()?;
        // Without its note it is a version that nobody has granted anything.
        let note = before.read(&self.note(), MAX_NOTE);
        let said: Said = note.and_then(|note| serde_json::from_slice(&note).ok()).unwrap_or_default();
        let was_there = self.is_there();
        if was_there {
            self.keep()?;
        }
        if let Err(error) = self.write(bytes) {
            // Neither of the two may be lost.
            before.write(&self.wasm(), &[bytes])?;
            before.write(&self.note(), &[&serde_json::to_vec(&said)?])?;
            return Err(error);
        }
        if !was_there {
            [self.wasm(), self.note()].iter().try_for_each(|name| before.remove(name))?;
        }
        self.say(&said)
    }

    /// Writes down what the user said of the bytes that are there now. What else stands in the plugin's table is theirs.
    fn say(&self, said: &Said) -> Result<()> {
        let is_silent = |said: &Said| said.grants.is_none() && said.digest.is_none() && !said.follow;
        if is_silent(said) && is_silent(&self.said) {
            return Ok(());
        }
        edit::edit(&self.config, |document| {
            let table = edit::plugin(document, &self.name)?;
            for key in ["grants", "digest", "follow"] {
                table.remove(key);
            }
            if let Some(grants) = &said.grants {
                edit::set_list(table, "grants", grants.iter());
            }
            if let Some(digest) = &said.digest {
                table["digest"] = toml_edit::value(digest.as_str());
            }
            if said.follow {
                table["follow"] = toml_edit::value(true);
            }
            if table.is_empty() {
                edit::drop_plugin(document, &self.name);
            }
            Ok(())
        })
    }
}
