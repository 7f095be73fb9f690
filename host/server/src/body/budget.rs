//! The memory budgets of request bodies, over all connections: one for trusted callers, and a small one for all others, so
//! that anonymous bodies never displace the owner's.

use super::super::ApiError;
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
    /// A token of an anonymous principal, or a webhook, which has none.
    Unknown,
}

impl CallerClass {
    pub(crate) fn from_bearer(bearer: &Bearer) -> Self {
        if bearer.is_trusted() { Self::Trusted } else { Self::Unknown }
    }
}

/// Bytes of bodies in memory.
#[derive(Default)]
pub(crate) struct BodyBudget {
    trusted: Arc<AtomicUsize>,
    unknown: Arc<AtomicUsize>,
}

/// Bytes charged to a budget, released on drop.
pub(crate) struct BodyCharge {
    used: Arc<AtomicUsize>,
    bytes: usize,
    limit: usize,
}

impl BodyBudget {
    /// An empty charge, within the current limit of such callers.
    pub(crate) fn charge(&self, class: CallerClass, settings: &Serve) -> BodyCharge {
        let (used, mebibytes) = match class {
            CallerClass::Trusted => (&self.trusted, settings.body_budget_mib),
            CallerClass::Unknown => (&self.unknown, settings.unknown_body_budget_mib),
        };
        BodyCharge { used: Arc::clone(used), bytes: 0, limit: mebibytes.saturating_mul(1 << 20) }
    }

    /// Bytes in use by trusted callers, and by all others.
    pub(crate) fn used(&self) -> (usize, usize) {
        (self.trusted.load(Ordering::Relaxed), self.unknown.load(Ordering::Relaxed))
    }
}

impl BodyCharge {
    /// The whole budget.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Checks a declared length before the body is read. Nothing is reserved: a head alone must not take memory from bodies
    /// that arrive.
    ///
    /// # Errors
    ///
    /// The budget does not have that much left.
    pub(crate) fn check_room(&self, length: usize) -> Result<(), ApiError> {
        let used = self.used.load(Ordering::Relaxed);
        if used.saturating_add(length) > self.limit { Err(self.exhausted()) } else { Ok(()) }
    }

    /// Raises the charge to that many bytes in total.
    ///
    /// # Errors
    ///
    /// The budget does not have that much left; the charge is unchanged.
    pub(crate) fn grow_to(&mut self, length: usize) -> Result<(), ApiError> {
        let Some(more) = length.checked_sub(self.bytes) else { return Ok(()) };
        let grown = |used: usize| used.checked_add(more).filter(|used| *used <= self.limit);
        if self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_err() {
            return Err(self.exhausted());
        }
        self.bytes = length;
        Ok(())
    }

    /// The response to a body that exceeds the budget now.
    pub(crate) fn exhausted(&self) -> ApiError {
        let limit = bytes(self.limit as u64);
        let message =
            format!("the bodies of other requests take all of the {limit} there are for them; try again in a moment");
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }
}

impl Drop for BodyCharge {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
