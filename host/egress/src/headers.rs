//! Which headers may pass, and how many of them.

use reqwest::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_RANGE, RANGE,
};

use crate::error::Error;

/// Headers that speak of one connection, which is ours and not the guest's.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Takes out of a request what is for us to say.
pub(crate) fn strip_request(headers: &mut HeaderMap) {
    strip_connection(headers);
    for name in [HOST, CONTENT_LENGTH, EXPECT] {
        headers.remove(name);
    }
}

/// Takes out of an answer what was said to us only.
pub(crate) fn strip_response(headers: &mut HeaderMap) {
    strip_connection(headers);
}

fn strip_connection(headers: &mut HeaderMap) {
    // `Connection: x-mine` makes `X-Mine` a header of the connection as well.
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(*name);
    }
}

/// Asks for an answer in which a secret can be found: whole, and not compressed.
pub(crate) fn request_identity_encoding(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    // Half of a secret from one request and half from the next would pass.
    headers.remove(RANGE);
    headers.remove(IF_RANGE);
}

/// Whether the body of an answer is as it was meant to be read.
pub(crate) fn is_unencoded(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// # Errors
///
/// [`Error::TooLarge`] if names and values together are more than `limit` bytes.
pub(crate) fn check_size(headers: &HeaderMap, limit: u64) -> Result<(), Error> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len().saturating_add(value.len())).sum();
    if bytes as u64 > limit { Err(Error::TooLarge { part: "headers", limit }) } else { Ok(()) }
}
