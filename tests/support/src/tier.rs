//! How much of a long test runs.

/// Whether long tests run in full: `BUB_TESTS=full`, as `.ci/run` sets it. Otherwise they run on a sample.
pub fn is_full() -> bool {
    std::env::var("BUB_TESTS").is_ok_and(|value| value == "full")
}

/// `full` in a full run, else `sample`.
pub fn in_full<T>(full: T, sample: T) -> T {
    if is_full() { full } else { sample }
}
