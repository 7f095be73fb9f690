//! What a token may take: requests are counted in this process, tokens of models in the account of the home, sessions and
//! bytes of records by the gateway.

use super::token::Bearer;
use super::{Api, Problem};
use bub_gateway::{Counted, HTTP, Letter, Refusal, Reply};
use bub_runtime::host::RuntimeEvent;
use bub_runtime::plugin::Caller;
use jiff::Zoned;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Requests of each token, by its name: as many as the configuration has tokens.
#[derive(Default)]
pub(super) struct RequestCounts(Mutex<HashMap<String, Bucket>>);

/// A bucket that holds the requests of a minute and fills up again in one.
struct Bucket {
    left: f64,
    at: Instant,
}

impl RequestCounts {
    /// Takes one request of `limit` in a minute.
    ///
    /// # Errors
    ///
    /// None is left: in how many seconds there will be one.
    fn take(&self, name: &str, limit: u64) -> Result<(), u64> {
        let limit = limit as f64;
        let now = Instant::now();
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(name.to_owned()).or_insert(Bucket { left: limit, at: now });
        let filled = now.duration_since(bucket.at).as_secs_f64() * limit / 60.0;
        (bucket.left, bucket.at) = ((bucket.left + filled).min(limit), now);
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err((((1.0 - bucket.left) * 60.0 / limit).ceil() as u64).max(1))
    }
}

impl Bearer {
    /// Whose messages the bearer's are, to quotas and quarantine.
    pub fn caller(&self) -> Caller {
        Caller::new(self.speaker().principal, HTTP, Some(&self.name))
    }

    /// Counts a request.
    ///
    /// # Errors
    ///
    /// The token has none left in this minute.
    pub fn take_request(&self, api: &Api) -> Result<(), Problem> {
        let Some(limit) = self.quota.requests_per_minute else { return Ok(()) };
        api.requests.take(&self.name, limit).map_err(|seconds| self.exceeds(api, "requests_per_minute", limit, seconds))
    }

    /// Whether a message of the bearer's may have a turn: looked at before its body is read.
    ///
    /// # Errors
    ///
    /// The day's tokens are used up, or they cannot be counted.
    pub fn check_tokens(&self, api: &Api) -> Result<(), Problem> {
        let Some(limit) = self.quota.tokens_per_day else { return Ok(()) };
        let used = api.gateway.host().budget.used_by(&self.caller().account);
        if used.map_err(|error| Problem::internal(&error.message))? < limit {
            return Ok(());
        }
        Err(self.exceeds(api, "tokens_per_day", limit, until_midnight(&Zoned::now())))
    }

    /// What the gateway counts of the bearer's messages.
    pub fn counted(&self) -> Counted {
        Counted {
            caller: self.caller().account.to_string(),
            sessions: self.quota.sessions,
            bytes_per_day: self.quota.record_mib_per_day.map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
        }
    }

    /// Hands a message of the bearer's to the gateway.
    ///
    /// # Errors
    ///
    /// Why it was not taken.
    pub async fn hand_over(&self, api: &Api, letter: Letter) -> Result<Reply, Problem> {
        api.gateway.take(letter).await.map_err(|refusal| match refusal {
            Refusal::Quota(exceeded) => {
                let utc = Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC);
                self.exceeds(api, exceeded.key, exceeded.limit, until_midnight(&utc))
            }
            refusal => refusal.into(),
        })
    }

    fn exceeds(&self, api: &Api, key: &'static str, limit: u64, seconds: u64) -> Problem {
        let caller = self.caller().account.to_string();
        api.gateway.host().news.tell(RuntimeEvent::QuotaExceeded { caller, quota: key }, &self.reach);
        Problem::quota(
            format!("token `{}` has used up its quota `{key}` of {limit}; the owner sets it in config.toml", self.name),
            seconds,
        )
    }
}

fn until_midnight(now: &Zoned) -> u64 {
    let midnight = now.tomorrow().and_then(|tomorrow| tomorrow.start_of_day());
    let seconds = midnight.and_then(|midnight| (&midnight - now).total(jiff::Unit::Second)).unwrap_or(60.0);
    (seconds.ceil() as u64).max(1)
}
