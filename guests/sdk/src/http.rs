//! HTTP requests, to the hosts that grants name.
//!
//! ```
//! use bub_guest::{Result, http, test};
//!
//! bub_guest::plugin! {
//!     about: "Asks a server.",
//!     grants: {
//!         /// to ask the server
//!         SERVER: Http("api.example.com"),
//!         /// to say who asks
//!         KEY: Secret("example"),
//!     },
//! }
//!
//! fn ask(question: &str) -> Result<String> {
//!     let answer: serde_json::Value = SERVER
//!         .get("https://api.example.com/answers")
//!         .query("q", question)
//!         .header("x-api-key", KEY.placeholder()?)
//!         .send()?
//!         .success()?
//!         .json()?;
//!     Ok(answer["text"].as_str().unwrap_or_default().to_owned())
//! }
//!
//! # fn main() {
//! let host = test::Host::new().http(|request| {
//!     assert_eq!(request.url, "https://api.example.com/answers?q=how%3F");
//!     assert_eq!(request.header_value("x-api-key"), Some("{{secret:example}}"));
//!     test::response(200, r#"{"text": "so"}"#)
//! });
//! assert_eq!(ask("how?").unwrap(), "so");
//! # }
//! ```

mod error;
mod response;
#[cfg(target_family = "wasm")]
pub(crate) mod wasi;

use crate::backend;
use crate::grant::Http;
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

pub use error::{Error, Failure};
pub use response::{Response, Stream};

/// A request.
#[derive(Debug, Clone)]
#[must_use = "a request is sent by `send` or `open`"]
pub struct Request {
    /// `GET`, `POST` or another method.
    pub method: &'static str,
    /// The whole URL. A secret's placeholder can stand in its path and its query.
    pub url: String,
    /// Names and values. A secret's placeholder can stand in a value.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// How long the head of the response, and each piece of its body, may take.
    pub timeout: Duration,
    /// How long all of it may take.
    pub deadline: Option<Duration>,
}

impl Http {
    /// A GET request of a whole URL, `https://HOST/PATH`.
    pub fn get(&self, url: impl Into<String>) -> Request {
        self.request("GET", url)
    }

    /// A POST request.
    pub fn post(&self, url: impl Into<String>) -> Request {
        self.request("POST", url)
    }

    /// A request with another method.
    pub fn request(&self, method: &'static str, url: impl Into<String>) -> Request {
        Request {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: None,
            timeout: Duration::from_secs(30),
            deadline: None,
        }
    }
}

impl Request {
    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The value of a header, for tests.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Adds a parameter to the query, percent-encoded.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        encode(&mut self.url, name);
        self.url.push('=');
        encode(&mut self.url, value);
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets the body to the JSON of a value, and `content-type` with it.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if the value has no JSON.
    pub fn json<T: Serialize>(self, value: &T) -> crate::Result<Self> {
        let json = serde_json::to_vec(value)?;
        Ok(self.header("content-type", "application/json").body(json))
    }

    /// Limits how long the head of the response, and each piece of its body, may take; 30 seconds unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Limits how long all of it may take, the body of the response included.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sends it, and waits for the whole response.
    ///
    /// # Errors
    ///
    /// [`Error`]. A response of any status is none.
    pub fn send(&self) -> Result<Response, Error> {
        self.open()?.collect()
    }

    /// Sends it, and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// [`Error`]. A response of any status is none.
    pub fn open(&self) -> Result<Stream, Error> {
        if parts(&self.url).is_none() {
            return Err(Error::invalid_url(&self.url));
        }
        backend::http::open(self)
    }
}

/// Scheme, host with its port, and the path with its query, of an `http:` or `https:` URL.
pub fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    (matches!(scheme, "http" | "https") && !authority.is_empty()).then_some((scheme, authority, path))
}

fn encode(to: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => to.push(char::from(byte)),
            // A string takes all that is written to it.
            byte => _ = write!(to, "%{byte:02X}"),
        }
    }
}
