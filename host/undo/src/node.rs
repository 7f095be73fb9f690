//! What the system says about a file.

use super::path::{WorkspacePath, decode, encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The kind of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, with its target. Bytes that are no text are written `%XX`.
    Link(String),
}

/// A file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its kind.
    pub kind: Kind,
    /// Its size in bytes; 0 for what is no regular file.
    pub size: u64,
    /// Its permission bits.
    pub mode: u32,
    /// When its content changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything of it changed; no program can set it.
    pub changed: i64,
    /// Its inode.
    pub inode: u64,
    /// Whether its content is kept.
    pub is_kept: bool,
}

impl Node {
    /// `None`: a socket, a device or a pipe.
    pub(crate) fn new(meta: &Metadata, link: impl FnOnce() -> std::io::Result<Vec<u8>>) -> Option<Self> {
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let kind = match meta.file_type() {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Directory,
            kind if kind.is_symlink() => Kind::Link(encode(&link().ok()?)),
            _ => return None,
        };
        let is_file = kind == Kind::File;
        Some(Self {
            size: if is_file { meta.size() } else { 0 },
            mode: meta.mode() & 0o7777,
            modified: if is_file { nanoseconds(meta.mtime(), meta.mtime_nsec()) } else { 0 },
            changed: if is_file { nanoseconds(meta.ctime(), meta.ctime_nsec()) } else { 0 },
            inode: if is_file { meta.ino() } else { 0 },
            is_kept: !is_file,
            kind,
        })
    }

    /// Whether both are the same file with the same content, as far as the system says.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let of = |node: &Self| (node.kind.clone(), node.size, node.mode, node.modified, node.changed, node.inode);
        match self.kind {
            // The mode of a link means nothing.
            Kind::Link(_) => self.kind == other.kind,
            _ => of(self) == of(other),
        }
    }

    /// The name of its copy.
    pub(crate) fn key(&self, path: &WorkspacePath) -> String {
        let mut digest = Sha256::new();
        for number in [self.size, u64::from(self.mode), self.modified as u64, self.changed as u64, self.inode] {
            digest.update(number.to_le_bytes());
        }
        digest.update(path.bytes());
        digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Where the link leads.
    pub(crate) fn target(&self) -> Option<Vec<u8>> {
        match &self.kind {
            Kind::Link(target) => decode(target),
            _ => None,
        }
    }
}
