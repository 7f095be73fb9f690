//! The limits of a fuzz tier, from the environment.

use std::env;
use std::time::{Duration, Instant};

/// How long a fuzz tier runs, and its first seed.
pub struct Budget {
    started: Instant,
    duration: Duration,
    /// The first seed: `BUB_FUZZ_SEED`, or the tier's own.
    pub first_seed: u64,
}

impl Budget {
    /// Reads `BUB_FUZZ_SECONDS` (60 if unset) and `BUB_FUZZ_SEED` (`first_seed` if unset). The time starts now.
    ///
    /// # Panics
    ///
    /// If a variable is set to anything but a number.
    pub fn from_environment(first_seed: u64) -> Self {
        let number = |name: &str, default| {
            let parse = |text: String| text.parse().unwrap_or_else(|_| panic!("`{name}` must be a number"));
            env::var(name).map_or(default, parse)
        };
        let duration = Duration::from_secs(number("BUB_FUZZ_SECONDS", 60));
        Self { started: Instant::now(), duration, first_seed: number("BUB_FUZZ_SEED", first_seed) }
    }

    /// Whether there is time for more.
    pub fn is_left(&self) -> bool {
        self.started.elapsed() < self.duration
    }
}
