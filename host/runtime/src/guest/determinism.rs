//! Time and chance for a call that must give the same answer whenever it is made.

use crate::plugin::recording::CallRecording;
use parking_lot::Mutex;
use rand_core::TryRng;
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
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

/// The call whose recording clocks and random numbers belong to: another one when an instance is used again.
#[derive(Clone)]
pub(super) struct Ambient(Arc<Mutex<CallRecording>>);

impl Ambient {
    pub(super) fn new(recording: &CallRecording) -> Self {
        Self(Arc::new(Mutex::new(recording.clone())))
    }

    pub(super) fn set(&self, recording: &CallRecording) {
        self.0.lock().clone_from(recording);
    }

    fn recording(&self) -> CallRecording {
        self.0.lock().clone()
    }
}

/// The wall clock of a call that is recorded or played back.
struct RecordedWall(Ambient);

impl HostWallClock for RecordedWall {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Duration::try_from_secs_f64(self.0.recording().clock(now.as_secs_f64())).unwrap_or(now)
    }
}

/// Its monotonic clock.
struct RecordedMonotonic {
    ambient: Ambient,
    began: Instant,
}

impl HostMonotonicClock for RecordedMonotonic {
    fn resolution(&self) -> u64 {
        1
    }

    // Not 0: the runtime of Go takes that for a clock that does not work.
    fn now(&self) -> u64 {
        let now = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
        self.ambient.recording().monotonic(now)
    }
}

/// Random numbers that follow from the seed of the recorded call: SHA-256 of the seed and of 0, 1, 2 and so on.
struct RecordedRandom {
    ambient: Ambient,
    seed: String,
    /// The number of the next block.
    next: u32,
    block: [u8; 32],
    /// How many bytes of the block are used.
    used: usize,
}

impl RecordedRandom {
    fn new(ambient: &Ambient) -> Self {
        Self { ambient: ambient.clone(), seed: String::new(), next: 0, block: [0; 32], used: 32 }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        let seed = self.ambient.recording().random();
        if seed != self.seed {
            (self.seed, self.next, self.used) = (seed, 0, self.block.len());
        }
        for byte in bytes {
            if self.used == self.block.len() {
                self.block = block(&self.seed, self.next);
                (self.next, self.used) = (self.next.wrapping_add(1), 0);
            }
            *byte = self.block[self.used];
            self.used += 1;
        }
    }
}

fn block(seed: &str, number: u32) -> [u8; 32] {
    Sha256::new().chain_update(seed).chain_update(number.to_le_bytes()).finalize().into()
}

impl TryRng for RecordedRandom {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_be_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_be_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes);
        Ok(())
    }
}

/// Records the clocks, and derives chance from what the recording holds. A guest waits by the time of this machine.
pub(super) fn record(wasi: &mut WasiCtxBuilder, ambient: &Ambient) {
    wasi.wall_clock(RecordedWall(ambient.clone()));
    wasi.monotonic_clock(RecordedMonotonic { ambient: ambient.clone(), began: Instant::now() });
    let first = block(&ambient.recording().random(), 0);
    wasi.insecure_random_seed(u128::from_le_bytes(std::array::from_fn(|at| first[at])));
    wasi.secure_random(RecordedRandom::new(ambient));
    wasi.insecure_random(RecordedRandom::new(ambient));
}
