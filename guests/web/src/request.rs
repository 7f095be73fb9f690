//! A single request over `wasi:http`.

use crate::bub::types::types::Error;
use crate::failure;
use url::{Position, Url};
use wasip2::clocks::monotonic_clock::{now, subscribe_duration};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::StreamError;

/// Default headers. Compressed responses are not supported.
pub const HEADERS: &[(&str, &str)] = &[
    ("accept", "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5"),
    ("accept-encoding", "identity"),
    ("user-agent", concat!("bub-wasm/", env!("CARGO_PKG_VERSION"))),
];

/// Bytes per read.
const PIECE: u64 = 64 << 10;

/// The deadline of the whole request.
pub struct Deadline {
    seconds: u64,
    at: u64,
}

impl Deadline {
    pub fn after(seconds: u64) -> Deadline {
        Deadline { seconds, at: now().saturating_add(seconds.saturating_mul(1_000_000_000)) }
    }

    /// Waits until that is ready.
    ///
    /// # Errors
    ///
    /// `temporary` after the deadline.
    fn wait(&self, ready: &Pollable, url: &Url) -> Result<(), Error> {
        if ready.ready() {
            return Ok(());
        }
        let left = self.at.saturating_sub(now());
        let late = subscribe_duration(left);
        match poll(&[ready, &late]).contains(&0) {
            true => Ok(()),
            false => Err(failure::late(url, self.seconds)),
        }
    }
}

/// A response whose body was not read yet.
pub struct Response {
    pub status: u16,
    incoming: IncomingResponse,
}

/// Sends a GET.
///
/// # Errors
///
/// Those of [`failure::of_code`].
pub fn send(url: &Url, headers: &[(String, String)], deadline: &Deadline) -> Result<Response, Error> {
    let fields = Fields::new();
    for (name, value) in headers {
        fields
            .append(name, value.as_bytes())
            .map_err(|_| Error::invalid(format!("the header `{name}` cannot be sent; leave it out of `headers`")))?;
    }
    let request = OutgoingRequest::new(fields);
    let scheme = if url.scheme() == "http" { Scheme::Http } else { Scheme::Https };
    let unfit = |()| Error::invalid(format!("`{url}` is no URL that can be asked for"));
    request.set_scheme(Some(&scheme)).map_err(unfit)?;
    request.set_authority(Some(url.authority())).map_err(unfit)?;
    request.set_path_with_query(Some(&url[Position::BeforePath..Position::AfterQuery])).map_err(unfit)?;
    let nothing = request.body().map_err(unfit)?;
    let options = RequestOptions::new();
    let patience = Some(deadline.seconds.saturating_mul(1_000_000_000));
    // A host that does not support these timeouts is bounded by the deadline.
    let _ = options.set_first_byte_timeout(patience);
    let _ = options.set_between_bytes_timeout(patience);
    let failed = |code: ErrorCode| failure::of_code(url, &code, deadline.seconds, has_secret(url, headers));
    let answer = handle(request, Some(options)).map_err(failed)?;
    OutgoingBody::finish(nothing, None).map_err(failed)?;
    deadline.wait(&answer.subscribe(), url)?;
    let lost = || failure::late(url, deadline.seconds);
    let incoming = answer.get().ok_or_else(lost)?.map_err(|()| lost())?.map_err(failed)?;
    Ok(Response { status: incoming.status(), incoming })
}

/// The host replaces placeholders of secrets, and refuses those that may not be sent there.
fn has_secret(url: &Url, headers: &[(String, String)]) -> bool {
    let is_marked = |text: &str| text.contains("{{secret:");
    headers.iter().any(|(_, value)| is_marked(value)) || url.as_str().contains("secret:")
}

impl Response {
    pub fn header(&self, name: &str) -> Option<String> {
        let values = self.incoming.headers().get(name);
        values.first().map(|value| String::from_utf8_lossy(value).trim().to_owned())
    }

    /// The target of a redirect.
    pub fn location(&self) -> Option<String> {
        matches!(self.status, 301 | 302 | 303 | 307 | 308).then(|| self.header("location")).flatten()
    }

    /// The first `max` bytes of the body, and whether there is more.
    ///
    /// # Errors
    ///
    /// `temporary` after the deadline; `tool` if the connection broke.
    pub fn body(&self, url: &Url, deadline: &Deadline, max: usize) -> Result<(Vec<u8>, bool), Error> {
        let body: IncomingBody = self.incoming.consume().map_err(|()| failure::broken(url, ""))?;
        let stream = body.stream().map_err(|()| failure::broken(url, ""))?;
        let ready = stream.subscribe();
        let mut bytes = Vec::new();
        loop {
            deadline.wait(&ready, url)?;
            match stream.read(PIECE) {
                Ok(piece) => bytes.extend_from_slice(&piece),
                Err(StreamError::Closed) => return Ok((bytes, false)),
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(failure::broken(url, &error.to_debug_string()));
                }
            }
            if bytes.len() > max {
                bytes.truncate(max);
                return Ok((bytes, true));
            }
        }
    }
}
