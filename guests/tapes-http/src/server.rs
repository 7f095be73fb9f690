//! The configured server, with retries until a deadline.

use crate::path::Path;
use crate::{SERVER, TOKEN};
use bub_guest::http::{self, Request, Response};
use bub_guest::{Error, ErrorKind, Result, Schema, config};
use serde::Deserialize;
use serde_json::Value;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

/// How long one call tries, in milliseconds, unless configured: less than the five seconds that the host gives it.
const TIMEOUT: u64 = 4_000;

/// Maximum attempts.
const TRIES: u32 = 4;

/// Delay before the second attempt; it doubles for each further one.
const PAUSE: Duration = Duration::from_millis(100);

/// Timeout of one attempt, so that there is time for another.
const ONE_TRY: Duration = Duration::from_millis(2_500);

/// The table `[plugins.tapes-http.config]`.
#[derive(Deserialize, Schema)]
pub struct Settings {
    /// The server, as in `https://tapes.example.com`.
    url: String,
    /// The secret that goes to the server as a bearer token: `tapes`.
    #[serde(default)]
    #[schema(with = String)]
    token: Option<String>,
    /// How long one call may try, below the deadline of a call.
    #[serde(default = "patience")]
    #[schema(default = TIMEOUT)]
    patience_ms: u64,
}

fn patience() -> u64 {
    TIMEOUT
}

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
    /// `config` when there is no `url` in the configuration, or it is none.
    pub fn new() -> Result<Self> {
        let settings: Settings = config::load()?;
        let token = settings.token.map(|name| TOKEN.placeholder_of(&name)).transpose()?;
        let url = settings.url.trim_end_matches('/').to_owned();
        Ok(Self { url, token, patience: Duration::from_millis(settings.patience_ms) })
    }

    /// # Errors
    ///
    /// The server refused the request, or could not be asked.
    pub fn get(&self, path: &Path) -> Result<Answer> {
        self.understood(self.ask(SERVER.get(self.at(path)))?, false)
    }

    /// Like [`Server::get`]; `None` if the server does not know the path.
    ///
    /// # Errors
    ///
    /// As [`Server::get`].
    pub fn get_if_known(&self, path: &Path) -> Result<Option<Answer>> {
        match self.ask(SERVER.get(self.at(path)))? {
            Response { status: 404 | 405, .. } => Ok(None),
            response => self.understood(response, false).map(Some),
        }
    }

    /// Sends a write, which is repeated with the same key if the outcome is uncertain.
    ///
    /// # Errors
    ///
    /// As [`Server::get`].
    pub fn post(&self, path: &Path, last: Option<u64>, key: Option<&str>, body: &str) -> Result<Answer> {
        let key = key.map_or_else(chance, str::to_owned);
        let request =
            SERVER.post(self.at(path)).header("content-type", "application/jsonl").header("idempotency-key", key);
        let request = match last {
            Some(last) => request.header("if-match", format!("\"{last}\"")),
            None => request,
        };
        self.understood(self.ask(request.body(body))?, true)
    }

    fn at(&self, path: &Path) -> String {
        format!("{}{}", self.url, path.as_str())
    }

    fn ask(&self, mut request: Request) -> Result<Response> {
        let begun = Instant::now();
        if http::parts(&self.url).is_none() {
            return Err(Error::config(format!("`url` of the plugin's configuration: `{}` is no address", self.url)));
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut why = String::new();
        for tried in 0..TRIES {
            if tried > 0 {
                std::thread::sleep(PAUSE * (1 << (tried - 1)));
            }
            let left = self.patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            request = request.timeout(left.min(ONE_TRY));
            match request.send() {
                Ok(response) if is_temporary(response.status) => why = said(&response),
                Ok(response) => return Ok(response),
                Err(error) if error.is_temporary() => why = error.message,
                Err(error) => return Err(Error::temporary(format!("the server `{}`: {error}", self.url))),
            }
        }
        Err(Error::temporary(format!("the server `{}` cannot be asked: {why}", self.url)))
    }

    fn understood(&self, response: Response, is_write: bool) -> Result<Answer> {
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
            Some(kind) => Err(Error::new(kind, format!("the server `{}` refused: {}", self.url, said(&response)))),
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
    /// It is no UTF-8.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.0.body).map_err(|_| Error::temporary("the server answered what is no text"))
    }

    /// # Errors
    ///
    /// It is no JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.0.body).map_err(|_| Error::temporary("the server answered what is no JSON"))
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

/// An idempotency key: only this call repeats its write.
fn chance() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("once-{:016x}{:016x}", half(), half())
}
