//! Requests over `wasi:http`, as a plugin without the SDK sends them.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::StreamError;

/// Sends a request, and returns the status and the body of its response, or why there is none.
pub fn send(
    method: &Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Result<(u16, Vec<u8>), String> {
    let (scheme, rest) = url.split_once("://").ok_or_else(|| format!("`{url}` is no address"))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let fields = Fields::new();
    for (name, value) in headers {
        fields.append(name, value.as_bytes()).map_err(|error| format!("header `{name}`: {error}"))?;
    }
    let request = OutgoingRequest::new(fields);
    let scheme = if scheme == "http" { Scheme::Http } else { Scheme::Https };
    request
        .set_method(method)
        .and_then(|()| request.set_scheme(Some(&scheme)))
        .and_then(|()| request.set_authority(Some(authority)))
        .and_then(|()| request.set_path_with_query(Some(path)))
        .map_err(|()| format!("`{url}` is no address"))?;
    let outgoing = request.body().map_err(|()| "there is no body to write to")?;
    let response = outgoing_handler::handle(request, None).map_err(failure)?;
    if let Some(bytes) = body {
        let stream = outgoing.write().map_err(|()| "the body cannot be written")?;
        // At most 4 KiB at once.
        for piece in bytes.chunks(4096) {
            stream.blocking_write_and_flush(piece).map_err(|error| error.to_string())?;
        }
    }
    OutgoingBody::finish(outgoing, None).map_err(failure)?;
    response.subscribe().block();
    let response = response.get().ok_or("there is no response")?;
    let response = response.map_err(|()| "the response was taken before")?.map_err(failure)?;
    Ok((response.status(), read(&response)?))
}

fn read(response: &IncomingResponse) -> Result<Vec<u8>, String> {
    let body = response.consume().map_err(|()| "the body was taken before")?;
    let stream = body.stream().map_err(|()| "the body was taken before")?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(piece) => bytes.extend(piece),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(error)) => return Err(error.to_debug_string()),
        }
    }
}

fn failure(code: ErrorCode) -> String {
    match code {
        ErrorCode::HttpRequestDenied => "the host refused the request; its log says why".to_owned(),
        ErrorCode::DestinationIpProhibited => "the server's address is not public".to_owned(),
        code => format!("{code:?}"),
    }
}
