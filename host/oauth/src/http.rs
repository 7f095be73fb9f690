//! The requests of a login. The addresses are those that a stranger's server names, so the rules are those for plugins:
//! encrypted, to the public internet, but for the host that the user has configured.

use bub_egress::{Body, EgressClient, Limits, Network, Request, Target};
use bytes::Bytes;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::Url;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use std::net::IpAddr;
use std::time::Duration;

/// The longest that a request may take, and the longest answer, in bytes.
const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_ANSWER: u64 = 1 << 20;

pub(crate) struct Http {
    network: Network,
    /// The address of the server.
    server: Url,
}

impl Http {
    pub(crate) fn new(network: &Network, server: &Url) -> Self {
        Self { network: network.clone(), server: server.clone() }
    }

    /// Where a request to that address may go. A server on this machine may have its logins at another port of it.
    fn targets(&self, url: &Url) -> Vec<Target> {
        let is_own = url.origin() == self.server.origin() || is_local(&self.server) && is_local(url);
        let named = Target::from_url(url).filter(|_| is_own);
        // A host that a stranger names is reached over TLS, at any port, and never on a private address.
        let port = url.port_or_known_default().unwrap_or(443);
        named.into_iter().chain(Target::parse(&format!("*:{port}")).ok()).collect()
    }

    async fn send(&self, asked: http::Request<Vec<u8>>) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let (head, body) = asked.into_parts();
        let mut request = Request::new(head.method, &head.uri.to_string())?;
        request.headers = head.headers;
        let targets = self.targets(request.url());
        let limits = Limits {
            answer: MAX_ANSWER,
            first_byte: TIMEOUT,
            between_bytes: TIMEOUT,
            total: TIMEOUT,
            ..Limits::default()
        };
        let client = EgressClient::new(self.network.clone(), targets).with_limits(limits);
        let answer = client.send(request.with_body(Body::from(Bytes::from(body)))).await?;
        let mut response = http::Response::builder().status(answer.status);
        if let Some(headers) = response.headers_mut() {
            *headers = answer.headers;
        }
        Ok(response.body(answer.body.read_all().await?.to_vec())?)
    }
}

/// What the server says to a request without a token (`WWW-Authenticate`): where its logins are, and for what. None: it does
/// not say.
pub(crate) async fn challenge(network: &Network, server: &Url) -> Option<String> {
    let request = http::Request::post(server.as_str())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec());
    let answer = Http::new(network, server).send(request.ok()?).await.ok()?;
    if answer.status() != StatusCode::UNAUTHORIZED {
        return None;
    }
    let said = answer.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    said.into_iter()
        .find(|said| said.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer")))
        .map(str::to_owned)
}

/// Whether the address is one of this machine.
fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

impl OAuthHttpClient for Http {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        // Redirects are never followed: rmcp follows those of its discovery itself.
        Box::pin(self.send(request.request))
    }
}
