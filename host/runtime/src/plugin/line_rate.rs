//! How often lines that plugins write go to the log.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Lines of one plugin that go to the log at once, and how soon there may be one more.
const BURST: u32 = 200;
const EACH: Duration = Duration::from_millis(50);

/// How often lines of one plugin may go to the log, whatever calls they are of.
pub(crate) struct LineRate(Mutex<Rate>);

struct Rate {
    left: u32,
    since: Instant,
    missed: u64,
}

impl Default for LineRate {
    fn default() -> Self {
        Self(Mutex::new(Rate { left: BURST, since: Instant::now(), missed: 0 }))
    }
}

impl LineRate {
    /// Whether there may be one more now, and how many there were meanwhile that could not be.
    pub(crate) fn take(&self) -> Option<u64> {
        let mut rate = self.0.lock();
        let more = u32::try_from(rate.since.elapsed().as_millis() / EACH.as_millis()).unwrap_or(BURST).min(BURST);
        if more > 0 {
            rate.left = (rate.left + more).min(BURST);
            rate.since = Instant::now();
        }
        if rate.left == 0 {
            rate.missed += 1;
            return None;
        }
        rate.left -= 1;
        Some(std::mem::take(&mut rate.missed))
    }
}
