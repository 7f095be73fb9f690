//! Time and chance for a call that must give the same answer whenever it is made.

use std::time::Duration;
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// What is random is this, over and over.
const CHANCE: [u8; 32] = *b"what is chosen is chosen by rule";

/// Clocks that stand.
struct Still {
    /// Since 1970.
    at: Duration,
}

impl HostWallClock for Still {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        self.at
    }
}

impl HostMonotonicClock for Still {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
}

/// Lets clocks stand at that moment, and makes chance the same every time.
pub(super) fn hold(wasi: &mut WasiCtxBuilder, at: &jiff::Zoned) {
    let at = at.timestamp().duration_since(jiff::Timestamp::UNIX_EPOCH).unsigned_abs();
    wasi.wall_clock(Still { at });
    wasi.monotonic_clock(Still { at });
    wasi.secure_random(Deterministic::new(CHANCE.to_vec()));
    wasi.insecure_random(Deterministic::new(CHANCE.to_vec()));
    wasi.insecure_random_seed(u128::from_le_bytes([1; 16]));
}
