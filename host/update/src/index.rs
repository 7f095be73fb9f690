//! The index of releases: its format, and what is checked in it.

use crate::{NAME, version};
use anyhow::{Context, Result, bail, ensure};
use bub_registry::{PublicKey, Signature};
use bub_types::text::escaped;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The name of an index, which its signature states. The signature has `.minisig` behind it.
pub const INDEX_FILE: &str = "index.json";

/// The longest index, in bytes.
pub(crate) const MAX_INDEX: u64 = 1 << 20;

/// Releases in an index, and files of a release, at most.
const MAX_RELEASES: usize = 1000;
const MAX_FILES: usize = 64;

/// The largest archive, in bytes.
pub(crate) const MAX_ARCHIVE: u64 = 256 << 20;

/// The longest name of a file or a target, in bytes.
const MAX_NAME: usize = 160;

/// The format that this program reads and writes.
pub(crate) const FORMAT: u32 = 1;

/// All releases that a publisher offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The version of the format.
    pub format: u32,
    /// The program.
    pub name: String,
    /// When the index was made.
    pub created: Timestamp,
    /// When it is no longer to be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// In no order.
    pub releases: Vec<Release>,
}

/// A version of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// A semantic version.
    pub version: String,
    /// When it was released.
    pub date: Date,
    /// One archive for each target.
    pub files: Vec<Archive>,
}

/// The archive of a release for one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// The name of a file beside the index.
    pub file: String,
    /// The target that it runs on.
    pub target: String,
    /// In bytes.
    pub size: u64,
    /// 64 hex digits.
    pub sha256: String,
}

impl Index {
    /// Parses an index and verifies that the key has signed it.
    ///
    /// # Errors
    ///
    /// The signature is wrong, or the index is damaged, expired, or made in the future.
    pub fn verified(bytes: &[u8], signature: &[u8], key: &PublicKey) -> Result<Self> {
        let signature = std::str::from_utf8(signature).context("its signature is not one of minisign")?;
        Signature::parse(signature)?.verify_file(key, bytes, INDEX_FILE)?;
        let index = Self::parse(bytes)?;
        let now = Timestamp::now();
        // The clocks of two machines differ. The newest index that was seen must not lie far ahead.
        ensure!(
            index.created <= now + 24.hours(),
            "it was made on {}, which is in the future: check the clock of this machine",
            index.created
        );
        if let Some(expires) = index.expires.filter(|expires| *expires <= now) {
            bail!("it has expired on {expires}: its publisher has to sign a new one");
        }
        Ok(index)
    }

    /// Parses an index; nothing is verified.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let wrong = |error: serde_json::Error| anyhow::anyhow!("it is damaged: {error}");
        let head: Head = serde_json::from_slice(bytes).map_err(wrong)?;
        ensure!(
            head.format == FORMAT,
            "it has format {}, and this program reads format {FORMAT}: install a newer one by hand",
            head.format
        );
        let index: Self = serde_json::from_slice(bytes).map_err(wrong)?;
        index.check().context("it is damaged")?;
        Ok(index)
    }

    fn check(&self) -> Result<()> {
        ensure!(self.name == NAME, "it is of `{}`, not of `{NAME}`", escaped(&self.name, MAX_NAME));
        ensure!(self.releases.len() <= MAX_RELEASES, "it has more than {MAX_RELEASES} releases");
        let (mut versions, mut names) = (BTreeSet::new(), BTreeSet::new());
        for release in &self.releases {
            let version = version(&release.version)?;
            ensure!(versions.insert(version), "it has version {} twice", release.version);
            ensure!(release.files.len() <= MAX_FILES, "version {} has more than {MAX_FILES} files", release.version);
            let mut targets = BTreeSet::new();
            for archive in &release.files {
                archive.check()?;
                ensure!(targets.insert(&archive.target), "it has version {} for a target twice", release.version);
                ensure!(names.insert(&archive.file), "it has file `{}` twice", archive.file);
            }
        }
        Ok(())
    }

    /// The newest release for a target; those before a release count only if there is no other.
    pub fn newest(&self, target: &str) -> Option<(&Release, &Archive)> {
        let fitting = self.releases.iter().filter_map(|release| Some((release, release.archive(target)?)));
        fitting.max_by_key(|(release, _)| {
            let version = release.parsed();
            (version.as_ref().is_some_and(|version| version.pre.is_empty()), version)
        })
    }

    /// The archive of a version for a target.
    ///
    /// # Errors
    ///
    /// There is none; the line names what there is.
    pub fn find(&self, wanted: &Version, target: &str) -> Result<(&Release, &Archive)> {
        let Some(release) = self.releases.iter().find(|release| release.parsed().as_ref() == Some(wanted)) else {
            let newest = self.newest(target).map(|(newest, _)| format!("; the newest is {}", newest.version));
            bail!("there is no version {wanted}{}", newest.unwrap_or_default());
        };
        let archive = release.archive(target).with_context(|| {
            let targets = release.files.iter().map(|file| file.target.as_str()).collect::<Vec<_>>();
            format!("version {wanted} has no file for `{target}`; it has: {}", targets.join(", "))
        })?;
        Ok((release, archive))
    }
}

impl Release {
    /// Its version.
    pub fn parsed(&self) -> Option<Version> {
        version(&self.version).ok()
    }

    fn archive(&self, target: &str) -> Option<&Archive> {
        self.files.iter().find(|archive| archive.target == target)
    }
}

impl Archive {
    pub(crate) fn check(&self) -> Result<()> {
        let is_plain = |text: &str| {
            let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
            !text.is_empty() && text.len() <= MAX_NAME && !text.starts_with('.') && text.bytes().all(is_fine)
        };
        let shown = escaped(&self.file, MAX_NAME);
        ensure!(is_plain(&self.file) && self.file.ends_with(".tar.gz"), "`{shown}` is not the name of an archive");
        ensure!(is_plain(&self.target), "`{}` is not a target", escaped(&self.target, MAX_NAME));
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        ensure!(
            self.sha256.len() == 64 && self.sha256.bytes().all(is_hex),
            "the `sha256` of `{shown}` is not 64 hex digits in lower case"
        );
        ensure!(
            (1..=MAX_ARCHIVE).contains(&self.size),
            "`{shown}` has {} bytes, and an archive has at most {} MiB",
            self.size,
            MAX_ARCHIVE >> 20
        );
        Ok(())
    }
}
