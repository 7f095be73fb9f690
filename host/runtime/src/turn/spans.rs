//! What the spans of turns say when they end.

use super::data::Turn;
use crate::error::Failure;
use tracing::Span;

/// The turn of this span has ended; without a failure, it was answered.
pub(super) fn ended(turn: &Turn, has_failed: bool) {
    tracing::debug!("turn of session `{}` used {} units of fuel", turn.session_id, turn.fuel());
    if !bub_telemetry::is_on() {
        return;
    }
    let span = Span::current();
    span.record("principal", turn.principal().name());
    span.record("fuel", turn.fuel());
    if !has_failed {
        span.record("outcome", "answered");
    }
}

/// The same for a turn that is inside of none, for the log as well.
pub(super) fn turn_failed(failure: &Failure) {
    tracing::info!("turn failed: {failure}");
    failed(failure);
}

/// The turn of this span has failed.
pub(super) fn failed(failure: &Failure) {
    if !bub_telemetry::is_on() {
        return;
    }
    let span = Span::current();
    let kind = match failure {
        Failure::Cancelled | Failure::LeaseLost => {
            span.record("outcome", "cancelled");
            return;
        }
        Failure::Fault(_) => "fault",
        other => other.to_error().kind.name(),
    };
    span.record("outcome", "failed");
    span.record("error.type", kind);
    span.record("otel.status", failure.to_string());
}
