//! The clock by which the holder of a lease counts.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Goes on while the machine is suspended, unlike [`Instant`](std::time::Instant) on Linux: the database's clock does too.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;

/// Goes on while the machine is suspended, here.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// The time since some moment before the process began. Never goes back.
pub(super) fn now() -> Duration {
    let now = clock_gettime(CLOCK);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or_default(), u32::try_from(now.tv_nsec).unwrap_or_default())
}
