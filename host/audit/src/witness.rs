//! What a witness has of the signed heads: a witness is elsewhere, so that an end that was cut off here is still there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::heads::HEADS;
use super::keys::AuditFolder;

/// What became of the deliveries.
const STATE: &str = "witness.json";

/// Bytes of one delivery.
const MAX_BYTES: u64 = 256 << 10;

/// The deliveries to a witness so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witnessed {
    /// The witness, as the configuration names it.
    pub witness: String,
    /// Bytes of the signed heads that it has.
    pub bytes: u64,
    /// Lines that it has.
    pub lines: u64,
    /// When it got the latest.
    #[serde(default)]
    pub at: Option<String>,
    /// When it did not take them last, and why; none since it has.
    #[serde(default)]
    pub failed: Option<Failed>,
}

/// A delivery that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// When.
    pub at: String,
    /// Seconds since 1970.
    pub seconds: u64,
    /// Why.
    pub why: String,
}

/// Lines to deliver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The text, with line ends.
    pub text: String,
    /// Their number.
    pub count: u64,
}

/// A delivery that is made: no other process makes one meanwhile.
pub struct Delivery {
    folder: AuditFolder,
    state: Witnessed,
    /// Bytes of the lines that are on their way.
    under_way: u64,
    _lock: File,
}

impl AuditFolder {
    /// The deliveries to the latest witness; nothing without one.
    pub fn witnessed(&self) -> Witnessed {
        let text = fs::read(self.dir.join(STATE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Whether a line of the signed heads ends behind so many bytes.
    fn is_line_end(&self, bytes: u64) -> io::Result<bool> {
        let Some(last) = bytes.checked_sub(1) else { return Ok(true) };
        let mut byte = [0];
        let mut file = File::open(self.dir.join(HEADS))?;
        file.seek(SeekFrom::Start(last))?;
        file.read_exact(&mut byte)?;
        Ok(byte == *b"\n")
    }

    /// Begins a delivery to that witness; `None`: nothing was signed yet, or another process delivers.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn delivery(&self, witness: &str) -> io::Result<Option<Delivery>> {
        let signed = match fs::metadata(self.dir.join(HEADS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            signed => signed?.len(),
        };
        let path = self.dir.join("witness.lock");
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        let mut state = self.witnessed();
        if state.witness != witness {
            state = Witnessed { witness: witness.to_owned(), ..Witnessed::default() };
        }
        // What was cut off here since is still there.
        state.bytes = state.bytes.min(signed);
        if !self.is_line_end(state.bytes)? {
            // Other lines are there by now. The witness says what it has of them.
            state.bytes = 0;
        }
        Ok(Some(Delivery { folder: self.clone(), state, under_way: 0, _lock: lock }))
    }
}

impl Delivery {
    /// Whether the witness did not take the heads less than that ago.
    pub fn has_failed_within(&self, pause: Duration) -> bool {
        self.state.failed.as_ref().is_some_and(|failed| now().saturating_sub(failed.seconds) < pause.as_secs())
    }

    /// The next lines that the witness does not have.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub fn next_lines(&mut self) -> io::Result<Option<Lines>> {
        let mut file = File::open(self.folder.dir.join(HEADS))?;
        file.seek(SeekFrom::Start(self.state.bytes))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        if bytes.is_empty() {
            return Ok(None);
        }
        self.under_way = bytes.len() as u64;
        let count = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok(Some(Lines { text: String::from_utf8_lossy(&bytes).into_owned(), count }))
    }

    /// The witness has taken the lines.
    ///
    /// # Errors
    ///
    /// That cannot be written down.
    pub fn delivered(&mut self, count: u64) -> io::Result<()> {
        self.state.bytes += std::mem::take(&mut self.under_way);
        self.state.lines += count;
        self.state.at = Some(bub_tape::now());
        self.state.failed = None;
        self.save()
    }

    /// The witness has not taken them.
    ///
    /// # Errors
    ///
    /// That cannot be written down.
    pub fn failed(&mut self, why: &str) -> io::Result<()> {
        self.state.failed = Some(Failed { at: bub_tape::now(), seconds: now(), why: why.to_owned() });
        self.save()
    }

    fn save(&self) -> io::Result<()> {
        let draft = self.folder.dir.join("witness.new");
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(&serde_json::to_vec(&self.state)?)?;
        fs::rename(draft, self.folder.dir.join(STATE))
    }
}

/// Appends lines to the file of a witness.
///
/// # Errors
///
/// It cannot be written.
pub fn append_lines(path: &Path, lines: &str) -> anyhow::Result<()> {
    let failed = |error: io::Error| anyhow::anyhow!("`{}`: {error}", path.display());
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(lines.as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
