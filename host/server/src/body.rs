//! Bodies of requests: each within a size and a time, all within a memory budget, and large ones parsed on threads of
//! their own.

mod budget;
mod linger;
mod parsers;

use super::{Api, ApiError};
use axum::body::Body;
use axum::http::StatusCode;
use bub_tape::json::Bounds;
use bub_types::text::clipped;
pub(super) use budget::{BodyBudget, BodyCharge, CallerClass};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
pub(super) use linger::lingering;
pub(super) use parsers::ParserPool;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

/// Bounds of a JSON body. A conversation has a few values per message, and at most 4,096 messages.
const BOUNDS: Bounds = Bounds { depth: 64, members: 65_536, elements: 131_072 };

/// Bodies of at most this many bytes are parsed at once: to wake a thread takes longer.
const INLINE_LIMIT: usize = 64 << 10;

/// The steps in which memory is charged and, for short bodies, allocated, in bytes.
const CHARGE_STEP: usize = 4 << 10;

/// Once so much of a body has arrived, its declared length is allocated: a buffer that grows is in memory twice while it
/// is copied.
const PREALLOCATE_FROM: usize = 256 << 10;

/// A body, and the charge for its memory.
pub(super) struct Received {
    pub bytes: Vec<u8>,
    pub charge: BodyCharge,
}

/// Reads a body of at most `max` bytes. The declared length is checked first, and the bytes that arrive are counted,
/// whatever was declared.
///
/// # Errors
///
/// It is longer, arrives too slowly or incomplete, or the budget of such callers is exhausted.
pub(super) async fn read(api: &Api, mut body: Body, class: CallerClass, max: usize) -> Result<Received, ApiError> {
    let mut charge = api.bodies.charge(class, &api.gateway.host().config.serve);
    let max = max.min(charge.limit());
    let declared = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if declared.is_some_and(|length| length > max) {
        return Err(too_large(max));
    }
    charge.check_room(declared.unwrap_or_default())?;
    let deadline = Instant::now() + api.peer_timeout();
    let mut bytes = Vec::new();
    loop {
        let frame = timeout_at(deadline, body.frame())
            .await
            .map_err(|_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time"))?;
        let Some(frame) = frame else { return Ok(Received { bytes, charge }) };
        let frame = frame.map_err(|_| ApiError::bad_request("the body is incomplete"))?;
        let Ok(data) = frame.into_data() else { continue };
        let needed = bytes.len() + data.len();
        if needed > max {
            return Err(too_large(max));
        }
        if needed > bytes.capacity() {
            let doubled = bytes.capacity().saturating_mul(2).max(CHARGE_STEP);
            let capacity = match declared {
                Some(length) if needed >= PREALLOCATE_FROM => length,
                length => doubled.min(length.unwrap_or(max)),
            };
            // Memory that was not written to is not resident yet, and so is not charged.
            let reserved = bytes.try_reserve_exact(capacity.max(needed) - bytes.len());
            reserved.map_err(|_| charge.exhausted())?;
        }
        charge.grow_to(needed.next_multiple_of(CHARGE_STEP).min(bytes.capacity()))?;
        // A copy: a frame keeps the whole buffer of its connection alive.
        bytes.extend_from_slice(&data);
    }
}

fn too_large(max: usize) -> ApiError {
    let message = format!("the body is longer than {}", bub_types::text::bytes(max as u64));
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
}

/// Reads a JSON body and converts it; the charge belongs to the result.
///
/// # Errors
///
/// Those of [`read`] and of `convert`, and invalid JSON.
pub(super) async fn json<T, R>(
    api: &Api,
    body: Body,
    (class, max): (CallerClass, usize),
    convert: impl FnOnce(T) -> Result<R, ApiError> + Send + 'static,
) -> Result<(R, BodyCharge), ApiError>
where
    T: DeserializeOwned,
    R: Send + 'static,
{
    let Received { bytes, charge } = read(api, body, class, max).await?;
    process(api, bytes, charge, move |bytes| {
        let parsed = parse(&bytes)?;
        // The parsed value does not borrow from it.
        drop(bytes);
        convert(parsed)
    })
    .await
}

/// Runs work whose time is proportional to the body: for a large one on the parser threads.
pub(super) async fn process<R: Send + 'static>(
    api: &Api,
    bytes: Vec<u8>,
    charge: BodyCharge,
    work: impl FnOnce(Vec<u8>) -> Result<R, ApiError> + Send + 'static,
) -> Result<(R, BodyCharge), ApiError> {
    if bytes.len() <= INLINE_LIMIT {
        return Ok((work(bytes)?, charge));
    }
    // The work goes on when the client disconnects, so it holds the charge.
    let done = api.parsers.run(move || (work(bytes), charge)).await;
    let (done, charge) = done.map_err(|error| ApiError::internal(&error))?;
    Ok((done?, charge))
}

/// Parses a body, and returns it as it was sent, too.
///
/// # Errors
///
/// Those of parsing.
pub(super) fn checked<T: DeserializeOwned>(bytes: Vec<u8>) -> Result<(Vec<u8>, T), ApiError> {
    let parsed = parse(&bytes)?;
    Ok((bytes, parsed))
}

fn wrong(reason: &str) -> ApiError {
    ApiError::bad_request(format!("the body does not fit: {reason}"))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    BOUNDS.check(bytes).map_err(|exceeded| wrong(&exceeded.to_string()))?;
    let text = std::str::from_utf8(bytes).map_err(|_| ApiError::bad_request("the body is not UTF-8"))?;
    serde_json::from_str(text).map_err(|error| {
        let position = format!(" at line {} column {}", error.line(), error.column());
        let reason = error.to_string();
        let reason = reason.strip_suffix(&position).unwrap_or(&reason);
        // The message of the parser quotes its input.
        let reason = clipped(reason, 300);
        wrong(&reason)
    })
}
