//! The files of a call as it found them: what it looked at, read or listed, before it changed anything. A playback makes them
//! again in a directory of its own.

use super::CallRecording;
use super::file_data::{Directory, FileEntry, Found, RecordedFiles};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The largest file that is recorded, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// Contents of files of one call, at most, in bytes.
const MAX_CONTENTS: usize = 16 << 20;

/// Files of one call, at most.
const MAX_ENTRIES: usize = 20_000;

/// Links that lead from one to the next, at most.
const MAX_LINKS: usize = 16;

/// A path in a directory of the call.
type Place = (usize, PathBuf);

/// What a running call has found so far.
#[derive(Default)]
pub(super) struct CallFiles {
    given: Vec<(PathBuf, Directory)>,
    is_used: bool,
    found: BTreeMap<Place, Found>,
    /// What the call itself has changed: what is there now is not what it found.
    changed: BTreeSet<Place>,
    bytes: usize,
    unfit: Option<&'static str>,
}

impl CallFiles {
    /// Why the call cannot be recorded without its files.
    pub(super) fn used(&self) -> Option<String> {
        self.is_used.then(|| "it uses files".to_owned())
    }

    /// The files as a value, null if it was given no directory; and why they are not complete.
    pub(super) fn finish(self) -> (Value, Option<String>) {
        if self.given.is_empty() {
            return (Value::Null, None);
        }
        let found = self.found.into_iter().filter(|(_, found)| *found != Found::Missing);
        let entries = found.map(|((directory, path), found)| FileEntry {
            directory,
            path: path.to_string_lossy().into_owned(),
            found,
        });
        let directories = self.given.into_iter().map(|(_, directory)| directory).collect();
        (json!(RecordedFiles { directories, entries: entries.collect() }), self.unfit.map(str::to_owned))
    }

    fn place(&self, path: &Path) -> Option<Place> {
        let inside =
            |(at, (dir, _)): (usize, &(PathBuf, Directory))| Some((at, path.strip_prefix(dir).ok()?.to_owned()));
        let all = self.given.iter().enumerate().filter_map(inside);
        all.min_by_key(|(_, inside)| inside.components().count())
    }

    fn host_path(&self, (directory, inside): &Place) -> PathBuf {
        self.given[*directory].0.join(inside)
    }

    /// Finds what is at that path, and at each path before it. Returns where it is, links followed.
    fn look(&mut self, path: &Path, follows: bool) -> Option<Place> {
        let mut place = self.place(&normal(path)?)?;
        for _ in 0..MAX_LINKS {
            match self.walk(&place, follows) {
                Some(next) => place = next,
                None => return Some(place),
            }
        }
        None
    }

    /// Finds what is at each part of the path. Returns where it leads if a part is a link.
    fn walk(&mut self, place: &Place, follows: bool) -> Option<Place> {
        let parts: Vec<_> = place.1.components().collect();
        for count in 0..=parts.len() {
            let part: Place = (place.0, parts[..count].iter().collect());
            if self.changed.contains(&part) {
                continue;
            }
            if !self.found.contains_key(&part) {
                // What is made later is not there for a playback.
                let found = find(&self.host_path(&part)).unwrap_or(Found::Missing);
                if self.found.len() >= MAX_ENTRIES {
                    self.unfit = Some("it uses more than 20000 files");
                    return None;
                }
                self.found.insert(part.clone(), found);
            }
            if self.found.get(&part) == Some(&Found::Missing) {
                return None;
            }
            let is_last = count == parts.len();
            if let (Some(Found::Link { target }), true) = (self.found.get(&part), follows || !is_last) {
                // An absolute one is not followed by the sandbox either.
                let target = Path::new(target);
                if target.is_absolute() {
                    return None;
                }
                let parent = self.host_path(&part).parent()?.to_owned();
                let rest: PathBuf = parts[count..].iter().collect();
                return self.place(&normal(&parent.join(target).join(rest))?);
            }
        }
        None
    }

    fn read(&mut self, place: &Place) {
        let path = self.host_path(place);
        let Some(Found::File { content: content @ None, .. }) = self.found.get_mut(place) else { return };
        if self.changed.contains(place) {
            return;
        }
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes));
        if read.is_err() {
            self.unfit = Some("a file that it uses cannot be recorded");
        } else if bytes.len() as u64 > MAX_FILE {
            self.unfit = Some("it opens a file of more than 4 MiB");
        } else if self.bytes + bytes.len() > MAX_CONTENTS {
            self.unfit = Some("it opens more than 16 MiB of files");
        } else {
            self.bytes += bytes.len();
            *content = Some(match String::from_utf8(bytes) {
                Ok(text) => text.into(),
                Err(error) => json!({ "base64": STANDARD.encode(error.as_bytes()) }),
            });
        }
    }
}

impl CallRecording {
    /// The call is given a directory.
    pub(crate) fn given_directory(&self, path: &Path, name: &str, writes: bool) {
        self.files(|files| files.given.push((path.to_owned(), Directory { name: name.to_owned(), writes })));
    }

    /// The directories are opened anew.
    pub(crate) fn gives_no_directories(&self) {
        self.files(|files| files.given.clear());
    }

    /// The call uses its files.
    pub(crate) fn uses_files(&self) {
        self.files(|files| files.is_used = true);
    }

    /// The call looks at what is there.
    pub(crate) fn looks_at(&self, path: &Path, follows: bool) {
        self.files(|files| drop(files.look(path, follows)));
    }

    /// The call has opened what is there, and may read it. To be said before it is changed.
    pub(crate) fn opens(&self, path: &Path, follows: bool) {
        self.files(|files| {
            if let Some(place) = files.look(path, follows) {
                files.read(&place);
            }
        });
    }

    /// The call may change what is there: from now on it finds its own.
    pub(crate) fn changes(&self, path: &Path, follows: bool) {
        self.files(|files| {
            if let Some(place) = files.look(path, follows) {
                files.changed.insert(place);
            }
        });
    }

    /// The call has listed the directory. Each name is given with whether it is a `directory`, a `file` or a `link`.
    pub(crate) fn lists(&self, path: &Path, listed: impl FnOnce() -> Vec<(String, String)>) {
        self.files(|files| {
            let Some(place) = files.look(path, true) else { return };
            // A directory in which the call has made something is listed as it found it: without that.
            let has_changed = |name: &str| files.changed.contains(&(place.0, place.1.join(name)));
            let names: Vec<_> = listed().into_iter().filter(|(name, _)| !has_changed(name)).collect();
            if let Some(Found::Directory { entries: entries @ None, .. }) = files.found.get_mut(&place) {
                *entries = Some(names);
            }
        });
    }

    fn files(&self, change: impl FnOnce(&mut CallFiles)) {
        if !self.is_playback() {
            self.log(|log| change(&mut log.files));
        }
    }
}

/// What is at that path, links not followed; none if there is nothing.
fn find(path: &Path) -> Option<Found> {
    let meta = path.symlink_metadata().ok()?;
    if meta.is_symlink() {
        return Some(Found::Link { target: path.read_link().ok()?.to_string_lossy().into_owned() });
    }
    Some(match meta.is_dir() {
        true => Found::Directory { modified: modified(&meta), entries: None },
        false => Found::File { size: meta.len(), modified: modified(&meta), content: None },
    })
}

fn modified(meta: &Metadata) -> (u64, u32) {
    let since = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    (since.as_secs(), since.subsec_nanos())
}

/// The path without `.` and `..`; none if it leads above the root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            other => normal.push(other),
        }
    }
    Some(normal)
}
