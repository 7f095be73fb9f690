//! HTTP/1.1 of programs: `CONNECT`, and plain requests with a whole URL.

mod forward;

use crate::proxy::Shared;
use crate::refusal::{Kind, Refusal};
use crate::tunnel::tunnel;
use bub_egress::{Destination, Error};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// The longest head, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// The most headers of a request.
const MAX_HEADERS: usize = 128;

type Body = UnsyncBoxBody<Bytes, Error>;

/// Serves the requests of a connection, one after the other.
pub(crate) async fn serve<S>(stream: S, shared: Arc<Shared>, permit: Arc<OwnedSemaphorePermit>, end: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head = shared.limits.head;
    let service = service_fn(move |request| {
        let (shared, permit, end) = (Arc::clone(&shared), Arc::clone(&permit), end.clone());
        async move { Ok::<_, Infallible>(answer(request, shared, permit, end).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // Whatever the program does wrong ends its connection, and nothing else.
    let _ = connection.await;
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    permit: Arc<OwnedSemaphorePermit>,
    end: CancellationToken,
) -> Response<Body> {
    let answered = match request.method() == Method::CONNECT {
        true => connect(request, shared, permit, end).await,
        false => forward::forward(request, shared).await,
    };
    answered.unwrap_or_else(|refusal| refused(&refusal))
}

/// Opens a tunnel, which begins with the answer.
async fn connect(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    permit: Arc<OwnedSemaphorePermit>,
    end: CancellationToken,
) -> Result<Response<Body>, Refusal> {
    let authority = request.uri().authority().map(|authority| authority.as_str()).unwrap_or_default();
    let invalid = |error: Error| Refusal::new(Kind::Invalid, &error.to_string());
    let destination = Destination::parse(authority).map_err(invalid)?;
    let host = shared.connect(&destination).await?;
    tokio::spawn(end.run_until_cancelled_owned(async move {
        // The tunnel counts as a connection after that of HTTP has ended.
        let _permit = permit;
        if let Ok(program) = hyper::upgrade::on(request).await {
            tunnel(TokioIo::new(program), host, &destination, &shared).await;
        }
    }));
    Ok(Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync()))
}

/// The answer to a request that is refused. Many clients show the reason phrase of an answer to `CONNECT`, and no body.
fn refused(refusal: &Refusal) -> Response<Body> {
    let text = Full::new(Bytes::from(format!("{}\n", refusal.why)));
    let mut response = Response::new(text.map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = refusal.status();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    let phrase: String = refusal.why.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    if let Ok(phrase) = ReasonPhrase::try_from(phrase.into_bytes()) {
        response.extensions_mut().insert(phrase);
    }
    response
}
