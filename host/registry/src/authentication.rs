//! Credentials: what a registry asks for, and what it gets.

use crate::Host;
use crate::transport::{Call, Transport};
use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_types::text::escaped;
use reqwest::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Response, Url};
use serde::Deserialize;
use std::sync::Arc;

/// The largest answer with a token that is read, in bytes.
const MAX_TOKEN: u64 = 64 << 10;

/// What a registry is told about its user. `Debug` shows no value.
#[derive(Clone)]
pub struct Credentials<'a> {
    /// `USER:PASSWORD`, or a token alone.
    value: String,
    /// Whether the value may go to that host.
    may_go: Arc<MayGo<'a>>,
}

/// Whether a value may go to a host, over TLS or not; the error is one line.
type MayGo<'a> = dyn Fn(&str, bool) -> Result<()> + Send + Sync + 'a;

impl std::fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

impl<'a> Credentials<'a> {
    /// Credentials that go only where `may_go` says: to a host without its port, and over TLS or not.
    pub fn new(value: String, may_go: impl Fn(&str, bool) -> Result<()> + Send + Sync + 'a) -> Self {
        Self { value, may_go: Arc::new(may_go) }
    }

    fn basic(&self) -> Option<HeaderValue> {
        self.value.contains(':').then(|| header(&format!("Basic {}", STANDARD.encode(&self.value))))?
    }

    fn bearer(&self) -> Option<HeaderValue> {
        (!self.value.contains(':')).then(|| header(&format!("Bearer {}", self.value)))?
    }

    /// Whether they may go to that address.
    fn check(&self, url: &Url) -> Result<()> {
        (self.may_go)(url.host_str().unwrap_or_default(), url.scheme() == "https")
    }
}

fn header(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A demand for authentication.
#[derive(Debug, PartialEq, Eq)]
enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

/// Makes what a registry wants to see after an answer with status 401.
pub(crate) async fn answer(
    transport: &Transport,
    host: &Host,
    response: &Response,
    scope: &str,
    credentials: Option<&Credentials<'_>>,
) -> Result<HeaderValue> {
    let missing = || {
        format!(
            "registry `{host}` wants credentials: store `USER:PASSWORD` by `bub-wasm secret set NAME --host {}`, and set \
             `secrets = {{ \"{host}\" = \"NAME\" }}` in `[registry]` of config.toml",
            host.name()
        )
    };
    let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let challenge = challenges.filter_map(challenge).next();
    let challenge =
        challenge.with_context(|| format!("registry `{host}` wants a login of a kind that is unknown here"))?;
    let base = transport.base()?;
    match challenge {
        Challenge::Basic => {
            let credentials = credentials.with_context(missing)?;
            credentials.check(&base)?;
            credentials.basic().with_context(|| format!("the secret for registry `{host}` is not `USER:PASSWORD`"))
        }
        Challenge::Bearer { realm, service } => {
            if let Some(bearer) = credentials.and_then(Credentials::bearer) {
                credentials.map_or(Ok(()), |credentials| credentials.check(&base))?;
                return Ok(bearer);
            }
            let mut url = Url::parse(&realm).map_err(|_| {
                anyhow::anyhow!("registry `{host}` names no address for tokens: `{}`", escaped(&realm, 100))
            })?;
            transport.check(&url, transport.is_own(&url))?;
            // The scope is our own: a registry could ask for more than this request needs, and keep the token.
            url.query_pairs_mut().append_pair("scope", scope);
            if let Some(service) = service {
                url.query_pairs_mut().append_pair("service", &service);
            }
            let mut call = Call::get(url.clone());
            if let Some(basic) = credentials.and_then(Credentials::basic) {
                credentials.map_or(Ok(()), |credentials| credentials.check(&url))?;
                call.headers.insert(AUTHORIZATION, basic);
            }
            let token = token(transport, host, &call).await;
            token.map_err(|error| if credentials.is_none() { error.context(missing()) } else { error })
        }
    }
}

async fn token(transport: &Transport, host: &Host, call: &Call) -> Result<HeaderValue> {
    /// The answer of a server of tokens.
    #[derive(Deserialize)]
    struct Token {
        token: Option<String>,
        access_token: Option<String>,
    }
    let response = transport.send_once(call).await?;
    if !response.status().is_success() {
        bail!("the login to registry `{host}` is refused with status {}", response.status().as_u16());
    }
    let body = transport.body(response, MAX_TOKEN, "a token").await?;
    let token = serde_json::from_slice::<Token>(&body).ok().and_then(|token| token.token.or(token.access_token));
    let token = token.filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
    let token = token.with_context(|| format!("the login to registry `{host}` gives no token"))?;
    ensure!(token.len() as u64 <= MAX_TOKEN, "the login to registry `{host}` gives too long a token");
    header(&format!("Bearer {token}")).with_context(|| format!("the login to registry `{host}` gives no token"))
}

/// A challenge of one of the known kinds: `Basic realm="…"`, or `Bearer realm="…",service="…"`.
fn challenge(text: &str) -> Option<Challenge> {
    let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let (mut realm, mut service) = (None, None);
    let mut rest = rest;
    while let Some((key, behind)) = rest.split_once('=') {
        let (value, behind) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => behind.split_once(',').unwrap_or((behind, "")),
        };
        match key.trim_matches([' ', ',']).to_ascii_lowercase().as_str() {
            "realm" => realm = Some(value.to_owned()),
            "service" => service = Some(value.to_owned()),
            _ => {}
        }
        rest = behind;
    }
    Some(Challenge::Bearer { realm: realm?, service })
}
