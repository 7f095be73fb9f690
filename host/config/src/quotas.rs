//! `[quotas]`: limits per caller. A caller is a token, or a sender of a channel.

use super::file::positive;
use anyhow::Result;
use bub_types::Principal;
use serde::Deserialize;

/// Limits of one caller. `None`: unlimited, or for a token the limit of its principal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quota {
    /// Requests over HTTP in a minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens of the model calls of the caller's turns in a day, local time.
    pub tokens_per_day: Option<u64>,
    /// Sessions that the caller may start over HTTP.
    pub sessions: Option<u64>,
    /// Mebibytes that the caller may add to tapes over HTTP in a day, UTC: messages, attachments and answers.
    pub record_mib_per_day: Option<u64>,
}

/// Default limits of anonymous callers.
const ANONYMOUS: Quota = Quota {
    requests_per_minute: Some(60),
    tokens_per_day: Some(200_000),
    sessions: Some(64),
    record_mib_per_day: Some(64),
};

/// `[quotas.owner]`, `[quotas.peer]` and `[quotas.anonymous]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quotas {
    owner: Quota,
    peer: Quota,
    anonymous: Quota,
}

impl Quota {
    /// This quota, with missing limits taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            requests_per_minute: self.requests_per_minute.or(other.requests_per_minute),
            tokens_per_day: self.tokens_per_day.or(other.tokens_per_day),
            sessions: self.sessions.or(other.sessions),
            record_mib_per_day: self.record_mib_per_day.or(other.record_mib_per_day),
        }
    }

    pub(super) fn check(&self, table: &str) -> Result<()> {
        let limits = [
            ("requests_per_minute", self.requests_per_minute),
            ("tokens_per_day", self.tokens_per_day),
            ("sessions", self.sessions),
            ("record_mib_per_day", self.record_mib_per_day),
        ];
        let set = limits.into_iter().filter_map(|(key, limit)| Some((key, limit?)));
        set.into_iter().try_for_each(|(key, limit)| positive(&format!("{table}.{key}"), limit))
    }
}

impl Quotas {
    /// The quota of callers with that principal.
    pub fn for_principal(&self, principal: Principal) -> Quota {
        match principal {
            Principal::Owner | Principal::Schedule => self.owner,
            Principal::Peer => self.peer,
            Principal::Anonymous => self.anonymous.or(ANONYMOUS),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        self.owner.check("quotas.owner")?;
        self.peer.check("quotas.peer")?;
        self.anonymous.check("quotas.anonymous")
    }
}
