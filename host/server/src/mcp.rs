//! `/mcp`: the Model Context Protocol over streamable HTTP, for the tokens of the API. The revision without sessions and the
//! ones with them are served at one path.

mod caller;
mod sessions;

use super::auth::AuthLease;
use super::body::{self, BodyCharge, CallerClass};
use super::extract::Caller;
use super::sse::StreamPermit;
use super::token::Bearer;
use super::{Api, ApiError};
use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use bub_config::Scope;
use bub_mcp::McpServer;
use bub_mcp::rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use bub_mcp::rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use bytes::Bytes;
use caller::TokenConnection;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, Full, Limited};
use serde::Deserialize;
use serde_json::Value;
use sessions::Sessions;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The largest body, in bytes: a request is parsed on a thread that serves others, too.
const MAX_BODY: usize = 4 << 20;

/// The longest text of an error of the protocol's transport, in bytes.
const MAX_ERROR: usize = 4 << 10;

/// The header that names a session of the protocol.
const SESSION: &str = "mcp-session-id";

/// The endpoint of all clients.
pub(crate) struct Endpoint {
    service: StreamableHttpService<McpServer<TokenConnection>, LocalSessionManager>,
    sessions: Sessions,
    stopping: CancellationToken,
}

impl Endpoint {
    pub(crate) fn new() -> Self {
        let (stopping, sessions) = (CancellationToken::new(), Sessions::new());
        let server = McpServer::new(TokenConnection);
        // Host names and origins are checked before a request comes here.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MAX_BODY)
            .with_cancellation_token(stopping.clone());
        let service = StreamableHttpService::new(move || Ok(server.clone()), sessions.manager(), config);
        Self { service, sessions, stopping }
    }

    /// Ends all sessions and streams.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }
}

/// Everything that is known of a message before it is parsed as one.
#[derive(Deserialize)]
struct Peek {
    #[serde(default)]
    method: Value,
}

/// `POST`, `GET` and `DELETE`: a message, the stream of a session, and its end.
pub(super) async fn handle(Caller { api, bearer }: Caller, request: Request) -> Result<Response, ApiError> {
    if !bearer.may(Scope::Read) {
        bearer.needs(Scope::Turns)?;
    }
    let (mut parts, sent) = request.into_parts();
    let session = session(&parts.headers)?;
    if let Some(session) = &session {
        api.mcp.sessions.check(session, &bearer)?;
    }
    let permit = match parts.method {
        Method::GET => Some(StreamPermit::acquire(&api)?),
        _ => None,
    };
    let (mut begins, mut bytes) = (false, Vec::new());
    if parts.method == Method::POST {
        let limits = (CallerClass::from_bearer(&bearer), MAX_BODY);
        let (message, charge) = read(&api, sent, limits).await?;
        check_scope(&bearer, message.method.as_deref())?;
        begins = session.is_none() && message.method.as_deref() == Some("initialize");
        if begins {
            api.mcp.sessions.check_room(&bearer).await?;
        }
        bytes = message.bytes;
        // Held until the request has been handled.
        parts.extensions.insert(Arc::new(charge));
    }
    parts.extensions.insert(Arc::clone(&api));
    let response = api.mcp.service.handle(Request::from_parts(parts, Full::new(Bytes::from(bytes)))).await;
    let response = response.map(Body::new);
    if response.status().is_client_error() || response.status().is_server_error() {
        return refused(response).await;
    }
    if begins && let Some(session) = self::session(response.headers())? {
        api.mcp.sessions.begin(session, &bearer);
    }
    let lease = api.auth.lease(bearer);
    Ok(response.map(|body| until_revoked(body, lease, permit)))
}

/// A body that was read and bounded, and the method that it names.
struct Message {
    bytes: Vec<u8>,
    method: Option<String>,
}

async fn read(api: &Api, sent: Body, (class, max): (CallerClass, usize)) -> Result<(Message, BodyCharge), ApiError> {
    let body::Received { bytes, charge } = body::read(api, sent, class, max).await?;
    body::process(api, bytes, charge, |bytes| {
        let (bytes, peek) = body::checked::<Peek>(bytes)?;
        let method = peek.method.as_str().map(str::to_owned);
        Ok(Message { bytes, method })
    })
    .await
}

/// Refuses what a token may not do before the protocol answers it.
fn check_scope(bearer: &Bearer, method: Option<&str>) -> Result<(), ApiError> {
    match method {
        Some("tools/call") => bearer.needs(Scope::Turns),
        Some("resources/list" | "resources/read") => bearer.needs(Scope::Read),
        _ => Ok(()),
    }
}

/// The session of the protocol that a message names.
fn session(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(session) = headers.get(SESSION) else { return Ok(None) };
    let session = session.to_str().map_err(|_| ApiError::bad_request("`Mcp-Session-Id` is not ASCII text"))?;
    Ok(Some(session.to_owned()))
}

/// An error of the protocol as it is, and one of its transport in the format of the API.
async fn refused(response: Response) -> Result<Response, ApiError> {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/json") {
        return Ok(response);
    }
    let status = response.status();
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return Err(ApiError::bad_request("the body is no message of JSON-RPC 2.0"));
    }
    let text = Limited::new(response.into_body(), MAX_ERROR).collect().await;
    let text = text.map(|text| String::from_utf8_lossy(&text.to_bytes()).into_owned()).unwrap_or_default();
    let text = bub_types::text::plain(&bub_types::text::one_line(&text));
    let code = match status {
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
        StatusCode::INTERNAL_SERVER_ERROR => return Err(ApiError::internal(&text)),
        _ => "invalid_request",
    };
    Err(ApiError::new(status, code, text))
}

/// A response that ends when its token is revoked.
fn until_revoked(body: Body, lease: AuthLease, permit: Option<StreamPermit>) -> Body {
    let state: (BodyDataStream, AuthLease, Option<StreamPermit>) = (body.into_data_stream(), lease, permit);
    Body::from_stream(stream::unfold(state, async |(mut data, mut lease, permit)| {
        tokio::select! {
            biased;
            () = lease.revoked() => None,
            next = data.next() => Some((next?, (data, lease, permit))),
        }
    }))
}

/// What a request of the protocol carries of its HTTP request.
fn parts(extensions: &bub_mcp::rmcp::model::Extensions) -> Option<&Parts> {
    extensions.get::<Parts>()
}
