//! The state of a lease as its holder knows it.

use std::time::Duration;

/// The times of leases, the same in all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long a claim or a renewal lasts.
    pub lease: Duration,
    /// How long after a claim or a renewal the next renewal is sent.
    pub renewal: Duration,
}

impl Default for Terms {
    /// 30 seconds, renewed every 10: two renewals may fail.
    fn default() -> Self {
        Self { lease: Duration::from_secs(30), renewal: Duration::from_secs(10) }
    }
}

impl Terms {
    /// The lease in milliseconds, as the database counts it.
    pub(crate) fn milliseconds(self) -> f64 {
        self.lease.as_secs_f64() * 1000.0
    }
}

/// The state of a lease at its holder. Times are those of any clock of the holder's that never goes back.
///
/// The database counts the lease from a moment between the request and its answer; the holder counts it from before the
/// request. So the holder's time is over first, whatever the network delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    terms: Terms,
    /// When the last request that succeeded was sent.
    asked: Duration,
    is_lost: bool,
}

impl Held {
    /// After a claim that was sent at `asked`.
    pub fn claimed(terms: Terms, asked: Duration) -> Self {
        Self { terms, asked, is_lost: false }
    }

    /// After the answer to a renewal that was sent at `asked`: whether it matched.
    pub fn answered(&mut self, asked: Duration, matched: bool) {
        if matched {
            self.asked = self.asked.max(asked);
        } else {
            self.is_lost = true;
        }
    }

    /// Whether no other holder can have the lease.
    pub fn is_valid(&self, now: Duration) -> bool {
        !self.left(now).is_zero()
    }

    /// How long that will be so without another renewal.
    pub fn left(&self, now: Duration) -> Duration {
        if self.is_lost { Duration::ZERO } else { (self.asked + self.terms.lease).saturating_sub(now) }
    }

    /// When the next renewal is to be sent.
    pub fn next_renewal(&self) -> Duration {
        self.asked + self.terms.renewal
    }
}
