//! The memory that bodies of requests may take, over all connections: one budget for callers that the configuration trusts,
//! and a small one for all others, so that a stranger's bodies never displace the owner's.

use super::super::Problem;
use super::super::token::Bearer;
use axum::http::StatusCode;
use bub_config::Serve;
use bub_types::text::bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which budget a body is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerClass {
    /// A token of the owner or a peer.
    Trusted,
    /// A token of an anonymous principal, or none: webhooks of channels.
    Unknown,
}

impl CallerClass {
    pub fn of(bearer: &Bearer) -> Self {
        if bearer.is_trusted() { Self::Trusted } else { Self::Unknown }
    }
}

/// Bytes of bodies that are held at this moment.
#[derive(Default)]
pub(crate) struct BodyBudget {
    trusted: Arc<AtomicUsize>,
    unknown: Arc<AtomicUsize>,
}

/// Bytes that are charged to a budget until this is dropped.
pub(crate) struct BodyCharge {
    used: Arc<AtomicUsize>,
    bytes: usize,
    limit: usize,
}

impl BodyBudget {
    /// A charge of nothing yet, within what the configuration allows such callers now.
    pub fn charge(&self, class: CallerClass, settings: &Serve) -> BodyCharge {
        let (used, mebibytes) = match class {
            CallerClass::Trusted => (&self.trusted, settings.body_budget_mib),
            CallerClass::Unknown => (&self.unknown, settings.unknown_body_budget_mib),
        };
        BodyCharge { used: Arc::clone(used), bytes: 0, limit: mebibytes.saturating_mul(1 << 20) }
    }

    /// Bytes that trusted callers' bodies take now, and those of all others.
    pub fn used(&self) -> (usize, usize) {
        (self.trusted.load(Ordering::Relaxed), self.unknown.load(Ordering::Relaxed))
    }
}

impl BodyCharge {
    /// The largest body that ever fits.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Refuses a body whose declared length does not fit now, before any of it is read. Nothing is reserved: a head alone
    /// must not take room from bodies that arrive.
    ///
    /// # Errors
    ///
    /// The budget has no such room now.
    pub fn has_room(&self, length: usize) -> Result<(), Problem> {
        let used = self.used.load(Ordering::Relaxed);
        if used.saturating_add(length) > self.limit { Err(self.exhausted()) } else { Ok(()) }
    }

    /// Makes it a charge of that many bytes in all.
    ///
    /// # Errors
    ///
    /// The budget has no room for more: then the charge stays as it was.
    pub fn grow_to(&mut self, length: usize) -> Result<(), Problem> {
        let Some(more) = length.checked_sub(self.bytes) else { return Ok(()) };
        let grown = |used: usize| used.checked_add(more).filter(|used| *used <= self.limit);
        if self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_err() {
            return Err(self.exhausted());
        }
        self.bytes = length;
        Ok(())
    }

    /// What is answered to a body for which there is no memory now.
    pub fn exhausted(&self) -> Problem {
        let limit = bytes(self.limit as u64);
        let message =
            format!("the bodies of other requests take all of the {limit} there are for them; try again in a moment");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }
}

impl Drop for BodyCharge {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
