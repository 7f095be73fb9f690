//! Time and chance for a call that must give the same answer whenever it is made.

use crate::plugin::recording::CallRecording;
use sha2::{Digest, Sha256};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// The random bytes, repeated without end.
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

    // Not 0: the runtime of Go takes that for a clock that does not work.
    fn now(&self) -> u64 {
        1
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

/// Random bytes of a recorded call, before they repeat.
const RECORDED_RANDOM: u32 = 64 << 10;

/// The wall clock of a call that is recorded or played back.
struct Recorded(CallRecording);

impl HostWallClock for Recorded {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Duration::try_from_secs_f64(self.0.clock(now.as_secs_f64())).unwrap_or(now)
    }
}

/// Records the wall clock, and derives chance from what the recording holds. The monotonic clock goes on: guests wait by it.
pub(super) fn record(wasi: &mut WasiCtxBuilder, recording: &CallRecording) {
    wasi.wall_clock(Recorded(recording.clone()));
    let seed = recording.random();
    let blocks = 0..RECORDED_RANDOM / 32;
    let bytes: Vec<u8> = blocks
        .flat_map(|block| Sha256::new().chain_update(&seed).chain_update(block.to_le_bytes()).finalize())
        .collect();
    wasi.insecure_random_seed(u128::from_le_bytes(std::array::from_fn(|at| bytes[at])));
    wasi.secure_random(Deterministic::new(bytes.clone()));
    wasi.insecure_random(Deterministic::new(bytes));
}
