//! Notes that a file of compiled code was checked: to read all of it at each start would take a tenth of a short turn.
//!
//! A note holds while the file is untouched: its change time, which no program can set, moves with every write, and a new
//! boot begins without notes, because a crash of the system can lose pages that were written before. The note is also the
//! time of the last use, so that the file itself stays as it is.

use super::private::PrivateDir;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::LazyLock;
use std::time::SystemTime;

/// The suffix of a note behind the name of its file.
pub(super) const CHECKED: &str = ".checked";

/// The longest note, in bytes.
const MAX_NOTE: u64 = 512;

/// The name of this boot; empty where the system has none, and then nothing is noted.
static BOOT: LazyLock<String> = LazyLock::new(|| {
    let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    name.trim().to_owned()
});

/// The state of a file at a moment.
#[derive(PartialEq, Eq)]
pub(super) struct Checked(String);

impl Checked {
    /// The state of an open file; `None` where it cannot be told apart from another one.
    pub(super) fn of(file: &File) -> Option<Self> {
        let meta = file.metadata().ok().filter(|_| !BOOT.is_empty())?;
        let state = [meta.dev(), meta.ino(), meta.size()].map(|number| number.to_string()).join(" ");
        Some(Self(format!("{} {state} {}.{}", *BOOT, meta.ctime(), meta.ctime_nsec())))
    }

    /// Whether the file of that name was checked in this state. Its note then says that it is used now.
    pub(super) fn is_noted(&self, dir: &PrivateDir, name: &str) -> bool {
        let note = format!("{name}{CHECKED}");
        if dir.read(&note, MAX_NOTE).is_none_or(|noted| noted != self.0.as_bytes()) {
            return false;
        }
        // The file used last is removed last. A failure costs no more than that order.
        let _ = dir.file(&note).map(|note| note.set_modified(SystemTime::now()));
        true
    }

    /// Notes that the file of that name was checked in this state.
    pub(super) fn note(&self, dir: &PrivateDir, name: &str) {
        if let Err(error) = dir.write(&format!("{name}{CHECKED}"), &[self.0.as_bytes()]) {
            tracing::debug!("`{name}` is checked again the next time: {error}");
        }
    }
}
