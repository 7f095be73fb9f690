//! The sources of a project: which files they are, and whether they have changed.
//!
//! The tree is compared every fifth of a second. Events of the system would be faster by that much, and would have to be
//! asked for in each new directory, on file systems that may have none.

use crate::cli::plugin::project::Project;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Directories of tools, besides hidden ones.
const SKIPPED: [&str; 6] = ["target", "node_modules", "venv", "__pycache__", "dist", "build"];

/// The most files that are compared; a project with more is none.
const MAX_FILES: usize = 20_000;

/// Of each file, so much is compared, in bytes, besides its length.
const MAX_READ: u64 = 4 << 20;

/// A file as it was.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileFingerprint {
    len: u64,
    modified: Option<SystemTime>,
    content: u64,
}

/// The files of a project as they were when they were last compared.
pub(super) struct Sources {
    dir: PathBuf,
    /// Files that builds and recordings write.
    written: Vec<PathBuf>,
    files: BTreeMap<PathBuf, FileFingerprint>,
    /// Files that the last build has changed, and the one before.
    generated: BTreeSet<PathBuf>,
}

impl Sources {
    pub(super) fn new(project: &Project) -> Self {
        let written = vec![project.artifact(), project.fixtures()];
        let (files, generated) = (BTreeMap::new(), BTreeSet::new());
        let mut sources = Self { dir: project.dir.clone(), written, files, generated };
        sources.changes();
        sources
    }

    /// How many files there are.
    pub(super) fn count(&self) -> usize {
        self.files.len()
    }

    /// Whether the user has changed a file since the last call.
    pub(super) fn have_changed(&mut self) -> bool {
        !self.changes().is_empty()
    }

    /// Whether a file has changed while the project was built. Files that each build changes are not sources.
    pub(super) fn have_changed_in_build(&mut self) -> bool {
        let changed = self.changes();
        let is_new = changed.iter().any(|path| !self.generated.contains(path));
        self.generated.extend(changed);
        is_new
    }

    /// The files that were changed, added or removed since the last call.
    fn changes(&mut self) -> BTreeSet<PathBuf> {
        let mut found = BTreeMap::new();
        let mut dirs = vec![self.dir.clone()];
        while let Some(dir) = dirs.pop() {
            // A directory that has just been removed has no files.
            for entry in std::fs::read_dir(&dir).into_iter().flatten().filter_map(Result::ok) {
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                if self.is_skipped(&path) || found.len() >= MAX_FILES {
                    continue;
                }
                match kind.is_dir() {
                    true => dirs.push(path),
                    false => {
                        if let Ok(fingerprint) = fingerprint(&path, self.files.get(&path)) {
                            found.insert(path, fingerprint);
                        }
                    }
                }
            }
        }
        let content = |files: &BTreeMap<PathBuf, FileFingerprint>, path: &Path| {
            files.get(path).map(|fingerprint| fingerprint.content)
        };
        let changed = found
            .keys()
            .chain(self.files.keys())
            .filter(|path| content(&found, path) != content(&self.files, path))
            .cloned()
            .collect();
        self.files = found;
        changed
    }

    fn is_skipped(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Editors write next to the file, under a hidden name or one with a tilde.
        name.starts_with('.')
            || name.ends_with('~')
            || SKIPPED.contains(&&*name)
            || self.written.iter().any(|written| written == path)
    }
}

/// The file as it is. It is read only if it was touched.
fn fingerprint(path: &Path, before: Option<&FileFingerprint>) -> io::Result<FileFingerprint> {
    let meta = path.metadata()?;
    let (len, modified) = (meta.len(), meta.modified().ok());
    if let Some(before) = before
        && (before.len, before.modified) == (len, modified)
    {
        return Ok(*before);
    }
    let mut hasher = DefaultHasher::new();
    len.hash(&mut hasher);
    if meta.is_file() {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(MAX_READ).read_to_end(&mut bytes)?;
        bytes.hash(&mut hasher);
    }
    Ok(FileFingerprint { len, modified, content: hasher.finish() })
}
