//! Random ids of traces and spans.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of this process: a random beginning, and a step for each.
static STATE: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(seed()));

/// The step of splitmix64: with it the generator meets each number once in 2^64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The id of a span; never 0.
pub(crate) fn span_id() -> u64 {
    loop {
        // The finalizer of splitmix64.
        let mut mixed = STATE.fetch_add(STEP, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        if mixed != 0 {
            return mixed;
        }
    }
}

/// The id of a trace; never 0.
pub(crate) fn trace_id() -> u128 {
    (u128::from(span_id()) << 64) | u128::from(span_id())
}

fn seed() -> u64 {
    let mut bytes = [0; 8];
    match getrandom::fill(&mut bytes) {
        Ok(()) => u64::from_ne_bytes(bytes),
        // Ids need to differ, and hide nothing.
        Err(_) => RandomState::new().build_hasher().finish(),
    }
}
