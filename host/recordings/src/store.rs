//! The folder of recordings: written whole, listed, and bounded in bytes and days.

use super::encode::encode;
use super::read::{Problem, Recording, RecordingHeader};
use super::record::TurnRecord;
use anyhow::{Context, Result};
use bub_system::files::{Draft, make_private_dir};
use jiff::Timestamp;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The ending of files.
const ENDING: &str = "rec";

/// The file whose time says when something was erased last.
const ERASED: &str = ".erased";

/// The times of files lag behind the clock by as much.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// Bounds of what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all recordings.
    pub max_bytes: u64,
    /// How long a recording is kept.
    pub max_age: Duration,
}

/// The recordings of a home.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// A recording that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The session.
    pub session: String,
    /// The folder: the name of the session's tape.
    pub folder: String,
    /// The name of the recording, which commands take.
    pub name: String,
    /// The digest of its manifest.
    pub digest: String,
    /// Its file.
    pub file: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// A recording in the folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name: when the turn began, and a part of a digest.
    pub name: String,
    /// The name of the session's tape.
    pub folder: String,
    /// Its file.
    pub file: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Store {
    /// Those in that folder, which need not exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Makes the folder. If it cannot be made, writing a turn fails.
    pub fn make_dir(&self) {
        let _ = make_private_dir(&self.dir);
    }

    /// Writes a turn. Every text in it went through `redact`. A process that ends meanwhile leaves no file.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, turn: TurnRecord, program: &str, redact: &dyn Fn(&str) -> String) -> Result<Written> {
        let (folder, session, started) = (turn.folder.clone(), turn.session.clone(), turn.started_ms);
        let encoded = encode(turn, program, redact)?;
        let dir = self.dir.join(&folder);
        let name = format!("{}-{}", stamp(started), &encoded.manifest[..6]);
        let file = dir.join(format!("{name}.{ENDING}"));
        let written = make_private_dir(&self.dir).and_then(|()| make_private_dir(&dir)).and_then(|()| {
            let mut draft = Draft::new(&file, 0o600)?;
            draft.write_all(&encoded.bytes)?;
            draft.publish()
        });
        written.with_context(|| format!("`{}` cannot be written", file.display()))?;
        Ok(Written { session, folder, name, digest: encoded.manifest, file, bytes: encoded.bytes.len() as u64 })
    }

    /// All recordings, the oldest first; of one folder, if it is named.
    pub fn list(&self, folder: Option<&str>) -> Vec<Listed> {
        let mut listed = Vec::new();
        for dir in children(&self.dir) {
            let Some(name) = dir.file_name().and_then(OsStr::to_str).map(str::to_owned) else { continue };
            if folder.is_some_and(|folder| folder != name) {
                continue;
            }
            for file in children(&dir) {
                let stem = file.file_stem().and_then(OsStr::to_str).filter(|stem| !stem.starts_with('.'));
                let (Some(stem), true) = (stem, file.extension().is_some_and(|ending| ending == ENDING)) else {
                    continue;
                };
                let bytes = file.metadata().map_or(0, |meta| meta.len());
                listed.push(Listed { name: stem.to_owned(), folder: name.clone(), bytes, file });
            }
        }
        listed.sort();
        listed
    }

    /// Removes what is older, and the oldest of what is more, than the bounds say. Returns the bytes that are left.
    pub fn prune(&self, limits: Limits) -> u64 {
        let now = SystemTime::now();
        let listed = self.list(None);
        let mut left: u64 = listed.iter().map(|recording| recording.bytes).sum();
        for recording in listed {
            let modified = recording.file.metadata().and_then(|meta| meta.modified()).unwrap_or(now);
            let is_old = now.duration_since(modified).is_ok_and(|age| age > limits.max_age);
            if (is_old || left > limits.max_bytes) && remove(&recording) {
                left = left.saturating_sub(recording.bytes);
            }
        }
        left
    }

    /// Notes that something is being erased, before recordings are removed for it: a process that has recorded a turn and not
    /// written it yet drops it.
    ///
    /// # Errors
    ///
    /// The note cannot be written.
    pub fn note_erasure(&self) -> Result<()> {
        let note = self.dir.join(ERASED);
        if !self.dir.is_dir() {
            return Ok(());
        }
        let written = Draft::new(&note, 0o600).and_then(Draft::publish);
        written.with_context(|| format!("`{}` cannot be written", note.display()))
    }

    /// Whether something was erased since then.
    pub fn has_erased_since(&self, since: SystemTime) -> bool {
        let noted = self.dir.join(ERASED).metadata().and_then(|meta| meta.modified());
        noted.is_ok_and(|noted| noted + CLOCK_STEP >= since)
    }

    /// Removes a recording that was written.
    pub fn discard(&self, written: &Written) {
        let Written { name, folder, file, bytes, .. } = written.clone();
        remove(&Listed { name, folder, file, bytes });
    }

    /// Removes all recordings of a session, by the name of its tape. Returns their number.
    pub fn remove_folder(&self, folder: &str) -> usize {
        self.list(Some(folder)).iter().filter(|recording| remove(recording)).count()
    }

    /// Removes all recordings in which one of the texts stands, and those that cannot be searched. Returns their number.
    pub fn remove_with(&self, texts: &[String]) -> usize {
        self.with(texts).iter().filter(|recording| remove(recording)).count()
    }

    /// All recordings in which one of the texts stands, and those that cannot be searched.
    pub fn with(&self, texts: &[String]) -> Vec<Listed> {
        let needles: Vec<String> = texts.iter().filter(|text| !text.is_empty()).flat_map(|text| nested(text)).collect();
        if needles.is_empty() {
            return Vec::new();
        }
        let has = |recording: &Listed| match Recording::read(&recording.file) {
            Ok(read) => {
                read.problem.is_some() || read.texts().any(|text| needles.iter().any(|needle| text.contains(needle)))
            }
            Err(Problem::Unreadable(_)) => false,
            Err(_) => true,
        };
        self.list(None).into_iter().filter(has).collect()
    }

    /// The recording that the user names: by its name or a part of it, or by the id of a model call.
    ///
    /// # Errors
    ///
    /// There is none, or more than one.
    pub fn find(&self, named: &str) -> Result<Listed> {
        let listed = self.list(None);
        let mut found: Vec<Listed> =
            listed.iter().filter(|recording| recording.name.contains(named)).cloned().collect();
        if found.is_empty() {
            let runs = |recording: &&Listed| {
                RecordingHeader::read(&recording.file)
                    .is_ok_and(|header| header.manifest.runs.iter().any(|run| run.starts_with(named)))
            };
            found = listed.iter().filter(runs).cloned().collect();
        }
        match found.len() {
            1 => found.pop().context("it was there"),
            0 => anyhow::bail!("no recording is named `{named}`; to see them: bub-wasm replay --list"),
            many => anyhow::bail!("`{named}` is a part of {many} names: write more of it"),
        }
    }
}

fn children(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn remove(recording: &Listed) -> bool {
    let removed = match fs::remove_file(&recording.file) {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    // It is left where others are in it.
    if let Some(dir) = recording.file.parent() {
        let _ = fs::remove_dir(dir);
    }
    removed
}

/// The moment as it stands in names: in the order of time.
fn stamp(started_ms: i64) -> String {
    let at = Timestamp::from_millisecond(started_ms).unwrap_or_default();
    format!("{}-{:03}", at.strftime("%Y%m%d-%H%M%S"), started_ms.rem_euclid(1_000))
}

/// The text as it stands in JSON, and in JSON that is a string in JSON, as messages are.
fn nested(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned()];
    for _ in 0..4 {
        let quoted = Value::String(forms.last().cloned().unwrap_or_default()).to_string();
        let inner = quoted[1..quoted.len() - 1].to_owned();
        if forms.contains(&inner) {
            break;
        }
        forms.push(inner);
    }
    forms
}
