//! The Bot API. The request path contains a placeholder for the token, which the host replaces.

use crate::multipart::Form;
use crate::settings::Settings;
use crate::{SERVER, TOKEN};
use bub_guest::http::{self, Response};
use bub_guest::{Error, ErrorKind};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long an answer is waited for, beside what it may take its time for.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Timeout for uploads and downloads.
const LONG_PATIENCE: Duration = Duration::from_secs(40);

/// Why a request failed.
#[derive(Debug)]
pub struct Refusal {
    /// Telegram's error code; 0 without an answer.
    pub code: i64,
    /// Telegram's error message, or the network's.
    pub why: String,
    /// Telegram's retry delay, in seconds.
    pub retry_after: Option<u64>,
    /// The new id of a group that became a supergroup.
    pub moved_to: Option<i64>,
    /// Whether a retry may succeed.
    pub is_temporary: bool,
}

/// The envelope of every answer.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Said {
    ok: bool,
    result: Value,
    error_code: i64,
    description: String,
    parameters: Parameters,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

/// A Bot API server with its bot.
pub struct Api<'a> {
    base: &'a str,
}

impl<'a> Api<'a> {
    pub fn new(settings: &'a Settings) -> Self {
        Self { base: settings.api() }
    }

    /// Calls a method. `seconds`: additional time for long polling.
    ///
    /// # Errors
    ///
    /// [`Refusal`]
    pub fn call(&self, method: &str, arguments: &Value, seconds: u64) -> Result<Value, Refusal> {
        let body = arguments.to_string().into_bytes();
        self.post(method, "application/json", body, TIMEOUT + Duration::from_secs(seconds))
    }

    /// Calls a method with a file.
    ///
    /// # Errors
    ///
    /// [`Refusal`]
    pub fn upload(&self, method: &str, form: Form) -> Result<Value, Refusal> {
        let (content_type, body) = form.finish();
        self.post(method, &content_type, body, LONG_PATIENCE)
    }

    fn post(&self, method: &str, content_type: &str, body: Vec<u8>, wait: Duration) -> Result<Value, Refusal> {
        let url = format!("{}/bot{}/{method}", self.base, token()?);
        said(&SERVER.post(url).header("content-type", content_type).body(body).timeout(wait).send()?)
    }

    /// Downloads a file of at most `most` bytes.
    ///
    /// # Errors
    ///
    /// [`Refusal`]; with code 0 if it is larger.
    pub fn file(&self, id: &str, most: u64) -> Result<Vec<u8>, Refusal> {
        let found = self.call("getFile", &json!({ "file_id": id }), 0)?;
        let path = found["file_path"].as_str().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        if path.is_empty() || !path.chars().all(is_plain) || path.contains("..") {
            return Err(Refusal::lasting("telegram did not say where it is"));
        }
        let url = format!("{}/file/bot{}/{path}", self.base, token()?);
        let answer = SERVER.get(url).timeout(LONG_PATIENCE).send()?;
        match answer.status {
            200 if answer.body.len() as u64 <= most => Ok(answer.body),
            200 => Err(Refusal::lasting("it is larger than telegram said")),
            status => Err(Refusal { is_temporary: status >= 500, ..Refusal::lasting(&format!("status {status}")) }),
        }
    }
}

/// The mark that the host replaces by the token.
fn token() -> Result<String, Refusal> {
    TOKEN.placeholder().map_err(|error| Refusal::lasting(&error.message))
}

fn said(answer: &Response) -> Result<Value, Refusal> {
    let Ok(said) = serde_json::from_slice::<Said>(&answer.body) else {
        let why = format!("status {} without a word of telegram", answer.status);
        // The answer of a proxy.
        return Err(Refusal { is_temporary: answer.status >= 500, ..Refusal::lasting(&why) });
    };
    if said.ok {
        return Ok(said.result);
    }
    let code = if said.error_code == 0 { i64::from(answer.status) } else { said.error_code };
    Err(Refusal {
        code,
        why: said.description,
        retry_after: said.parameters.retry_after,
        moved_to: said.parameters.migrate_to_chat_id,
        is_temporary: code == 429 || code >= 500,
    })
}

impl Refusal {
    pub fn lasting(why: &str) -> Self {
        Self { code: 0, why: why.to_owned(), retry_after: None, moved_to: None, is_temporary: false }
    }

    /// Whether Telegram's message contains these words.
    pub fn says(&self, words: &str) -> bool {
        self.code == 400 && self.why.to_lowercase().contains(words)
    }
}

impl From<http::Error> for Refusal {
    fn from(error: http::Error) -> Self {
        Self { is_temporary: error.is_temporary(), ..Self::lasting(&error.message) }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let Refusal { code, why, retry_after, is_temporary, .. } = refusal;
        let kind = match code {
            _ if is_temporary => ErrorKind::Temporary,
            0 | 401 => ErrorKind::Config,
            404 if why == "Not Found" => ErrorKind::Config,
            403 | 404 => ErrorKind::NotFound,
            400 if why.contains("not found") => ErrorKind::NotFound,
            409 => ErrorKind::Temporary,
            _ => ErrorKind::InvalidInput,
        };
        let help = match (code, kind) {
            (409, _) => "; only one program can ask for a bot's messages, and none while it has a webhook",
            (401 | 404, ErrorKind::Config) => {
                "; telegram does not know the token: bub-wasm secret set telegram_token --host api.telegram.org"
            }
            _ => "",
        };
        let details = retry_after.map(|seconds| json!({ "retry_after": seconds }).to_string());
        Self { kind, message: format!("telegram: {why}{help}"), details }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> Error {
        let answer = Response { status, headers: Vec::new(), body: body.as_bytes().to_vec() };
        said(&answer).expect_err("it is a refusal").into()
    }

    #[test]
    fn temporary_errors_are_distinguished_from_permanent_ones() {
        let too_many =
            r#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}"#;
        let error = answered(429, too_many);
        assert_eq!((error.kind, error.details.as_deref()), (ErrorKind::Temporary, Some(r#"{"retry_after":7}"#)));
        for (status, description, kind) in [
            (500, "Internal Server Error", ErrorKind::Temporary),
            (403, "Forbidden: bot was blocked by the user", ErrorKind::NotFound),
            (400, "Bad Request: chat not found", ErrorKind::NotFound),
            (400, "Bad Request: message is too long", ErrorKind::InvalidInput),
            (401, "Unauthorized", ErrorKind::Config),
            (404, "Not Found", ErrorKind::Config),
            (409, "Conflict: terminated by other getUpdates request", ErrorKind::Temporary),
        ] {
            let body = json!({ "ok": false, "error_code": status, "description": description }).to_string();
            assert_eq!(answered(status, &body).kind, kind, "{description}");
        }
        assert_eq!(answered(502, "<html>bad gateway</html>").kind, ErrorKind::Temporary);
    }
}
