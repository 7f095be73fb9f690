//! Requests of a call that is recorded or played back, each with its whole response.

use super::egress::Late;
use crate::plugin::recording::CallRecording;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::future::Future;
use wasmtime_wasi_http::{Error, Result, WasiBody};

/// The name of a request among the calls of imports.
const FUNCTION: &str = "wasi:http/outgoing-handler.handle";

/// The largest body that is recorded, in bytes.
const MAX_BODY: usize = 1 << 20;

/// Why a request has no response.
const ERRORS: [(&str, Error); 4] = [
    ("denied", Error::HttpRequestDenied),
    ("address prohibited", Error::DestinationIpProhibited),
    ("invalid address", Error::HttpRequestUriInvalid),
    ("timed out", Error::HttpResponseTimeout),
];

/// A response.
#[derive(Serialize, Deserialize)]
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

type Answered = (http::Response<WasiBody>, Late);

/// Sends the request, and records it with its response.
pub(super) async fn record<F: Future<Output = Result<Answered>>>(
    recording: CallRecording,
    request: http::Request<WasiBody>,
    send: impl FnOnce(http::Request<WasiBody>) -> F,
) -> Result<Answered> {
    let (asked, request) = shown(&recording, request).await?;
    match send(request).await {
        Ok((response, late)) => {
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let shown = Response {
                status: parts.status.as_u16(),
                headers: pairs(&parts.headers),
                body: text(&recording, &bytes),
            };
            recording.imported(FUNCTION, vec![asked], json!({ "ok": shown }));
            Ok((http::Response::from_parts(parts, whole(bytes)), late))
        }
        Err(error) => {
            let known = ERRORS.iter().find(|(_, known)| format!("{known:?}") == format!("{error:?}"));
            let name = known.map_or_else(|| error.to_string(), |(name, _)| (*name).to_owned());
            recording.imported(FUNCTION, vec![asked], json!({ "error": name }));
            Err(error)
        }
    }
}

/// Answers the request from the recording.
pub(super) async fn play(recording: CallRecording, request: http::Request<WasiBody>) -> Result<Answered> {
    let (asked, _) = shown(&recording, request).await?;
    let arguments = vec![asked];
    let answer =
        recording.answer(FUNCTION, &arguments).unwrap_or_else(|| json!({ "error": "no response is recorded" }));
    recording.imported(FUNCTION, arguments, answer.clone());
    let failed = |reason: &str| Error::InternalError(Some(reason.to_owned()));
    if let Some(name) = answer.get("error").and_then(Value::as_str) {
        let known = ERRORS.into_iter().find(|(known, _)| *known == name);
        return Err(known.map_or_else(|| failed(name), |(_, error)| error));
    }
    let response = answer.get("ok").cloned().and_then(|response| serde_json::from_value(response).ok());
    let Response { status, headers, body } = response.ok_or_else(|| failed("the recorded response is none"))?;
    let mut played = http::Response::new(whole(bytes(&body)));
    *played.status_mut() = http::StatusCode::from_u16(status).map_err(|_| failed("the recorded status is none"))?;
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            played.headers_mut().append(name, value);
        }
    }
    let late: Late = Box::new(async { Ok(()) });
    Ok((played, late))
}

/// The request as it is recorded: secrets are placeholders still.
async fn shown(
    recording: &CallRecording,
    request: http::Request<WasiBody>,
) -> Result<(Value, http::Request<WasiBody>)> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let shown = json!({
        "method": parts.method.as_str(),
        "url": parts.uri.to_string(),
        "headers": pairs(&parts.headers),
        "body": text(recording, &bytes),
    });
    Ok((shown, http::Request::from_parts(parts, whole(bytes))))
}

fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let pair = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    headers.iter().map(pair).collect()
}

/// A body: as text if it is text.
fn text(recording: &CallRecording, bytes: &Bytes) -> Value {
    if bytes.len() > MAX_BODY {
        recording.cannot_record("it sends or receives a body of more than 1 MiB");
        return Value::Null;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

fn bytes(body: &Value) -> Bytes {
    let encoded = || STANDARD.decode(body.get("base64")?.as_str()?).ok();
    match body {
        Value::String(text) => text.clone().into(),
        _ => encoded().unwrap_or_default().into(),
    }
}

fn whole(bytes: Bytes) -> WasiBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
