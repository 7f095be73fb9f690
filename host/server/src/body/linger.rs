//! Bodies that are not read to their end. A connection that is closed while bytes arrive is reset, and a client that is
//! still sending may then lose the response; so the rest is read and discarded for a moment.

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long the rest of a refused body is read.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);

/// A body whose rest is read and discarded on drop.
struct LingeringBody(Option<Body>);

/// Replaces the body of a request by one whose rest is discarded.
pub(crate) fn lingering(request: Request) -> Request {
    request.map(|body| match body.is_end_stream() {
        true => body,
        false => Body::new(LingeringBody(Some(body))),
    })
}

impl HttpBody for LingeringBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }
}

impl Drop for LingeringBody {
    fn drop(&mut self) {
        let rest = self.0.take().filter(|body| !body.is_end_stream());
        if let (Some(mut rest), Ok(runtime)) = (rest, Handle::try_current()) {
            runtime.spawn(async move {
                let discard = async { while let Some(Ok(_)) = rest.frame().await {} };
                let _ = timeout(LINGER_TIMEOUT, discard).await;
            });
        }
    }
}
