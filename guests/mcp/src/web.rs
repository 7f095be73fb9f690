//! A server that is an address: streamable HTTP. Each message is a POST request; the answer is JSON or a stream of events.

use crate::dialog::{Dialog, Step};
use crate::events::Events;
use crate::message::{self, MAX_MESSAGE, Message, Outcome};
use crate::settings::Settings;
use crate::{PLAIN, WEB, text};
use bub_guest::http::{Error as HttpError, Failure as HttpFailure, Request, Stream};
use bub_guest::{Error, ErrorKind, Result};
use serde_json::Value;
use std::time::Duration;

/// The longest id of a session, in bytes.
const MAX_SESSION: usize = 1_024;

/// Bytes of an error's body that are read.
const MAX_REFUSAL: usize = 64 << 10;

/// How long a message without an answer may take.
const NOTIFY_TIME: Duration = Duration::from_secs(10);

const TYPES: &str = "application/json, text/event-stream";

/// An address, and what goes with each request to it.
pub struct Peer<'a> {
    pub settings: &'a Settings,
    /// The revision that was agreed on; none: not yet.
    pub protocol: Option<&'a str>,
    /// The id of the session, for servers that have such.
    pub session: Option<&'a str>,
    /// Whether method and name are repeated in headers, as of 2026-07-28.
    pub is_stateless: bool,
}

/// An answer, and the session that the server began with it.
pub struct Reply {
    pub outcome: Outcome,
    pub session: Option<String>,
}

/// Why there is no answer.
pub enum Failure {
    /// The server no longer knows the session.
    Expired,
    /// It refused the request as a whole, with that status.
    Status(Error),
    Other(Error),
}

impl Peer<'_> {
    /// Sends a request, and waits for its answer.
    ///
    /// # Errors
    ///
    /// The server could not be reached, refused, hung, or said too much.
    pub fn request(&self, request: &Value, dialog: &mut Dialog<'_>) -> std::result::Result<Reply, Failure> {
        let stream = self.post(request, dialog.left()).open().map_err(|error| Failure::Other(failed(dialog, error)))?;
        let session = session(dialog, &stream).map_err(Failure::Other)?;
        let outcome = match stream.status {
            200..=299 => self.answer(stream, dialog).map_err(Failure::Other)?,
            404 if self.session.is_some() => return Err(Failure::Expired),
            _ => refused(stream, dialog)?,
        };
        Ok(Reply { outcome, session })
    }

    /// Sends a message that has no answer.
    ///
    /// # Errors
    ///
    /// The server could not be reached, or refused it.
    pub fn notify(&self, message: &Value) -> Result<()> {
        self.post(message, NOTIFY_TIME).open()?.collect()?.success().map(drop)
    }

    fn answer(&self, stream: Stream, dialog: &mut Dialog<'_>) -> Result<Outcome> {
        let kind = stream.header("content-type").unwrap_or_default().to_ascii_lowercase();
        if !kind.starts_with("text/event-stream") {
            let body = body(stream, MAX_MESSAGE).map_err(|error| failed(dialog, error))?;
            let Some(body) = body else {
                let most = MAX_MESSAGE >> 20;
                return Err(dialog.error(ErrorKind::Tool, format!("answered with more than {most} MiB")));
            };
            if let Step::Answered(outcome) = dialog.take(&String::from_utf8_lossy(&body))? {
                return Ok(outcome);
            }
            return Err(dialog.error(ErrorKind::Tool, "answered something that is no answer to the request"));
        }
        let mut events = Events::new(stream);
        loop {
            let next = events.next().map_err(|error| match error.kind {
                ErrorKind::Temporary if dialog.left().is_zero() => dialog.late(),
                kind => dialog.error(kind, format!("broke off: {}", error.message)),
            })?;
            let Some(said) = next else {
                return Err(dialog.error(ErrorKind::Temporary, "ended its answer before it was whole"));
            };
            match dialog.take(&said)? {
                Step::Answered(outcome) => return Ok(outcome),
                Step::Reply(reply) => {
                    // What becomes of it is the server's concern.
                    let _ = self.post_text(reply, NOTIFY_TIME).open();
                }
                Step::Wait if dialog.left().is_zero() => return Err(dialog.late()),
                Step::Wait => {}
            }
        }
    }

    fn post(&self, message: &Value, time: Duration) -> Request {
        let mut request = self.post_text(message.to_string(), time);
        if self.is_stateless {
            let method = message["method"].as_str().unwrap_or_default();
            request = request.header("mcp-method", method);
            let params = &message["params"];
            let name = match method {
                "resources/read" => params["uri"].as_str(),
                "tools/call" | "prompts/get" => params["name"].as_str(),
                _ => None,
            };
            if let Some(name) = name {
                request = request.header("mcp-name", header_value(name));
            }
        }
        request
    }

    fn post_text(&self, message: String, time: Duration) -> Request {
        let url = self.settings.url.as_deref().unwrap_or_default();
        let grant = if url.starts_with("http://") { PLAIN.post(url) } else { WEB.post(url) };
        let mut request = grant.header("content-type", "application/json").header("accept", TYPES);
        for (name, value) in &self.settings.headers {
            request = request.header(name.to_ascii_lowercase(), value);
        }
        if let Some(protocol) = self.protocol {
            request = request.header("mcp-protocol-version", protocol);
        }
        if let Some(session) = self.session {
            request = request.header("mcp-session-id", session);
        }
        request.body(message).timeout(time).deadline(time)
    }
}

/// A name as the value of a header: other characters than printable ASCII are encoded, as the protocol says.
fn header_value(name: &str) -> String {
    let is_plain =
        name.bytes().all(|byte| matches!(byte, b' '..=b'~')) && name.trim() == name && !name.starts_with("=?");
    if is_plain { name.to_owned() } else { format!("=?base64?{}?=", base64(name.as_bytes())) }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number =
            three.iter().enumerate().fold(0_u32, |number, (at, byte)| number | u32::from(*byte) << (16 - 8 * at));
        for at in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The session that a response begins.
fn session(dialog: &Dialog<'_>, stream: &Stream) -> Result<Option<String>> {
    let Some(session) = stream.header("mcp-session-id") else { return Ok(None) };
    let is_plain = session.len() <= MAX_SESSION && session.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
    // A value that is redacted or holds a placeholder must not go back.
    match is_plain && !session.contains("{{") {
        true => Ok(Some(session.to_owned())),
        false => Err(dialog.error(ErrorKind::Tool, "gave a session id that is none")),
    }
}

/// A response that is no success: the error in it, if it has one for this request, or its status.
fn refused(stream: Stream, dialog: &Dialog<'_>) -> std::result::Result<Outcome, Failure> {
    let status = stream.status;
    let (kind, what) = match status {
        300..=399 => (ErrorKind::Tool, "redirects, which is not followed: put the address that it leads to into `url`"),
        401 | 403 => (
            ErrorKind::Denied,
            "does not let this in: log in with `bub-wasm mcp login`, or put a key for it into `headers`",
        ),
        408 | 425 | 429 | 500..=599 => (ErrorKind::Temporary, "failed; a later attempt may succeed"),
        404 | 405 => (ErrorKind::NotFound, "has no MCP server at this address"),
        _ => (ErrorKind::Tool, "refused the request"),
    };
    let error = dialog.error(kind, format!("{what} (status {status})"));
    if matches!(status, 401 | 403) {
        return Err(Failure::Other(error));
    }
    let body = body(stream, MAX_REFUSAL).ok().flatten().unwrap_or_default();
    match message::parse(&String::from_utf8_lossy(&body)) {
        Ok(Message::Answer { outcome: Err(refusal), .. }) => Ok(Err(refusal)),
        _ => Err(Failure::Status(error)),
    }
}

/// The whole body; none if it is longer.
fn body(mut stream: Stream, max: usize) -> std::result::Result<Option<Vec<u8>>, HttpError> {
    let mut body = Vec::new();
    while let Some(bytes) = stream.read()? {
        body.extend_from_slice(&bytes);
        if body.len() > max {
            return Ok(None);
        }
    }
    Ok(Some(body))
}

fn failed(dialog: &Dialog<'_>, error: HttpError) -> Error {
    match error.failure {
        HttpFailure::Timeout => dialog.late(),
        _ => {
            let message = text::line(&error.message, 300);
            let error = Error::from(error);
            dialog.error(error.kind, format!("cannot be reached: {message}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::header_value;

    #[test]
    fn a_name_in_a_header_is_ascii_or_encoded() {
        assert_eq!(header_value("get_time"), "get_time");
        assert_eq!(header_value("füg"), "=?base64?ZsO8Zw==?=");
        assert_eq!(header_value(" a"), "=?base64?IGE=?=");
        assert_eq!(header_value("=?x"), "=?base64?PT94?=");
        assert_eq!(header_value("file:///a\nb"), "=?base64?ZmlsZTovLy9hCmI=?=");
    }
}
