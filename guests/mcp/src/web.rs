//! A server that is an address: streamable HTTP. Each message is a POST request; the answer is JSON or a stream of events.

use crate::dialog::{Dialog, Step};
use crate::events::{Events, Place};
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

/// How often the stream of one answer is resumed.
const MAX_RESUMPTIONS: u32 = 20;

/// The media type of a stream of events.
const EVENTS: &str = "text/event-stream";

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

/// What a stream came to.
enum Heard {
    Answer(Outcome),
    /// It ended or broke before the answer.
    BrokenOff(Error),
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
        if !kind.starts_with(EVENTS) {
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
        let mut events = Events::new(stream, Place::default());
        let mut resumptions = 0;
        loop {
            let broken = match self.listen(&mut events, dialog)? {
                Heard::Answer(outcome) => return Ok(outcome),
                Heard::BrokenOff(error) => error,
            };
            let place = events.place().clone();
            let Some((id, pause)) = place.resumed() else { return Err(broken) };
            if resumptions == MAX_RESUMPTIONS {
                let what = format!("broke off {} times before it answered", resumptions + 1);
                return Err(dialog.error(ErrorKind::Temporary, what));
            }
            resumptions += 1;
            std::thread::sleep(pause.min(dialog.left()));
            if dialog.left().is_zero() {
                return Err(dialog.late());
            }
            // A server that does not go on has no more to say about it: that it broke off is what matters.
            let Some(stream) = self.resumed(id, dialog.left()) else { return Err(broken) };
            events = Events::new(stream, place);
        }
    }

    /// Reads a stream up to the answer or its end.
    ///
    /// # Errors
    ///
    /// The server says too much, or nothing in time.
    fn listen(&self, events: &mut Events, dialog: &mut Dialog<'_>) -> Result<Heard> {
        loop {
            let said = match events.next() {
                Ok(Some(said)) => said,
                Ok(None) => {
                    let error = dialog.error(ErrorKind::Temporary, "ended its answer before it was whole");
                    return Ok(Heard::BrokenOff(error));
                }
                Err(error) if error.kind == ErrorKind::Temporary => {
                    if dialog.left().is_zero() {
                        return Err(dialog.late());
                    }
                    let error = dialog.error(error.kind, format!("broke off: {}", error.message));
                    return Ok(Heard::BrokenOff(error));
                }
                Err(error) => return Err(dialog.error(error.kind, format!("broke off: {}", error.message))),
            };
            match dialog.take(&said)? {
                Step::Answered(outcome) => return Ok(Heard::Answer(outcome)),
                Step::Reply(reply) => {
                    // What becomes of it is the server's concern.
                    let _ = self.post_text(reply, NOTIFY_TIME).open();
                }
                Step::Wait if dialog.left().is_zero() => return Err(dialog.late()),
                Step::Wait => {}
            }
        }
    }

    /// The rest of a stream after the event of that id; none if the server does not send it.
    fn resumed(&self, id: &str, time: Duration) -> Option<Stream> {
        let url = self.settings.url.as_deref().unwrap_or_default();
        let request = if url.starts_with("http://") { PLAIN.get(url) } else { WEB.get(url) };
        let request = self.with_headers(request.header("accept", EVENTS).header("last-event-id", id));
        let stream = request.timeout(time).deadline(time).open().ok()?;
        let is_stream = stream.header("content-type").is_some_and(|kind| kind.to_ascii_lowercase().starts_with(EVENTS));
        (stream.status == 200 && is_stream).then_some(stream)
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
        let request = if url.starts_with("http://") { PLAIN.post(url) } else { WEB.post(url) };
        let request = request.header("content-type", "application/json").header("accept", TYPES);
        self.with_headers(request).body(message).timeout(time).deadline(time)
    }

    /// What goes with each request: the user's headers, the revision and the session.
    fn with_headers(&self, mut request: Request) -> Request {
        for (name, value) in &self.settings.headers {
            request = request.header(name.to_ascii_lowercase(), value);
        }
        if let Some(protocol) = self.protocol {
            request = request.header("mcp-protocol-version", protocol);
        }
        if let Some(session) = self.session {
            request = request.header("mcp-session-id", session);
        }
        request
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
    if status == 403
        && let Some(scopes) = stream.header("www-authenticate").and_then(missing_scopes)
    {
        let options = scopes.iter().map(|scope| format!(" --scope {scope}")).collect::<String>();
        let what = format!("asks for a login that allows more: bub-wasm mcp login {}{options}", dialog.server());
        return Err(Failure::Other(dialog.error(ErrorKind::Denied, what)));
    }
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

/// The scopes that a login has to have for the request, where a server says that they are missing (RFC 6750, section 3.1). They
/// are shown as options of a command, so that others than plain ones are not taken.
fn missing_scopes(challenge: &str) -> Option<Vec<&str>> {
    if !challenge.contains("insufficient_scope") {
        return None;
    }
    let (_, rest) = challenge.split_once("scope=\"")?;
    let scopes: Vec<&str> = rest.split_once('"')?.0.split(' ').collect();
    let is_plain = |scope: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:./".contains(&byte);
        (1..=60).contains(&scope.len())
            && scope.bytes().enumerate().all(|(at, byte)| plain(byte) || at > 0 && byte == b'-')
    };
    (scopes.len() <= 10 && scopes.iter().all(is_plain)).then_some(scopes)
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
    use super::{header_value, missing_scopes};

    #[test]
    fn scopes_that_a_login_lacks_are_plain_or_not_taken() {
        let challenge = |scopes: &str| format!("Bearer error=\"insufficient_scope\", scope=\"{scopes}\"");
        assert_eq!(missing_scopes(&challenge("mcp:basic a-b")), Some(vec!["mcp:basic", "a-b"]));
        assert_eq!(missing_scopes("Bearer error=\"invalid_token\", scope=\"a\""), None);
        for hostile in ["", "-x", "a;b", "`id`", "$(id)", "a  b", &"x".repeat(61), &["a"; 11].join(" ")] {
            assert_eq!(missing_scopes(&challenge(hostile)), None, "{hostile}");
        }
    }

    #[test]
    fn a_name_in_a_header_is_ascii_or_encoded() {
        assert_eq!(header_value("get_time"), "get_time");
        assert_eq!(header_value("füg"), "=?base64?ZsO8Zw==?=");
        assert_eq!(header_value(" a"), "=?base64?IGE=?=");
        assert_eq!(header_value("=?x"), "=?base64?PT94?=");
        assert_eq!(header_value("file:///a\nb"), "=?base64?ZmlsZTovLy9hCmI=?=");
    }
}
