//! Bodies of requests: each within a bound and a time, all together within a budget, and parsed where no other request waits.

mod budget;
mod linger;
mod parsers;

use super::{Api, Problem};
use axum::body::Body;
use axum::http::StatusCode;
use bub_tape::json::Bounds;
pub(super) use budget::{BodyBudget, BodyCharge, CallerClass};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
pub(super) use linger::lingering;
pub(super) use parsers::ParserPool;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

/// What a body of JSON may be made of. A conversation has a few values a message, and there are 4,096 messages at most.
const BOUNDS: Bounds = Bounds { depth: 64, members: 65_536, elements: 131_072 };

/// Bodies of at most this many bytes are parsed where they were read: to wake a thread takes longer than they do.
const INLINE: usize = 64 << 10;

/// The steps in which memory is charged and, as long as a body is short, allocated, in bytes.
const STEP: usize = 4 << 10;

/// Once so much of a body has arrived, room is made for all of it: a block that grows by copies is there twice.
const EARNEST: usize = 256 << 10;

/// A body that has arrived, for as long as it takes memory.
pub(super) struct Received {
    pub bytes: Vec<u8>,
    pub charge: BodyCharge,
}

/// Reads a body of at most `most` bytes. Its declared length is checked before anything is read; what comes is counted as
/// it comes, whatever was declared.
///
/// # Errors
///
/// It is longer, comes too slowly or not to its end, or other bodies take all the memory that there is for such callers.
pub(super) async fn read(api: &Api, mut body: Body, class: CallerClass, most: usize) -> Result<Received, Problem> {
    let mut charge = api.bodies.charge(class, &api.gateway.host().config.serve);
    let most = most.min(charge.limit());
    let declared = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if declared.is_some_and(|length| length > most) {
        return Err(too_large(most));
    }
    charge.has_room(declared.unwrap_or_default())?;
    let deadline = Instant::now() + api.patience();
    let mut bytes = Vec::new();
    loop {
        let frame = timeout_at(deadline, body.frame())
            .await
            .map_err(|_| Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time"))?;
        let Some(frame) = frame else { return Ok(Received { bytes, charge }) };
        let frame = frame.map_err(|_| Problem::bad("the body did not arrive whole"))?;
        let Ok(data) = frame.into_data() else { continue };
        let needed = bytes.len() + data.len();
        if needed > most {
            return Err(too_large(most));
        }
        if needed > bytes.capacity() {
            let doubled = bytes.capacity().saturating_mul(2).max(STEP);
            let capacity = match declared {
                Some(length) if needed >= EARNEST => length,
                length => doubled.min(length.unwrap_or(most)),
            };
            // Memory that nothing was written to is not taken yet, and so is not charged.
            let reserved = bytes.try_reserve_exact(capacity.max(needed) - bytes.len());
            reserved.map_err(|_| charge.exhausted())?;
        }
        charge.grow_to(needed.next_multiple_of(STEP).min(bytes.capacity()))?;
        // A copy: a frame holds on to the buffer of its connection, however little of that it is.
        bytes.extend_from_slice(&data);
    }
}

fn too_large(most: usize) -> Problem {
    let message = format!("the body is longer than {}", bub_types::text::bytes(most as u64));
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
}

/// Reads a body that is JSON and makes of it what the request means; the charge belongs to what was made.
///
/// # Errors
///
/// Those of [`read`], what is wrong with the JSON, and those of `make`.
pub(super) async fn json<T, R>(
    api: &Api,
    body: Body,
    (class, most): (CallerClass, usize),
    make: impl FnOnce(T) -> Result<R, Problem> + Send + 'static,
) -> Result<(R, BodyCharge), Problem>
where
    T: DeserializeOwned,
    R: Send + 'static,
{
    let Received { bytes, charge } = read(api, body, class, most).await?;
    work(api, bytes, charge, move |bytes| {
        let parsed = parse(&bytes)?;
        // What was made of it stands on its own.
        drop(bytes);
        make(parsed)
    })
    .await
}

/// Does what takes time in proportion to a body: a large one's outside of the threads that serve requests, few at once.
pub(super) async fn work<R: Send + 'static>(
    api: &Api,
    bytes: Vec<u8>,
    charge: BodyCharge,
    work: impl FnOnce(Vec<u8>) -> Result<R, Problem> + Send + 'static,
) -> Result<(R, BodyCharge), Problem> {
    if bytes.len() <= INLINE {
        return Ok((work(bytes)?, charge));
    }
    // A client that leaves does not end the work, so the charge goes with it.
    let worked = api.parsers.run(move || (work(bytes), charge)).await;
    let (worked, charge) = worked.map_err(|error| Problem::internal(&error))?;
    Ok((worked?, charge))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let wrong = |what: &str| Problem::bad(format!("the body does not fit: {what}"));
    BOUNDS.check(bytes).map_err(|exceeded| wrong(&exceeded.to_string()))?;
    let text = std::str::from_utf8(bytes).map_err(|_| Problem::bad("the body is no UTF-8"))?;
    serde_json::from_str(text).map_err(|error| {
        let position = format!(" at line {} column {}", error.line(), error.column());
        let said = error.to_string();
        let said = said.strip_suffix(&position).unwrap_or(&said);
        // A parser repeats what it was given.
        let said: String = said.chars().take(300).collect();
        wrong(&said)
    })
}
