//! Filtering and limits of headers.

use reqwest::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_RANGE, RANGE,
};

use crate::error::Error;

/// Hop-by-hop headers: they concern the host's connection, not the guest's request.
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

/// Removes request headers that the host sets itself.
pub(crate) fn strip_request(headers: &mut HeaderMap) {
    strip_connection(headers);
    for name in [HOST, CONTENT_LENGTH, EXPECT] {
        headers.remove(name);
    }
}

/// Removes hop-by-hop headers of an answer.
pub(crate) fn strip_response(headers: &mut HeaderMap) {
    strip_connection(headers);
}

fn strip_connection(headers: &mut HeaderMap) {
    // `Connection: x-mine` makes `X-Mine` hop-by-hop too.
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

/// Requests a complete, unencoded answer, in which secrets can be found.
pub(crate) fn request_identity_encoding(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    // Two ranges could split a secret and evade redaction.
    headers.remove(RANGE);
    headers.remove(IF_RANGE);
}

/// Whether the body of an answer has no content encoding.
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
