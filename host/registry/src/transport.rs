//! HTTP to a registry: bounded in time, size and redirects, and by the rules for addresses.

use crate::{Host, Settings};
use anyhow::{Context, Result, bail, ensure};
use bub_egress::{Resolve, SystemResolver, has_local_address, is_allowed, shown_url};
use bub_types::text::{cause, escaped, one_line};
use reqwest::dns::{Addrs, Name};
use reqwest::header::{HeaderMap, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode, Url};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Redirects of one request, at most.
const MAX_REDIRECTS: usize = 5;

/// The largest body of a refusal that is read, in bytes.
const MAX_REFUSAL: u64 = 16 << 10;

/// The connections to one registry.
pub(crate) struct Transport {
    host: Host,
    /// For the registry itself, which the user names: also a private address.
    own: Client,
    /// For what it refers to.
    elsewhere: Client,
    /// Whether it may refer to private addresses, because it has one.
    is_local: bool,
}

/// A request.
#[derive(Clone)]
pub(crate) struct Call {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Call {
    pub(crate) fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Vec::new() }
    }

    pub(crate) fn header(mut self, name: reqwest::header::HeaderName, value: &str) -> Result<Self> {
        self.headers.insert(name, HeaderValue::from_str(value).context("a header has a line end")?);
        Ok(self)
    }
}

impl Transport {
    pub(crate) async fn new(host: &Host, settings: &Settings) -> Result<Self> {
        let is_plain = host.is_loopback();
        let is_local = is_plain || has_local_address(host.name()).await;
        let client = |local: bool| {
            let builder = bub_tls::client()
                .redirect(Policy::none())
                .connect_timeout(CONNECT_TIMEOUT)
                .timeout(settings.timeout)
                .dns_resolver(std::sync::Arc::new(Checked { local }));
            // Without TLS, the system certificates are not needed, and may be missing.
            let builder = if is_plain { builder.tls_certs_only([]) } else { builder };
            builder.build().context("the HTTP client does not start")
        };
        Ok(Self { host: host.clone(), own: client(true)?, elsewhere: client(is_local)?, is_local })
    }

    /// The base of all addresses.
    pub(crate) fn base(&self) -> Result<Url> {
        let scheme = if self.host.is_loopback() { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{}/v2/", self.host)).with_context(|| format!("`{}` is not a host", self.host))
    }

    /// Whether the address is on the registry itself: then its credentials may go there.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        let base = self.base().ok();
        base.is_some_and(|base| base.origin() == url.origin())
    }

    /// Sends a request, and follows redirects if it is a `GET`. `authorization` goes to the registry alone.
    pub(crate) async fn send(&self, call: &Call, authorization: Option<&HeaderValue>) -> Result<Response> {
        let mut url = call.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let is_own = self.is_own(&url);
            self.check(&url, is_own)?;
            let client = if is_own { &self.own } else { &self.elsewhere };
            let mut request = client.request(call.method.clone(), url.clone()).headers(call.headers.clone());
            if let Some(authorization) = authorization.filter(|_| is_own) {
                request = request.header(reqwest::header::AUTHORIZATION, authorization);
            }
            if !call.body.is_empty() {
                request = request.body(call.body.clone());
            }
            let response = request.send().await.map_err(|error| self.unreachable(&error))?;
            if !response.status().is_redirection() || call.method != Method::GET {
                return Ok(response);
            }
            url = location(&response, &url)?;
        }
        bail!("registry `{}` redirects too often", self.host)
    }

    /// Sends a request that holds its own credentials: it is not redirected.
    pub(crate) async fn send_once(&self, call: &Call) -> Result<Response> {
        let is_own = self.is_own(&call.url);
        self.check(&call.url, is_own)?;
        let client = if is_own { &self.own } else { &self.elsewhere };
        let request = client.request(call.method.clone(), call.url.clone()).headers(call.headers.clone());
        request.send().await.map_err(|error| self.unreachable(&error))
    }

    /// Whether a request may go there: over TLS unless it is this machine, and not to an address of special use.
    pub(crate) fn check(&self, url: &Url, is_own: bool) -> Result<()> {
        let name = url.host_str().unwrap_or_default();
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        let is_here = name == "localhost" || address.is_some_and(|address| address.is_loopback());
        let is_fine = match url.scheme() {
            "https" => true,
            // A registry far away must not make this machine talk to itself.
            "http" => is_here && (is_own || self.host.is_loopback()),
            _ => false,
        };
        ensure!(is_fine, "registry `{}` leads to `{}`, which is not over https", self.host, shown_url(url));
        let is_fine = address.is_none_or(|address| is_allowed(address, is_own || self.is_local));
        ensure!(is_fine, "registry `{}` leads to `{}`, which is not a public address", self.host, shown_url(url));
        Ok(())
    }

    /// The error of a request that got no answer.
    fn unreachable(&self, error: &reqwest::Error) -> anyhow::Error {
        match error.is_timeout() {
            true => anyhow::anyhow!(
                "registry `{}` does not answer in time; `timeout_seconds` in `[registry]` of config.toml says how long to \
                 wait",
                self.host
            ),
            false => anyhow::anyhow!("registry `{}` cannot be reached: {}", self.host, one_line(&cause(error))),
        }
    }

    /// The body, if it is not longer than `max`.
    pub(crate) async fn body(&self, mut response: Response, max: u64, what: &str) -> Result<Vec<u8>> {
        let too_long = || anyhow::anyhow!("registry `{}` sends more than {max} bytes as {what}", self.host);
        if response.content_length().is_some_and(|length| length > max) {
            return Err(too_long());
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.broken(&error, what))? {
            if (bytes.len() + piece.len()) as u64 > max {
                return Err(too_long());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    fn broken(&self, error: &reqwest::Error, what: &str) -> anyhow::Error {
        match error.is_timeout() {
            true => self.unreachable(error),
            false => {
                anyhow::anyhow!(
                    "registry `{}` breaks off while it sends {what}: {}",
                    self.host,
                    one_line(&cause(error))
                )
            }
        }
    }

    /// The error of an answer without success.
    pub(crate) async fn refusal(&self, response: Response, what: &str) -> anyhow::Error {
        let status = response.status();
        let host = &self.host;
        match status {
            StatusCode::NOT_FOUND => anyhow::anyhow!("registry `{host}` has no {what}"),
            StatusCode::UNAUTHORIZED => anyhow::anyhow!("registry `{host}` refuses the credentials for {what}"),
            StatusCode::FORBIDDEN => anyhow::anyhow!("registry `{host}` does not allow {what}"),
            StatusCode::TOO_MANY_REQUESTS => anyhow::anyhow!("registry `{host}` wants fewer requests: try again later"),
            _ => {
                let body = self.body(response, MAX_REFUSAL, "a refusal").await.unwrap_or_default();
                let said = reason(&body).map(|said| format!(": {said}")).unwrap_or_default();
                anyhow::anyhow!("registry `{host}` answers with status {} to {what}{said}", status.as_u16())
            }
        }
    }
}

/// The first message of the errors in a refusal.
fn reason(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let message = value.get("errors")?.get(0)?.get("message")?.as_str()?;
    Some(one_line(message).chars().take(200).collect())
}

/// The address that a redirect, or the start of an upload, leads to.
pub(crate) fn location(response: &Response, at: &Url) -> Result<Url> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.with_context(|| format!("`{}` redirects to nowhere", shown_url(at)))?;
    at.join(location).map_err(|_| anyhow::anyhow!("`{}` redirects to `{}`", shown_url(at), escaped(location, 100)))
}

/// A resolver whose addresses are checked when the connection is made.
struct Checked {
    local: bool,
}

impl reqwest::dns::Resolve for Checked {
    fn resolve(&self, name: Name) -> reqwest::dns::Resolving {
        let (lookup, local) = (SystemResolver.resolve(name.as_str()), self.local);
        Box::pin(async move {
            let addresses = lookup.await?;
            if !addresses.iter().all(|address| is_allowed(*address, local)) {
                return Err("the name resolves to a forbidden address".into());
            }
            // With port 0 the connection uses the URL's port.
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
