//! Requests of guests.

use std::fmt;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use crate::body::Body;
use crate::error::Error;
use crate::host::Host;
use crate::target::Target;

/// Most servers refuse longer ones too.
const MAX_URL: usize = 8 << 10;

/// A request that has not been checked against any grant.
#[derive(Debug)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    url: Url,
    /// The guest's headers. Hop-by-hop headers, `Host` and `Content-Length` are set when the request is sent.
    pub headers: HeaderMap,
    /// Empty unless [`with_body`](Self::with_body) sets it.
    pub body: Body,
    /// Timeout for the head of the answer, if shorter than the limit.
    pub first_byte: Option<Duration>,
    /// Timeout between two segments of the answer's body, if shorter than the limit.
    pub between_bytes: Option<Duration>,
}

impl Request {
    /// A request without headers and body. The host is normalized as in the URL standard: `http://0x7f.1` means
    /// `127.0.0.1`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if `url` is not an `http` or `https` URL with a host, contains a user name or password, or is
    /// longer than 8 KiB, and for the methods `CONNECT` and `TRACE`.
    pub fn new(method: Method, url: &str) -> Result<Request, Error> {
        let invalid = |reason: &str| Error::Invalid(reason.to_owned());
        if [Method::CONNECT, Method::TRACE].contains(&method) {
            return Err(Error::Invalid(format!("method `{method}` cannot be sent")));
        }
        if url.len() > MAX_URL {
            return Err(Error::Invalid(format!("the url is longer than {MAX_URL} bytes")));
        }
        let mut url = Url::parse(url).map_err(|error| Error::Invalid(format!("the url cannot be read: {error}")))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(invalid("the url is neither `http` nor `https`"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("the url contains a user name"));
        }
        if url.port() == Some(0) {
            return Err(invalid("the url has port 0"));
        }
        let host = Host::from_url(&url).ok_or_else(|| invalid("the url has no host that can be looked up"))?;
        // Without the trailing dot, so that one host has one `Host` header, one certificate and one connection pool.
        url.set_host(Some(&host.to_string())).map_err(|_| invalid("the url has no host that can be looked up"))?;
        url.set_fragment(None);
        Ok(Request {
            method,
            url,
            headers: HeaderMap::new(),
            body: Body::empty(),
            first_byte: None,
            between_bytes: None,
        })
    }

    /// Sets the body.
    pub fn with_body(self, body: Body) -> Request {
        Request { body, ..self }
    }

    /// The URL.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Splits the request into its URL and the rest.
    pub fn into_parts(self) -> (Url, Parts) {
        let Request { method, url, headers, body, first_byte, between_bytes } = self;
        (url, Parts { method, headers, body, first_byte, between_bytes })
    }
}

/// A request without its URL.
pub struct Parts {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: Body,
    pub first_byte: Option<Duration>,
    pub between_bytes: Option<Duration>,
}

/// The host of `url` as a grant would name it.
pub(crate) fn grant_target(url: &Url) -> impl fmt::Display + use<> {
    Target::from_url(url).map_or_else(|| "?".to_owned(), |target| target.to_string())
}
