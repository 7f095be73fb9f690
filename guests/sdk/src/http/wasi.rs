//! Requests over `wasi:http`.

use super::{Error, Failure, Request, Stream, parts};
use std::time::Duration;
use wasip2::clocks::monotonic_clock::{now, subscribe_duration};
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

/// Bytes that are written or read at once.
const PIECE: u64 = 64 << 10;

/// The body of a response. Fields are dropped in reverse order of creation.
#[derive(Debug)]
pub struct Body {
    ready: Pollable,
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
    deadline: Option<u64>,
}

/// Sends a request, and waits for the head of its response.
pub fn open(request: &Request) -> Result<Stream, Error> {
    let deadline = request.deadline.map(|deadline| now().saturating_add(nanoseconds(deadline)));
    let headers = Fields::new();
    for (name, value) in &request.headers {
        let unfit = |error| Error::new(Failure::Invalid, format!("header `{name}`: {error}"));
        headers.append(name, value.as_bytes()).map_err(unfit)?;
    }
    if let Some(body) = &request.body {
        let length = body.len().to_string();
        let unfit = |error| Error::new(Failure::Invalid, format!("header `content-length`: {error}"));
        headers.append("content-length", length.as_bytes()).map_err(unfit)?;
    }
    let outgoing = OutgoingRequest::new(headers);
    let wrong = || Error::invalid_url(&request.url);
    let (scheme, authority, path) = parts(&request.url).ok_or_else(wrong)?;
    outgoing
        .set_method(&method(request.method))
        .and_then(|()| outgoing.set_scheme(Some(if scheme == "http" { &Scheme::Http } else { &Scheme::Https })))
        .and_then(|()| outgoing.set_authority(Some(authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(path)))
        .map_err(|()| wrong())?;
    let options = RequestOptions::new();
    let timeout = Some(nanoseconds(request.timeout));
    // A host that does not know such limits has limits of its own.
    let _ = options.set_first_byte_timeout(timeout);
    let _ = options.set_between_bytes_timeout(timeout);
    let body = outgoing.body().map_err(|()| broken("there is no body to write to"))?;
    let coming = outgoing_handler::handle(outgoing, Some(options)).map_err(failed)?;
    if let Some(bytes) = &request.body {
        let stream = body.write().map_err(|()| broken("the body cannot be written"))?;
        // A server that hangs up in the middle says why in its response, or there is none.
        let _ = write(&stream, bytes);
    }
    let _ = OutgoingBody::finish(body, None);
    wait(&coming.subscribe(), deadline)?;
    match coming.get() {
        Some(Ok(Ok(response))) => stream(response, deadline),
        Some(Ok(Err(code))) => Err(failed(code)),
        _ => Err(broken("the answer was taken before")),
    }
}

fn stream(response: IncomingResponse, deadline: Option<u64>) -> Result<Stream, Error> {
    let status = response.status();
    let headers = response.headers().entries();
    let body = response.consume().map_err(|()| broken("the answer was taken before"))?;
    let stream = body.stream().map_err(|()| broken("the answer was taken before"))?;
    let body = Body { ready: stream.subscribe(), stream, _body: body, _response: response, deadline };
    Ok(Stream { status, headers, body, rest: Vec::new() })
}

impl Body {
    /// The next bytes; none at the end.
    pub fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            wait(&self.ready, self.deadline)?;
            match self.stream.read(PIECE) {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Ok(Some(bytes)),
                Err(StreamError::Closed) => return Ok(None),
                Err(StreamError::LastOperationFailed(_)) => return Err(broken("the answer was cut off")),
            }
        }
    }
}

/// Waits until that is ready, or the time is up.
fn wait(ready: &Pollable, deadline: Option<u64>) -> Result<(), Error> {
    let Some(deadline) = deadline else {
        ready.block();
        return Ok(());
    };
    if ready.ready() {
        return Ok(());
    }
    let late = subscribe_duration(deadline.saturating_sub(now()));
    match poll(&[ready, &late]).contains(&0) {
        true => Ok(()),
        false => Err(Error::new(Failure::Timeout, "it did not answer in time")),
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

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn broken(message: &str) -> Error {
    Error::new(Failure::Broken, message)
}

fn failed(code: ErrorCode) -> Error {
    let (failure, message) = match code {
        ErrorCode::HttpRequestDenied => (Failure::Denied, "the host refused the request; its log says why".to_owned()),
        ErrorCode::DestinationIpProhibited => (
            Failure::PrivateAddress,
            "the server's address is not public; grant `http:` with exactly that host".to_owned(),
        ),
        ErrorCode::HttpRequestBodySize(limit) => (
            Failure::RequestTooLarge(limit),
            format!("it is larger than the {} MiB of a request", limit.unwrap_or_default() >> 20),
        ),
        ErrorCode::HttpResponseBodySize(limit) => {
            (Failure::ResponseTooLarge(limit), "the answer is larger than an answer may be".to_owned())
        }
        ErrorCode::HttpRequestUriInvalid => (Failure::Invalid, "the address leads nowhere".to_owned()),
        ErrorCode::InternalError(Some(why)) => {
            // The server's address stands in front, and is said by the code that shows this.
            let behind = why.strip_prefix('`').and_then(|rest| rest.split_once("`: ")).map(|(_, why)| why.to_owned());
            (Failure::Broken, behind.unwrap_or(why))
        }
        ErrorCode::HttpResponseTimeout | ErrorCode::ConnectionTimeout | ErrorCode::ConnectionReadTimeout => {
            (Failure::Timeout, "it did not answer in time".to_owned())
        }
        code => (Failure::Broken, format!("{code:?}")),
    };
    Error::new(failure, message)
}
