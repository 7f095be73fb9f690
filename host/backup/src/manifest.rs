//! What a backup says of itself.

use bub_types::text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, Read};

/// The first entry of an archive, with [`FORMAT`] as its content.
pub(crate) const FORMAT_FILE: &str = "bub-wasm-backup";

/// The format that this version writes, and the newest that it reads.
pub(crate) const FORMAT: u32 = 1;

/// The last entry of an archive.
pub(crate) const MANIFEST_FILE: &str = "manifest.json";

/// The folder of the archive with the files of the home.
pub(crate) const HOME: &str = "home/";

/// The secrets, encrypted.
pub(crate) const SECRETS_FILE: &str = "secrets.sealed";

/// A database of tapes that is not in the home.
pub(crate) const OUTSIDE_DATABASE: &str = "tapes.sqlite";

/// What is in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the program that wrote it.
    pub program: String,
    /// When it was written, in RFC 3339.
    pub created: String,
    /// Where the tapes of the home were.
    pub tapes: StoredTapes,
    /// Whether it holds secrets.
    pub has_secrets: bool,
    /// All entries in order, without this one and that of the format.
    pub files: Vec<File>,
}

/// Where the tapes of a home were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredTapes {
    /// In files of the home.
    Files,
    /// In a database that the home has.
    Database,
    /// In a SQLite database elsewhere, which was at that path.
    DatabaseOutside(String),
    /// In a server, which has backups of its own: they are not in this one.
    Server,
}

/// An entry of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its path in the archive.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
}

impl Manifest {
    /// The number of tapes, without their sidecars and archives. 0 if they are in a database.
    pub fn tapes(&self) -> usize {
        let is_tape = |file: &&File| {
            file.path
                .strip_prefix("home/tapes/")
                .is_some_and(|name| name.strip_suffix(".jsonl").is_some_and(|name| !name.contains("__sidecar__")))
        };
        self.files.iter().filter(is_tape).count()
    }

    /// The length of all entries, uncompressed.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Reads through to the end of a content, and knows its length and its digest then.
pub(crate) struct Measured<R> {
    from: R,
    hash: Sha256,
    bytes: u64,
}

impl<R: Read> Measured<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, hash: Sha256::new(), bytes: 0 }
    }

    /// The entry for what was read.
    pub(crate) fn into_file(self, path: &str) -> File {
        let sha256 = hex(&self.hash.finalize());
        File { path: path.to_owned(), bytes: self.bytes, sha256 }
    }
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.hash.update(into.get(..read).unwrap_or_default());
        self.bytes += read as u64;
        Ok(read)
    }
}
