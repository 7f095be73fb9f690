//! Retry policy.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Maximum requests to one model.
pub(crate) const REQUESTS: u32 = 3;

/// Maximum pause, unless a server asks for a longer one.
const MAX_PAUSE: Duration = Duration::from_secs(8);

/// Maximum pause, also if a server asks for a longer one.
const MAX_ASKED: Duration = Duration::from_secs(60);

/// Whether a retry after `status` may succeed.
pub(crate) fn is_passing(status: u16) -> bool {
    status == 429 || status >= 500
}

/// The pause after `failed` (at least one) failed requests: what the server asked for, otherwise exponential backoff
/// from `base`.
pub(crate) fn pause(base: Duration, failed: u32, asked: Option<Duration>) -> Duration {
    if let Some(asked) = asked {
        return asked.min(MAX_ASKED);
    }
    let doubled = base.saturating_mul(2_u32.saturating_pow(failed.saturating_sub(1)));
    // Jitter of up to a quarter.
    let random = RandomState::new().hash_one(failed) % 1_000;
    doubled.min(MAX_PAUSE).mul_f64(1.0 - random as f64 / 4_000.0)
}

/// The delay that a `Retry-After` asks for: seconds or a date.
pub(crate) fn asked(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    // A date in the past means no pause.
    Some(Duration::try_from(date.duration_since(Timestamp::now())).unwrap_or_default())
}
