//! Requests from the far side, which any client can make up: what of them a channel is given, and what of its answer leaves.

use super::{Arrival, GuestChannel, WebhookRequest, inbound};
use crate::error::Failure;
use crate::guest::bindings::channel::channel as wit;
use crate::plugin::contract;
use crate::turn::CallScope;
use bub_types::Error;
use reqwest::StatusCode;
use reqwest::header::{HeaderName, HeaderValue};
use wasmtime::Result;

/// The body of a request that a channel is handed, and of its answer, in bytes.
const MAX_BODY: usize = 1 << 20;

/// Names and values of a request's headers, and of its path, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// Headers of an answer.
const MAX_HEADERS: usize = 32;

/// Headers that an answer may have. Any other header would take effect on the whole of this server.
const ALLOWED: [&str; 6] =
    ["allow", "cache-control", "content-language", "content-type", "retry-after", "www-authenticate"];

/// The response to the far side, and the messages that came.
pub struct WebhookResponse {
    /// 200 to 599.
    pub status: u16,
    /// In small letters, those alone that do nothing to the rest of the server.
    pub headers: Vec<(String, String)>,
    /// At most a MiB.
    pub body: Vec<u8>,
    /// To be stored before the far side has its answer.
    pub arrivals: Vec<Arrival>,
    /// Why other messages were not taken, each by its name. The log and the event bus have it already.
    pub refused: Vec<String>,
}

/// # Errors
///
/// Of kind `invalid-input`: it is too large.
pub(super) fn check(request: &WebhookRequest) -> std::result::Result<(), Failure> {
    let headers: usize = request.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let refused = |reason: String| Err(Failure::Refused(Error::invalid(reason)));
    if request.body.len() > MAX_BODY {
        return refused(format!("the body of a request to a channel has at most {MAX_BODY} bytes"));
    }
    if headers + request.path.len() > MAX_HEAD {
        return refused(format!("path and headers of a request to a channel have at most {MAX_HEAD} bytes"));
    }
    Ok(())
}

/// # Errors
///
/// The fault `contract`: it is no response.
pub(super) fn response(
    channel: &GuestChannel,
    scope: &CallScope,
    said: wit::WebhookResponse,
) -> Result<WebhookResponse> {
    let wit::WebhookResponse { status, headers, body, arrivals } = said;
    // A lower status is no answer, but a step on the way to one.
    if !(200..600).contains(&status) || StatusCode::from_u16(status).is_err() {
        return Err(contract(format!("`{status}` is no status of an answer")));
    }
    if body.len() > MAX_BODY {
        return Err(contract(format!("the body of its answer is longer than {MAX_BODY} bytes")));
    }
    if headers.len() > MAX_HEADERS {
        return Err(contract(format!("its answer has more than {MAX_HEADERS} headers")));
    }
    let mut kept = Vec::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| contract("a header of its answer is none"))?;
        if HeaderValue::from_str(&value).is_err() {
            return Err(contract(format!("the header `{name}` of its answer has no value that can be sent")));
        }
        if ALLOWED.contains(&name.as_str()) {
            kept.push((name.as_str().to_owned(), value));
        }
    }
    // A browser that is led here runs no part of the body, whatever its type.
    kept.push(("x-content-type-options".to_owned(), "nosniff".to_owned()));
    kept.push(("content-security-policy".to_owned(), "sandbox; default-src 'none'".to_owned()));
    let (arrivals, refused) = inbound::arrivals(channel, scope, arrivals)?;
    Ok(WebhookResponse { status, headers: kept, body, arrivals, refused })
}
