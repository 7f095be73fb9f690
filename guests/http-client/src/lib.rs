//! A single HTTP request over `wasi:http`, with the whole response.

use std::time::Duration;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::{OutputStream, StreamError};

/// Bytes per read or write.
const PIECE: u64 = 64 << 10;

/// A request.
pub struct Request<'a> {
    /// `http:` or `https:`. Path and query may contain placeholders `{{secret:NAME}}`.
    pub url: &'a str,
    /// Values may contain placeholders.
    pub headers: &'a [(&'a str, String)],
    /// `None`: a GET request.
    pub body: Option<&'a [u8]>,
}

/// A response.
pub struct Response {
    /// 200, 404, ...
    pub status: u16,
    /// In order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of that name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }
}

/// Why there is no response.
pub struct NoAnswer {
    /// For people.
    pub why: String,
    /// Whether a retry may succeed.
    pub is_temporary: bool,
}

/// Scheme, host with its port, and the path with its query.
fn parts(url: &str) -> Option<(Scheme, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match scheme {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        _ => return None,
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    (!authority.is_empty()).then_some((scheme, authority, path))
}

/// Whether that is a URL with a host.
pub fn is_address(url: &str) -> bool {
    parts(url).is_some()
}

/// Sends a request. `patience` limits the wait for the response's head and for each part of its body.
///
/// # Errors
///
/// [`NoAnswer`]. A response of any status is not an error.
pub fn send(request: &Request<'_>, patience: Duration) -> Result<Response, NoAnswer> {
    let headers = Fields::new();
    for (name, value) in request.headers {
        headers.append(name, value.as_bytes()).map_err(|error| refused(format!("header `{name}`: {error}")))?;
    }
    if let Some(body) = request.body {
        let length = body.len().to_string();
        headers.append("content-length", length.as_bytes()).map_err(|error| refused(error.to_string()))?;
    }
    let outgoing = OutgoingRequest::new(headers);
    let wrong = || refused(format!("`{}` is no address", request.url));
    let (scheme, authority, path) = parts(request.url).ok_or_else(wrong)?;
    let method = if request.body.is_some() { Method::Post } else { Method::Get };
    outgoing
        .set_method(&method)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(path)))
        .map_err(|()| wrong())?;
    let options = RequestOptions::new();
    let nanoseconds = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
    // A host that does not support these timeouts has its own.
    let _ = options.set_first_byte_timeout(Some(nanoseconds));
    let _ = options.set_between_bytes_timeout(Some(nanoseconds));
    let body = outgoing.body().map_err(|()| refused("there is no body to write to".to_owned()))?;
    let coming = outgoing_handler::handle(outgoing, Some(options)).map_err(no_answer)?;
    if let Some(bytes) = request.body {
        let stream = body.write().map_err(|()| refused("the body cannot be written".to_owned()))?;
        // If the server disconnects, its response says why, or there is none.
        let _ = write(&stream, bytes);
    }
    let _ = OutgoingBody::finish(body, None);
    coming.subscribe().block();
    match coming.get() {
        Some(Ok(Ok(response))) => read(&response),
        Some(Ok(Err(code))) => Err(no_answer(code)),
        _ => Err(refused("the answer was taken before".to_owned())),
    }
}

fn write(stream: &OutputStream, mut bytes: &[u8]) -> Result<(), StreamError> {
    while !bytes.is_empty() {
        let room = stream.check_write()?.min(PIECE) as usize;
        if room == 0 {
            stream.subscribe().block();
            continue;
        }
        let (piece, rest) = bytes.split_at(room.min(bytes.len()));
        stream.write(piece)?;
        bytes = rest;
    }
    stream.blocking_flush()
}

fn read(response: &IncomingResponse) -> Result<Response, NoAnswer> {
    let status = response.status();
    let headers = response.headers().entries();
    let incoming = response.consume().map_err(|()| refused("the answer was taken before".to_owned()))?;
    let stream = incoming.stream().map_err(|()| refused("the answer was taken before".to_owned()))?;
    let mut body = Vec::new();
    loop {
        match stream.blocking_read(PIECE) {
            Ok(bytes) => body.extend_from_slice(&bytes),
            Err(StreamError::Closed) => return Ok(Response { status, headers, body }),
            Err(StreamError::LastOperationFailed(_)) => {
                return Err(NoAnswer { why: "the answer was cut off".to_owned(), is_temporary: true });
            }
        }
    }
}

fn refused(why: String) -> NoAnswer {
    NoAnswer { why, is_temporary: false }
}

fn no_answer(code: ErrorCode) -> NoAnswer {
    match code {
        ErrorCode::HttpRequestDenied => refused("the host refused the request; its log says why".to_owned()),
        ErrorCode::DestinationIpProhibited => {
            refused("the server's address is not public; grant `http:` with exactly that host".to_owned())
        }
        ErrorCode::HttpRequestBodySize(limit) => {
            refused(format!("it is larger than the {} MiB of a request", limit.unwrap_or_default() >> 20))
        }
        ErrorCode::HttpResponseBodySize(_) => refused("the answer is larger than an answer may be".to_owned()),
        ErrorCode::HttpRequestUriInvalid => refused("the address leads nowhere".to_owned()),
        ErrorCode::InternalError(Some(why)) => {
            // Remove the server's address, which the caller adds.
            let behind = why.strip_prefix('`').and_then(|rest| rest.split_once("`: ")).map(|(_, why)| why.to_owned());
            NoAnswer { why: behind.unwrap_or(why), is_temporary: true }
        }
        ErrorCode::HttpResponseTimeout => NoAnswer { why: "it did not answer in time".to_owned(), is_temporary: true },
        code => NoAnswer { why: format!("{code:?}"), is_temporary: true },
    }
}
