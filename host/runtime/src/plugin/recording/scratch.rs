//! The directory in which a playback has the files of a call. A recording may come from anyone: nothing outside of the
//! directory is written, whatever paths and links it names.

use super::file_data::{FileEntry, Found, RecordedFiles};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Files and directories of a call, at most.
const MAX_ENTRIES: usize = 100_000;

/// The largest file, in bytes. Its content may be a hole.
const MAX_SIZE: u64 = 64 << 30;

/// The files of a call that is made again, removed when it is dropped.
pub(super) struct Scratch {
    root: TempDir,
    directories: Vec<(String, bool)>,
}

impl Scratch {
    /// Makes the files.
    pub(super) fn new(files: &RecordedFiles) -> Result<Self, String> {
        let failed = |error: io::Error| format!("the files of the call cannot be made: {error}");
        let root = tempfile::Builder::new().prefix("bub-wasm-replay.").tempdir().map_err(failed)?;
        let directories = files.directories.iter().map(|directory| (directory.name.clone(), directory.writes));
        let scratch = Self { root, directories: directories.collect() };
        for at in 0..scratch.directories.len() {
            fs::create_dir(scratch.dir(at)).map_err(failed)?;
        }
        scratch.fill(&files.entries).map_err(failed)?;
        Ok(scratch)
    }

    /// Each with its path, its name for the plugin, and whether it can be written to.
    pub(super) fn directories(&self) -> Vec<(PathBuf, String, bool)> {
        let all = self.directories.iter().enumerate();
        all.map(|(at, (name, writes))| (self.dir(at), name.clone(), *writes)).collect()
    }

    fn dir(&self, at: usize) -> PathBuf {
        self.root.path().join(at.to_string())
    }

    fn fill(&self, entries: &[FileEntry]) -> io::Result<()> {
        let mut count = 0;
        let mut times = Vec::new();
        for entry in entries {
            let path = self.path(entry)?;
            count +=
                1 + if let Found::Directory { entries: Some(listed), .. } = &entry.found { listed.len() } else { 0 };
            if count > MAX_ENTRIES {
                return Err(io::Error::other("there are too many"));
            }
            make(&path, &entry.found)?;
            if let Found::Directory { modified, .. } = entry.found {
                times.push((path, modified));
            }
        }
        // What was listed and not looked at.
        for entry in entries {
            let Found::Directory { entries: Some(listed), .. } = &entry.found else { continue };
            let dir = self.path(entry)?;
            for (name, kind) in listed {
                let path = dir.join(plain(Path::new(name)).ok_or_else(wrong)?);
                if path.symlink_metadata().is_ok() {
                    continue;
                }
                match kind.as_str() {
                    "directory" => fs::create_dir(&path)?,
                    "link" => std::os::unix::fs::symlink("nowhere", &path)?,
                    _ => drop(OpenOptions::new().write(true).create_new(true).open(&path)?),
                }
            }
        }
        for (path, modified) in times.into_iter().rev() {
            File::open(&path)?.set_times(FileTimes::new().set_modified(moment(modified)))?;
        }
        Ok(())
    }

    /// The path of an entry, all parents of which are directories and no links.
    fn path(&self, entry: &FileEntry) -> io::Result<PathBuf> {
        if entry.directory >= self.directories.len() {
            return Err(wrong());
        }
        let mut path = self.dir(entry.directory);
        let inside = plain(Path::new(&entry.path)).ok_or_else(wrong)?;
        for part in inside.components() {
            if !path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                return Err(wrong());
            }
            path.push(part);
        }
        Ok(path)
    }
}

fn make(path: &Path, found: &Found) -> io::Result<()> {
    match found {
        Found::Directory { .. } if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) => Ok(()),
        Found::Directory { .. } => fs::create_dir(path),
        Found::Missing => Ok(()),
        Found::Link { target } => std::os::unix::fs::symlink(target, path),
        Found::File { size, modified, content } => {
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            match content {
                Some(content) => file.write_all(&bytes(content).ok_or_else(wrong)?)?,
                None if *size <= MAX_SIZE => file.set_len(*size)?,
                None => return Err(wrong()),
            }
            file.set_times(FileTimes::new().set_modified(moment(*modified)))
        }
    }
}

/// The path, if it has no parts but names.
fn plain(path: &Path) -> Option<&Path> {
    path.components().all(|part| matches!(part, Component::Normal(_))).then_some(path)
}

fn bytes(content: &Value) -> Option<Vec<u8>> {
    match content {
        Value::String(text) => Some(text.clone().into_bytes()),
        other => STANDARD.decode(other.get("base64")?.as_str()?).ok(),
    }
}

fn moment((seconds, nanoseconds): (u64, u32)) -> SystemTime {
    let since = Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanoseconds.into()));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

fn wrong() -> io::Error {
    io::Error::other("the recording contradicts itself")
}
