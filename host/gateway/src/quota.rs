//! Quotas of HTTP callers: sessions that they have started, and bytes that they have added to tapes today.

/// A quota that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaExceeded {
    /// Its key in the configuration.
    pub key: &'static str,
    /// Its value.
    pub limit: u64,
}

impl QuotaExceeded {
    /// The quota of sessions.
    pub(crate) fn sessions(limit: u64) -> Self {
        Self { key: "sessions", limit }
    }

    /// The quota of bytes, whose configuration is in MiB.
    pub(crate) fn bytes(limit: u64) -> Self {
        Self { key: "record_mib_per_day", limit: limit >> 20 }
    }
}

/// The caller that a message is charged to, and its quotas of sessions and bytes.
#[derive(Debug, Clone)]
pub struct QuotaAccount {
    /// The caller's name in quarantine and in the usage log.
    pub caller: String,
    /// Sessions that the caller may start; `None`: unlimited.
    pub sessions: Option<u64>,
    /// Bytes that the caller may add to tapes per day; `None`: unlimited.
    pub bytes_per_day: Option<u64>,
}

/// Days since 1970, UTC: independent of the local time zone.
pub(crate) fn today() -> i64 {
    jiff::Timestamp::now().as_second() / 86_400
}
