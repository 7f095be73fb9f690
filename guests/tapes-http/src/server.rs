//! The configured server, with retries until a deadline.

use crate::bub::plugin::{config, secrets};
use crate::bub::types::types::{Error, ErrorKind};
use crate::error::{error, failed, misconfigured};
use crate::path::Path;
use http_client::{NoAnswer, Request, Response};
use serde_json::Value;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

/// Default deadline of one call: below the five seconds that the host allows.
const PATIENCE: Duration = Duration::from_millis(4_000);

/// Maximum attempts.
const TRIES: u32 = 4;

/// Delay before the second attempt; it doubles for each further one.
const PAUSE: Duration = Duration::from_millis(100);

/// Timeout of one attempt, so that there is time for another.
const ONE_TRY: Duration = Duration::from_millis(2_500);

pub struct Server {
    /// Without a trailing slash.
    url: String,
    /// The placeholder that the host replaces by the secret.
    token: Option<String>,
    patience: Duration,
}

/// A response to a valid request: 200, or 412 for a write.
pub struct Answer(Response);

impl Server {
    /// # Errors
    ///
    /// `config` if the configuration has no valid `url`.
    pub fn new() -> Result<Self, Error> {
        let Some(Value::String(url)) = setting("url") else {
            return Err(misconfigured(
                "`url` of the plugin's configuration is missing: the server that keeps the tapes",
            ));
        };
        let patience = match setting("patience_ms") {
            None => PATIENCE,
            Some(value) => value.as_u64().map(Duration::from_millis).ok_or_else(|| {
                misconfigured(format!("`patience_ms` of the plugin's configuration: `{value}` is no number"))
            })?,
        };
        let token = match setting("token") {
            None => None,
            Some(Value::String(name)) => Some(secrets::placeholder(&name)?),
            Some(value) => {
                let message = format!("`token` of the plugin's configuration: `{value}` is no secret's name");
                return Err(misconfigured(message));
            }
        };
        Ok(Self { url: url.trim_end_matches('/').to_owned(), token, patience })
    }

    /// # Errors
    ///
    /// The server's refusal, or why it cannot be reached.
    pub fn get(&self, path: &Path) -> Result<Answer, Error> {
        self.understood(self.ask(path, Vec::new(), None)?, false)
    }

    /// Like [`Server::get`]; `None` if the server does not know the path.
    ///
    /// # Errors
    ///
    /// As [`Server::get`].
    pub fn get_if_known(&self, path: &Path) -> Result<Option<Answer>, Error> {
        match self.ask(path, Vec::new(), None)? {
            Response { status: 404 | 405, .. } => Ok(None),
            response => self.understood(response, false).map(Some),
        }
    }

    /// Sends a write, which is repeated with the same key if the outcome is uncertain.
    ///
    /// # Errors
    ///
    /// As [`Server::get`].
    pub fn post(&self, path: &Path, last: Option<u64>, key: Option<&str>, body: &str) -> Result<Answer, Error> {
        let key = key.map_or_else(chance, str::to_owned);
        let mut headers = vec![("content-type", "application/jsonl".to_owned()), ("idempotency-key", key)];
        if let Some(last) = last {
            headers.push(("if-match", format!("\"{last}\"")));
        }
        self.understood(self.ask(path, headers, Some(body))?, true)
    }

    fn ask(&self, path: &Path, mut headers: Vec<(&str, String)>, body: Option<&str>) -> Result<Response, Error> {
        let begun = Instant::now();
        let wrong = || misconfigured(format!("`url` of the plugin's configuration: `{}` is no address", self.url));
        if !http_client::is_address(&self.url) {
            return Err(wrong());
        }
        let url = format!("{}{}", self.url, path.as_str());
        if let Some(token) = &self.token {
            headers.push(("authorization", format!("Bearer {token}")));
        }
        let request = Request { url: &url, headers: &headers, body: body.map(str::as_bytes) };
        let mut why = String::new();
        for tried in 0..TRIES {
            if tried > 0 {
                std::thread::sleep(PAUSE * (1 << (tried - 1)));
            }
            let left = self.patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            match http_client::send(&request, left.min(ONE_TRY)) {
                Ok(response) if is_temporary(response.status) => why = said(&response),
                Ok(response) => return Ok(response),
                Err(NoAnswer { why: reason, is_temporary: true }) => why = reason,
                Err(NoAnswer { why, .. }) => return Err(failed(format!("the server `{}`: {why}", self.url))),
            }
        }
        Err(failed(format!("the server `{}` cannot be asked: {why}", self.url)))
    }

    fn understood(&self, response: Response, is_write: bool) -> Result<Answer, Error> {
        let kind = match response.status {
            200 => None,
            412 if is_write => None,
            400 | 413 | 422 => Some(ErrorKind::InvalidInput),
            401 | 403 => Some(ErrorKind::Denied),
            404 | 405 => Some(ErrorKind::Config),
            _ => Some(ErrorKind::Unknown),
        };
        match kind {
            None => Ok(Answer(response)),
            Some(kind) => Err(error(kind, format!("the server `{}` refused: {}", self.url, said(&response)))),
        }
    }
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.0.status
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.header(name)
    }

    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn text(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.0.body).map_err(|_| failed("the server answered what is no text"))
    }

    /// # Errors
    ///
    /// It is not JSON.
    pub fn json(&self) -> Result<Value, Error> {
        serde_json::from_slice(&self.0.body).map_err(|_| failed("the server answered what is no JSON"))
    }
}

/// Whether a retry may succeed.
fn is_temporary(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The server's error message, if any.
fn said(response: &Response) -> String {
    let json: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    match json["error"]["message"].as_str() {
        Some(message) => format!("{} ({})", message, response.status),
        None => format!("status {}", response.status),
    }
}

fn setting(key: &str) -> Option<Value> {
    serde_json::from_str(&config::get(key)?).ok()
}

/// A random key for a write.
fn chance() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("once-{:016x}{:016x}", half(), half())
}
