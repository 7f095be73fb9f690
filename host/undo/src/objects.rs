//! Copies of files.

use super::listing::{Listing, look};
use super::node::{Kind, Node};
use super::path::WorkspacePath;
use super::{Limits, directory};
use anyhow::{Context, Result};
use bub_system::files::make_private_dir;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The copies of a workspace, in folders by the first two digits of their names.
pub(crate) struct Objects {
    dir: PathBuf,
}

impl Objects {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(crate) fn path(&self, key: &str) -> PathBuf {
        self.dir.join(&key[..2]).join(key)
    }

    /// The names and sizes of all copies.
    fn all(&self) -> Vec<(String, PathBuf)> {
        let Ok(folders) = fs::read_dir(&self.dir) else { return Vec::new() };
        let files = folders.flatten().flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        files.filter_map(|file| Some((file.file_name().into_string().ok()?, file.path()))).collect()
    }

    /// Keeps a copy of each file, as far as the limits go, and marks those that are kept.
    pub(crate) fn keep(&self, workspace: &Path, listing: &mut Listing, limits: &Limits) -> Result<()> {
        make_private_dir(&self.dir).with_context(|| format!("`{}` cannot be made", self.dir.display()))?;
        let (mut known, mut held) = (HashSet::new(), 0_u64);
        for (key, path) in self.all() {
            held = held.saturating_add(path.metadata().map_or(0, |meta| meta.size()));
            known.insert(key);
        }
        let begun = Instant::now();
        for (path, node) in listing.iter_mut().filter(|(_, node)| node.kind == Kind::File) {
            let key = node.key(path);
            if known.contains(&key) {
                node.is_kept = true;
                continue;
            }
            let fits = node.size <= limits.max_file && held.saturating_add(node.size) <= limits.max_bytes;
            if fits && begun.elapsed() < limits.max_time {
                // A file that cannot be read is not kept.
                node.is_kept = self.copy(workspace, path, node, &key).unwrap_or(false);
                held += if node.is_kept { node.size } else { 0 };
            }
        }
        Ok(())
    }

    /// `false`: the file is not the one of the listing any more.
    fn copy(&self, workspace: &Path, path: &WorkspacePath, node: &Node, key: &str) -> io::Result<bool> {
        let source = directory::open_file(workspace, path)?;
        let target = self.path(key);
        let draft = target.with_extension("new");
        make_private_dir(&self.dir.join(&key[..2]))?;
        let _unfinished = fs::remove_file(&draft);
        let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let copied = duplicate(&source, &copy);
        // A copy of two halves is no content that the file ever had.
        let is_same = copied.is_ok() && look(&workspace.join(path.as_path())).is_some_and(|now| now.is_same(node));
        if is_same {
            fs::rename(&draft, &target)?;
        } else {
            fs::remove_file(&draft)?;
        }
        Ok(is_same)
    }

    /// Removes all copies but these.
    pub(crate) fn retain(&self, used: &HashSet<String>) {
        for (key, path) in self.all() {
            if !used.contains(&key) {
                let _gone = fs::remove_file(path);
            }
        }
    }

    /// Bytes of the copies with these names.
    pub(crate) fn size(&self, keys: &HashSet<String>) -> u64 {
        keys.iter().filter_map(|key| self.path(key).metadata().ok()).map(|meta| meta.size()).sum()
    }
}

/// Gives the second file the content of the first: its blocks where the file system can share them.
pub(crate) fn duplicate(source: &File, target: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::fs::ioctl_ficlone(target, source).is_ok() {
        return Ok(());
    }
    let (mut source, mut target) = (source, target);
    io::copy(&mut source, &mut target).map(drop)
}
