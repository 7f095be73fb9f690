//! Quotas of tokens: requests are counted here, model tokens in the usage log of the home, sessions and bytes on tapes by
//! the gateway.

use super::token::Bearer;
use super::{Api, ApiError};
use bub_gateway::{HTTP, QuotaAccount, Refusal, Reply, Submission};
use bub_runtime::host::RuntimeEvent;
use bub_runtime::plugin::Caller;
use bub_system::clock;
use jiff::Zoned;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Instant;

/// The token bucket of each token, by its name.
#[derive(Default)]
pub(super) struct RequestCounts(Mutex<HashMap<String, Bucket>>);

/// A token bucket that holds the requests of one minute.
struct Bucket {
    left: f64,
    updated: Instant,
}

impl RequestCounts {
    /// Takes one request of `limit` per minute.
    ///
    /// # Errors
    ///
    /// None is left; the seconds until there is one.
    fn take(&self, name: &str, limit: u64) -> Result<(), u64> {
        let limit = limit as f64;
        let now = Instant::now();
        let mut buckets = self.0.lock();
        let bucket = buckets.entry(name.to_owned()).or_insert(Bucket { left: limit, updated: now });
        let filled = now.duration_since(bucket.updated).as_secs_f64() * limit / 60.0;
        (bucket.left, bucket.updated) = ((bucket.left + filled).min(limit), now);
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err((((1.0 - bucket.left) * 60.0 / limit).ceil() as u64).max(1))
    }
}

impl Bearer {
    /// The caller that quotas and quarantine know the bearer as.
    pub(crate) fn caller(&self) -> Caller {
        Caller::new(self.identity().principal, HTTP, Some(&self.name))
    }

    /// Counts a request.
    ///
    /// # Errors
    ///
    /// The quota of this minute is used up.
    pub(crate) fn take_request(&self, api: &Api) -> Result<(), ApiError> {
        let Some(limit) = self.quota.requests_per_minute else { return Ok(()) };
        api.requests.take(&self.name, limit).map_err(|seconds| self.exceeds(api, "requests_per_minute", limit, seconds))
    }

    /// Checks the quota of model tokens, before the body of a message is read.
    ///
    /// # Errors
    ///
    /// The quota of the day is used up, or the usage log cannot be read.
    pub(crate) async fn check_tokens(&self, api: &Api) -> Result<(), ApiError> {
        let Some(limit) = self.quota.tokens_per_day else { return Ok(()) };
        let used = api.gateway.host().budget.used_by(&self.caller().account).await;
        if used.map_err(|error| ApiError::internal(&error.message))? < limit {
            return Ok(());
        }
        Err(self.exceeds(api, "tokens_per_day", limit, until_midnight(&clock::now())))
    }

    /// The account that the gateway charges the bearer's messages to.
    pub(crate) fn quota_account(&self) -> QuotaAccount {
        QuotaAccount {
            caller: self.caller().account.to_string(),
            sessions: self.quota.sessions,
            bytes_per_day: self.quota.record_mib_per_day.map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
        }
    }

    /// Submits a message to the gateway.
    ///
    /// # Errors
    ///
    /// It was refused.
    pub(crate) async fn submit(&self, api: &Api, submission: Submission) -> Result<Reply, ApiError> {
        api.gateway.submit(submission).await.map_err(|refusal| self.refused(api, refusal))
    }

    /// The error of a refusal, which names the bearer's quota.
    pub(crate) fn refused(&self, api: &Api, refusal: Refusal) -> ApiError {
        match refusal {
            Refusal::Quota(exceeded) => {
                let utc = clock::now().with_time_zone(jiff::tz::TimeZone::UTC);
                self.exceeds(api, exceeded.key, exceeded.limit, until_midnight(&utc))
            }
            refusal => refusal.into(),
        }
    }

    /// Charges bytes that the bearer adds to tapes other than by a message.
    ///
    /// # Errors
    ///
    /// The quota of the day is used up.
    pub(crate) async fn charge_bytes(&self, api: &Api, bytes: usize) -> Result<(), ApiError> {
        let charged = api.gateway.charge_bytes(&self.quota_account(), bytes).await;
        charged.map_err(|refusal| self.refused(api, refusal))
    }

    fn exceeds(&self, api: &Api, key: &'static str, limit: u64, seconds: u64) -> ApiError {
        let caller = self.caller().account.to_string();
        api.gateway.host().events.publish(RuntimeEvent::QuotaExceeded { caller, quota: key }, &self.session_prefix);
        ApiError::quota(
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
