//! Plain requests, which the client for plugins' HTTP sends: the same address rules and the same strictness.

use super::Body;
use crate::leak::{Leak, is_in_text};
use crate::policy::Direction;
use crate::proxy::Shared;
use crate::refusal::{Kind, Refusal};
use bub_egress::{Destination, EgressClient, Error, Limits, Target};
use bub_redact::Patterns;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, HeaderMap};
use hyper::{Request, Response};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// From the beginning of a request to the head of its answer: an upload may be long.
const FIRST_BYTE: Duration = Duration::from_secs(3600);

/// A whole request; the turn ends before.
const TOTAL: Duration = Duration::from_secs(24 * 3600);

const TELLS: &str = "the request tells a secret of the configuration, which does not leave in plain HTTP";

pub(super) async fn forward(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Body>, Refusal> {
    let invalid = |error: Error| Refusal::new(Kind::Invalid, &error.to_string());
    let (parts, body) = request.into_parts();
    if parts.uri.scheme_str() != Some("http") {
        let help = "this is a proxy: a request names its whole URL, as in `http://example.com/`, or is a CONNECT";
        return Err(Refusal::new(Kind::Invalid, help));
    }
    let url = parts.uri.to_string();
    let mut sent = bub_egress::Request::new(parts.method, &url).map_err(invalid)?;
    let destination = Destination::from_url(sent.url()).map_err(invalid)?;
    let exact = shared.decide(&destination).await?;
    let secrets = shared.policy.known_secrets();
    if tells(&secrets, &url, &parts.headers) {
        return Err(shared.refused(&destination, Refusal::new(Kind::Denied, TELLS)));
    }
    let target = match exact {
        true => Target::from_url(sent.url()),
        // Not the host itself, so that it has to be on the public internet.
        false => Target::parse(&format!("http://*:{}", destination.port())).ok(),
    };
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    sent.headers = parts.headers;
    if !body.is_end_stream() {
        let chunks = outgoing(body, Leak::new(&secrets), Arc::clone(&shared), destination.clone());
        sent = sent.with_body(bub_egress::Body::chunks(chunks, length));
    }
    let idle = shared.limits.idle;
    let limits = Limits {
        request: u64::MAX,
        answer: u64::MAX,
        first_byte: FIRST_BYTE,
        between_bytes: idle,
        total: TOTAL,
        ..Limits::default()
    };
    let client = EgressClient::new(shared.network.clone(), target).with_limits(limits);
    match client.send(sent).await {
        Ok(response) => {
            shared.policy.reached(&destination);
            Ok(incoming(response, shared, destination))
        }
        Err(error) => Err(shared.refused(&destination, Refusal::of(&error, &destination))),
    }
}

/// Whether a head tells a secret.
fn tells(secrets: &[Patterns], url: &str, headers: &HeaderMap) -> bool {
    is_in_text(secrets, url.as_bytes())
        || headers
            .iter()
            .any(|(name, value)| is_in_text(secrets, name.as_str().as_bytes()) || is_in_text(secrets, value.as_bytes()))
}

/// A body on its way to the host. It ends with an error at a secret in it, so that the host gets no whole request.
fn outgoing(
    body: Incoming,
    leak: Leak,
    shared: Arc<Shared>,
    destination: Destination,
) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    let begun = (Some(body.into_data_stream()), leak, shared, destination);
    futures_util::stream::unfold(begun, |(mut body, mut leak, shared, destination)| async move {
        let next = timeout(shared.limits.idle, body.as_mut()?.next()).await;
        let (passed, is_over) = match next {
            Ok(Some(Ok(chunk))) => (leak.pass(chunk).ok_or(TELLS), false),
            Ok(Some(Err(_))) => (Err("the request was broken off"), true),
            Ok(None) => (leak.finish().ok_or(TELLS), true),
            Err(_) => (Err("the request was not continued"), true),
        };
        if let Ok(bytes) = &passed {
            shared.policy.moved(&destination, Direction::Sent, bytes.len() as u64);
        }
        let is_over = is_over || passed.is_err();
        let passed = passed.map_err(|why| Error::Refused(why.to_owned()));
        Some((passed, (body.filter(|_| !is_over), leak, shared, destination)))
    })
}

/// An answer on its way to the program.
fn incoming(response: bub_egress::Response, shared: Arc<Shared>, destination: Destination) -> Response<Body> {
    let frames = response.body.map(move |chunk| {
        chunk.map(|bytes| {
            shared.policy.moved(&destination, Direction::Received, bytes.len() as u64);
            Frame::data(bytes)
        })
    });
    let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
    *answer.status_mut() = response.status;
    *answer.headers_mut() = response.headers;
    answer
}
