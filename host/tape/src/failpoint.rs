//! Fail points between the steps of the storage protocol, for tests.
//!
//! `BUB_FAILPOINT` is a comma-separated list of steps. At `STEP` the process aborts; `STEP#3` means its third
//! execution. For a step that writes, `STEP@17` aborts after 17 bytes, and `STEP@17!` fails with a full disk after 17
//! bytes; `STEP@-1` leaves out the last byte. `STEP~` loops for ever. Release builds have no fail points.

use std::fs::File;
use std::io;

/// Aborts here, if `BUB_FAILPOINT` says so.
pub fn point(name: &str) {
    if let Some(cut) = plan::triggered(name) {
        cut.end();
    }
}

/// Runs an operation that can fail with a full disk.
pub(super) fn run<T>(name: &str, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match plan::triggered(name) {
        Some(cut) if cut.refuses => Err(cut.refusal()),
        Some(cut) => cut.end(),
        None => act(),
    }
}

/// Writes to `file` at `offset`.
pub(super) fn write(name: &str, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let Some(cut) = plan::triggered(name) else {
        return file.write_all_at(bytes, offset);
    };
    let part = bytes.get(..cut.written(bytes.len())).unwrap_or_default();
    file.write_all_at(part, offset)?;
    if cut.refuses { Err(cut.refusal()) } else { cut.end() }
}

pub(super) struct FailAction {
    /// Bytes to write; negative: bytes to leave out at the end.
    bytes: isize,
    refuses: bool,
    hangs: bool,
}

impl FailAction {
    /// How many of `length` bytes are written.
    fn written(&self, length: usize) -> usize {
        let bytes = self.bytes.unsigned_abs();
        if self.bytes < 0 { length.saturating_sub(bytes) } else { bytes.min(length) }
    }

    fn end(&self) -> ! {
        if self.hangs {
            loop {
                std::hint::spin_loop();
            }
        }
        std::process::abort()
    }

    fn refusal(&self) -> io::Error {
        io::ErrorKind::StorageFull.into()
    }
}

#[cfg(debug_assertions)]
mod plan {
    use super::FailAction;
    use parking_lot::Mutex;
    use std::collections::HashMap;
    use std::sync::LazyLock;

    /// The configured steps: name, occurrence, action.
    static PLAN: LazyLock<Vec<(String, u32, FailAction)>> = LazyLock::new(|| {
        let plan = std::env::var("BUB_FAILPOINT").unwrap_or_default();
        plan.split(',').filter(|step| !step.is_empty()).map(parse).collect()
    });

    static COUNTS: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);

    fn parse(step: &str) -> (String, u32, FailAction) {
        let (step, hangs) = step.strip_suffix('~').map_or((step, false), |step| (step, true));
        let (step, time) = step.split_once('#').unwrap_or((step, "1"));
        let (name, bytes) = step.split_once('@').unwrap_or((step, "0"));
        let count = bytes.trim_end_matches('!').parse().unwrap_or(0);
        let cut = FailAction { bytes: count, refuses: bytes.ends_with('!'), hangs };
        (name.to_owned(), time.parse().unwrap_or(1), cut)
    }

    pub(super) fn triggered(name: &str) -> Option<&'static FailAction> {
        if PLAN.is_empty() {
            return None;
        }
        let mut counts = COUNTS.lock();
        let times = counts.get_or_insert_with(HashMap::new).entry(name.to_owned()).or_default();
        *times += 1;
        let times = *times;
        PLAN.iter().find(|(step, time, _)| step == name && *time == times).map(|(_, _, cut)| cut)
    }
}

#[cfg(not(debug_assertions))]
mod plan {
    pub(super) fn triggered(_: &str) -> Option<&'static super::FailAction> {
        None
    }
}
