//! The HTTP client for plugins' requests.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode, Url};

use crate::error::Error;
use crate::headers;
use crate::host::Host;
use crate::ip_scope::{IpScope, ip_scope};
use crate::limits::Limits;
use crate::network::Network;
use crate::redact_stream::Redactor;
use crate::request::{Parts, Request, grant_target};
use crate::resolve::{AddressNotAllowed, LookupFailed};
use crate::response::{Incoming, ReadLimits, Response};
use crate::rewrite;
use crate::rewrite::{Outgoing, Rewrite};
use crate::target::Target;
use bub_types::text::{clipped, one_line};

/// Maximum characters of a reason in an error.
const MAX_REASON: usize = 200;

/// Sends requests to the hosts that a plugin was granted, and to no others.
#[derive(Clone)]
pub struct EgressClient {
    network: Network,
    targets: Vec<Target>,
    limits: Limits,
    rewrite: Option<Arc<dyn Rewrite>>,
}

impl EgressClient {
    /// A client that allows requests to `targets`, within the default limits.
    pub fn new(network: Network, targets: impl IntoIterator<Item = Target>) -> EgressClient {
        EgressClient { network, targets: targets.into_iter().collect(), limits: Limits::default(), rewrite: None }
    }

    /// Replaces the limits.
    pub fn with_limits(self, limits: Limits) -> EgressClient {
        EgressClient { limits, ..self }
    }

    /// Rewrites each allowed request with `rewrite`.
    pub fn with_rewrite(self, rewrite: impl Rewrite + 'static) -> EgressClient {
        EgressClient { rewrite: Some(Arc::new(rewrite)), ..self }
    }

    /// Sends a request and waits for the head of its answer. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// Each of [`Error`]. With [`Error::NotGranted`], [`Error::Invalid`] and [`Error::Refused`] nothing was sent and no
    /// name was resolved; with [`Error::Private`] no connection was opened.
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        let started = Instant::now();
        let (url, parts) = request.into_parts();
        let named = self.check(&url)?;
        let host = grant_target(&url).to_string();
        let Parts { method, headers, body, first_byte, between_bytes } = parts;

        let (outgoing, redactor) = self.prepare(Outgoing { url, headers })?;
        let (body, length) = body.into_reqwest(self.limits.request)?;
        let Outgoing { url, mut headers } = outgoing;
        // `Content-Length: 0` is sent only for methods that expect a body.
        let expects_body = [Method::POST, Method::PUT, Method::PATCH].contains(&method);
        if let Some(length) = length.filter(|length| *length > 0 || expects_body) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        let is_secure = url.scheme() == "https";
        let mut request = reqwest::Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body);

        let failed = |error| failure(error, &host, named, &redactor);
        let client = self.network.client(named, is_secure).await.map_err(failed)?;
        let wait = self.limits.first_byte.min(first_byte.unwrap_or(self.limits.first_byte)).min(self.limits.total);
        let response = tokio::time::timeout(wait, client.execute(request))
            .await
            .map_err(|_| Error::TimedOut { host: host.clone() })?
            .map_err(failed)?;

        let status = response.status();
        let headers = self.answer_headers(&response, &host, &redactor)?;
        let limit = self.limits.answer;
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(Error::TooLarge { part: "answer", limit });
        }
        let between_bytes = self.limits.between_bytes.min(between_bytes.unwrap_or(self.limits.between_bytes));
        let limits = ReadLimits { host, limit, between_bytes, started, total: self.limits.total, redactor };
        Ok(Response { status, headers, body: Incoming::new(response, limits) })
    }

    /// Checks `url` against the targets, without resolving its name. Returns whether the host is granted by its exact
    /// name.
    fn check(&self, url: &Url) -> Result<bool, Error> {
        let named = self.targets.iter().any(|target| target.names_private(url));
        if named {
            return Ok(true);
        }
        if !self.targets.iter().any(|target| target.allows(url)) {
            return Err(Error::NotGranted { host: grant_target(url).to_string() });
        }
        // An IP address does not go through the resolver, so it is checked here.
        let is_public = match Host::from_url(url) {
            Some(Host::Address(address)) => ip_scope(address) == IpScope::Public,
            Some(name) => !name.is_localhost(),
            None => false,
        };
        if is_public { Ok(false) } else { Err(Error::Private { host: grant_target(url).to_string(), named }) }
    }

    /// The request as it is sent, and the redactor for its answer.
    fn prepare(&self, mut outgoing: Outgoing) -> Result<(Outgoing, Redactor), Error> {
        headers::check_size(&outgoing.headers, self.limits.headers)?;
        headers::strip_request(&mut outgoing.headers);
        let Some(rewrite) = &self.rewrite else {
            return Ok((outgoing, Redactor::default()));
        };
        let redactor = Redactor::new(rewrite::apply(rewrite.as_ref(), &mut outgoing)?);
        headers::strip_request(&mut outgoing.headers);
        headers::check_size(&outgoing.headers, self.limits.headers)?;
        if !redactor.is_empty() {
            headers::request_identity_encoding(&mut outgoing.headers);
        }
        Ok((outgoing, redactor))
    }

    /// The headers of the answer, redacted.
    fn answer_headers(
        &self,
        response: &reqwest::Response,
        host: &str,
        redactor: &Redactor,
    ) -> Result<HeaderMap, Error> {
        let failed = |reason: &str| Error::Failed { host: host.to_owned(), reason: reason.to_owned() };
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(failed("the host changed to another protocol without being asked"));
        }
        let mut headers = response.headers().clone();
        headers::check_size(&headers, self.limits.headers)?;
        headers::strip_response(&mut headers);
        if redactor.is_empty() {
            return Ok(headers);
        }
        if !headers::is_unencoded(&headers) {
            return Err(failed("the answer is compressed, so that a secret in it could not be found"));
        }
        // The body may become shorter or longer.
        headers.remove(CONTENT_LENGTH);
        let mut redacted = HeaderMap::with_capacity(headers.len());
        for (name, value) in headers.iter().filter(|(name, _)| !redactor.contains_secret(name.as_str())) {
            if let Ok(value) = HeaderValue::from_bytes(&redactor.redact(value.as_bytes())) {
                redacted.append(name, value);
            }
        }
        Ok(redacted)
    }
}

impl fmt::Debug for EgressClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressClient")
            .field("targets", &self.targets)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Converts an error of reqwest. The text of `error` itself is not used, since it contains the URL.
fn failure(error: reqwest::Error, host: &str, named: bool, redactor: &Redactor) -> Error {
    let host = host.to_owned();
    let mut reason = None;
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<AddressNotAllowed>() {
            return Error::Private { host, named };
        }
        if let Some(ours) = cause.downcast_ref::<Error>() {
            return ours.clone();
        }
        if cause.is::<LookupFailed>() {
            reason = Some(cause.to_string());
            break;
        }
        reason = Some(match cause.downcast_ref::<io::Error>() {
            // `connection refused`, without the system's error number.
            Some(error) if error.raw_os_error().is_some() => error.kind().to_string(),
            _ => cause.to_string(),
        });
        source = cause.source();
    }
    if error.is_timeout() {
        return Error::TimedOut { host };
    }
    let reason = reason.unwrap_or_else(|| "the request cannot be sent".to_owned());
    let redacted = |text: &str| String::from_utf8_lossy(&redactor.redact(text.as_bytes())).into_owned();
    // Twice: `one_line` removes what is invisible, which may complete a secret.
    let line = one_line(&redacted(&reason));
    Error::Failed { host, reason: clipped(&redacted(&line), MAX_REASON) }
}
