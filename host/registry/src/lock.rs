//! `plugins.lock`: what was installed, from where, with which content and by whose signature.

use crate::{Author, PluginSignature};
use anyhow::{Context, Result, ensure};
use bub_system::files::{Draft, make_private_dir, read_text};
use bub_types::text::one_line;
use jiff::Timestamp;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file, below `$BUB_HOME`.
pub const LOCK_FILE: &str = "plugins.lock";

/// The largest file that is read, in bytes.
const MAX_FILE: usize = 4 << 20;

/// The version of the format.
const FORMAT: u32 = 1;

const HEADER: &str = "# Written by `bub-wasm plugin`; not meant to be edited by hand.\n\n";

/// The file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of the format.
    format: u32,
    /// The installed plugins, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plugins: BTreeMap<String, Locked>,
    /// Content that is not loaded, by its SHA-256 in hex.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quarantine: BTreeMap<String, Quarantined>,
}

/// An installed plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Its version, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where it came from: `oci://…`, `https://…` or a path.
    pub source: String,
    /// The digest of its manifest in the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
    /// When it was installed.
    pub installed: Timestamp,
    /// Who has signed it: the public key, or `sigstore:` and the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The issuer of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer_issuer: Option<String>,
    /// The name that it had in `[trust.keys]` or `[trust.identities]` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer_name: Option<String>,
    /// Its signature, of minisign or a bundle of Sigstore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The grants that it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// Whether it was removed; `plugin rollback` brings it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The version before it, which `plugin rollback` brings back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<Self>>,
}

/// Content that is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quarantined {
    /// The name of the plugin that had it.
    pub plugin: String,
    /// The id of the advisory.
    pub advisory: String,
    /// What the advisory says, in a sentence.
    pub summary: String,
}

impl Default for Lock {
    fn default() -> Self {
        Self { format: FORMAT, plugins: BTreeMap::new(), quarantine: BTreeMap::new() }
    }
}

impl Locked {
    /// The signature, if there is one.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn signature(&self) -> Result<Option<PluginSignature>> {
        self.signature.as_deref().map(PluginSignature::parse).transpose()
    }

    /// Its signer, if it is signed.
    pub fn signer(&self) -> Option<Author> {
        Author::from_lock(self.signer.as_deref()?, self.signer_issuer.as_deref())
    }
}

impl Lock {
    /// The path of the file of that home.
    pub fn path(home: &Path) -> PathBuf {
        home.join(LOCK_FILE)
    }

    /// Reads the file; a missing file is an empty one.
    ///
    /// # Errors
    ///
    /// One line that names the file: it cannot be read, is another's, or is not understood.
    pub fn read(home: &Path) -> Result<Self> {
        let path = Self::path(home);
        let Some((text, _)) = read_text(&path, MAX_FILE).map_err(anyhow::Error::msg)? else {
            return Ok(Self::default());
        };
        let lock: Self = toml::from_str(&text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            anyhow::anyhow!(
                "`{}` line {line}: {}; move the file away, and add the plugins again",
                path.display(),
                one_line(error.message())
            )
        })?;
        ensure!(
            lock.format == FORMAT,
            "`{}` has the format {}, and this program knows {FORMAT}",
            path.display(),
            lock.format
        );
        Ok(lock)
    }

    /// Changes the file: no other program changes it meanwhile, and readers see the old or the new content.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or `change` fails; then it is as it was.
    pub fn change<T>(home: &Path, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let path = Self::path(home);
        let failed = || format!("`{}` cannot be written", path.display());
        make_private_dir(home).with_context(failed)?;
        // The directory is what is locked: the file is replaced.
        let guard = File::open(home).with_context(failed)?;
        rustix::fs::flock(&guard, FlockOperation::LockExclusive).with_context(failed)?;
        let mut lock = Self::read(home)?;
        let before = lock.clone();
        let value = change(&mut lock)?;
        if lock != before {
            lock.write(&path).with_context(failed)?;
        }
        Ok(value)
    }

    fn write(&self, path: &Path) -> Result<()> {
        let mut draft = Draft::new(path, 0o600)?;
        draft.write_all(HEADER.as_bytes())?;
        draft.write_all(toml::to_string(self)?.as_bytes())?;
        Ok(draft.publish_durably()?)
    }

    /// Enters an installed plugin; what was there is the version before it.
    pub fn install(&mut self, name: &str, mut entry: Locked) {
        if let Some(mut old) = self.plugins.remove(name) {
            old.before = None;
            entry.before = Some(Box::new(old));
        }
        self.plugins.insert(name.to_owned(), entry);
    }

    /// Swaps a plugin with the version before it, if that has these bytes; otherwise nothing is known of them.
    pub fn roll_back(&mut self, name: &str, digest: &str) {
        let Some(mut current) = self.plugins.remove(name) else { return };
        if current.removed && current.digest == digest {
            (current.removed, current.before) = (false, None);
            self.plugins.insert(name.to_owned(), current);
            return;
        }
        let before = current.before.take();
        if let Some(mut before) = before.filter(|before| before.digest == digest) {
            before.before = Some(Box::new(current));
            self.plugins.insert(name.to_owned(), *before);
        }
    }

    /// Notes that a plugin was removed.
    pub fn remove(&mut self, name: &str) {
        if let Some(entry) = self.plugins.get_mut(name) {
            entry.removed = true;
        }
    }

    /// The plugins that are installed.
    pub fn installed(&self) -> impl Iterator<Item = (&str, &Locked)> {
        self.plugins.iter().filter(|(_, entry)| !entry.removed).map(|(name, entry)| (name.as_str(), entry))
    }

    /// The entry of a plugin that has these bytes: the installed version, or the one before it.
    pub fn entry(&self, name: &str, digest: &str) -> Option<&Locked> {
        let current = self.plugins.get(name)?;
        if current.digest == digest {
            return Some(current);
        }
        current.before.as_deref().filter(|before| before.digest == digest)
    }
}
