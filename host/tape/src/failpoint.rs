//! Where a test may cut the storage protocol, between any two of its steps.
//!
//! `BUB_FAILPOINT` names a step, or several apart by commas. At `STEP` the process ends as a crash ends it; `STEP#3`
//! means the third time. A step that writes takes `STEP@17`, which ends the process when 17 bytes are written, and
//! `STEP@17!`, which writes 17 bytes and then says that the disk is full; `STEP@-1` leaves out the last byte. `STEP~`
//! loops for ever. Release builds know no such steps.

use std::fs::File;
use std::io;

/// Ends the process here, if that is asked.
pub fn point(name: &str) {
    if let Some(cut) = plan::triggered(name) {
        cut.end();
    }
}

/// Does something that a full disk may refuse.
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
    /// Below zero: so many are left out at the end.
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

    /// Each step that is asked for, with the time that is meant.
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
