//! One request over `wasi:http`, and the whole of its answer as text.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, Method, OutgoingBody, OutgoingRequest, Scheme};

/// Sends a POST with that body, or a GET without any, and comes back with status, headers and body.
///
/// # Errors
///
/// The code of the contract, as it is spelled there or nearly so.
pub fn get(url: &str, headers: &[(&str, String)], body: &str) -> Result<String, String> {
    let (scheme, rest) = url.split_once("://").ok_or("no scheme")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let fields = Fields::new();
    for (name, value) in headers {
        fields.append(name, value.as_bytes()).map_err(|error| format!("{error:?}"))?;
    }
    let request = OutgoingRequest::new(fields);
    let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
    request.set_scheme(Some(&scheme)).map_err(|()| "no scheme")?;
    request.set_authority(Some(authority)).map_err(|()| "no authority")?;
    request.set_path_with_query(Some(path)).map_err(|()| "no path")?;
    if !body.is_empty() {
        request.set_method(&Method::Post).map_err(|()| "no method")?;
    }
    let outgoing = request.body().map_err(|()| "no body")?;
    let answer = outgoing_handler::handle(request, None).map_err(|code| format!("{code:?}"))?;
    if !body.is_empty() {
        let stream = outgoing.write().map_err(|()| "no stream")?;
        stream.blocking_write_and_flush(body.as_bytes()).map_err(|error| format!("{error:?}"))?;
    }
    OutgoingBody::finish(outgoing, None).map_err(|code| format!("{code:?}"))?;
    answer.subscribe().block();
    let answer = answer.get().ok_or("no answer")?.map_err(|()| "taken")?.map_err(|code| format!("{code:?}"))?;
    let mut text = format!("{}\n", answer.status());
    for (name, value) in answer.headers().entries() {
        text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(&value)));
    }
    let incoming = answer.consume().map_err(|()| "consumed")?;
    let stream = incoming.stream().map_err(|()| "no stream")?;
    while let Ok(bytes) = stream.blocking_read(4096) {
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    Ok(text)
}
