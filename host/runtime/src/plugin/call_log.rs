//! The call log of `plugin dev`: while it listens to a plugin, each process of the same home appends a JSON line for each
//! call into that plugin, and for each line that the plugin logs.
//!
//! The listener owns the file `dev/NAME.jsonl` of the home and holds an exclusive lock on it. Without the lock no
//! process reads, and nothing is written.

use super::{Plugin, Source};
use bub_system::files::make_private_dir;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory of call logs in the home.
const DIR: &str = "dev";

/// The longest log, in bytes. Later lines are dropped, because the listener has stopped reading.
const MAX_LOG: u64 = 16 << 20;

/// How often the listener's lock is tried.
const LOCK_ATTEMPTS: u32 = 20;

/// The time between two attempts.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// Writes call logs.
#[derive(Debug)]
pub struct CallLog {
    dir: PathBuf,
}

/// A log that a process listens to.
pub(crate) struct OpenLog(File);

impl CallLog {
    /// The logs of a home.
    pub(crate) fn new(home: &Path) -> Self {
        Self { dir: home.join(DIR) }
    }

    /// The log of the plugin, if a process listens. Embedded guests have none.
    pub(crate) fn open(&self, plugin: &Plugin) -> Option<OpenLog> {
        if plugin.source == Source::Embedded {
            return None;
        }
        let file = options().append(true).open(path(&self.dir, &plugin.name)).ok()?;
        let is_heard = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let has_room = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() < MAX_LOG);
        (is_heard && has_room).then_some(OpenLog(file))
    }

    /// Whether a process listens to the plugin.
    pub(crate) fn is_heard(&self, plugin: &Plugin) -> bool {
        self.open(plugin).is_some()
    }

    /// Adds a line that the plugin logs or prints, if a process listens; otherwise `text` is not made. `level`: of the log,
    /// or `output`.
    pub(crate) fn line(&self, plugin: &Plugin, level: &str, text: impl FnOnce() -> String) {
        if let Some(log) = self.open(plugin) {
            log.write(&json!({ "level": level, "text": text() }));
        }
    }
}

impl OpenLog {
    /// Appends a line. A line that cannot be written is lost: the call does not depend on it.
    pub(crate) fn write(&self, line: &Value) {
        // In one write, so that lines of several processes do not mix.
        let _ = (&self.0).write_all(format!("{line}\n").as_bytes());
    }
}

/// The listener's end of a call log. The log is removed when it is dropped.
#[derive(Debug)]
pub struct CallLogReader {
    file: File,
    path: PathBuf,
    /// The bytes of an incomplete line.
    rest: Vec<u8>,
}

impl CallLogReader {
    /// Listens to the calls into the plugin of that name, in all processes of that home.
    ///
    /// # Errors
    ///
    /// The log cannot be made, or another process listens to that plugin.
    pub fn listen(home: &Path, name: &str) -> io::Result<Self> {
        let dir = home.join(DIR);
        make_private_dir(&dir)?;
        let path = path(&dir, name);
        let file = options().read(true).write(true).create(true).mode(0o600).open(&path)?;
        lock(&file)?;
        file.set_len(0)?;
        Ok(Self { file, path, rest: Vec::new() })
    }

    /// The lines since the last call, and empties the log once all of it was read.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read(&mut self) -> io::Result<Vec<Value>> {
        use std::io::{Read, Seek, SeekFrom};
        self.file.read_to_end(&mut self.rest)?;
        let mut lines = Vec::new();
        while let Some(end) = memchr::memchr(b'\n', &self.rest) {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            lines.extend(serde_json::from_slice::<Value>(&line).ok());
        }
        // Lines that are appended between the two calls are lost only if the log is as long as this.
        if self.rest.is_empty() && self.file.stream_position()? > MAX_LOG / 2 {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
        }
        Ok(lines)
    }
}

impl Drop for CallLogReader {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Takes the listener's lock. Processes that look for a listener hold theirs for a moment.
fn lock(file: &File) -> io::Result<()> {
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("another process listens to its calls"))
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // Neither follows a link nor waits for the reader of a pipe.
    options.custom_flags((rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed());
    options
}

/// The names of plugins are names of files.
fn path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.jsonl"))
}
