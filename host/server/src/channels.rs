//! `POST /channels/NAME`: what the far sides of channels send. Who they are is for the channel to find out.

use super::body::{self, CallerClass};
use super::{Api, Problem};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode};
use bub_gateway::Unreceived;
use bub_runtime::hooks::WebhookRequest;
use std::sync::Arc;

/// A webhook's body, in bytes.
const MOST: usize = 1 << 20;

/// Headers that are between the far side and this server, or that only this server reads.
const OWN: [&str; 3] = ["authorization", "cookie", "connection"];

/// Headers by which a proxy says where a request came from: without a proxy in front anybody can have written them.
fn is_of_proxy(name: &str) -> bool {
    name == "forwarded" || name == "x-real-ip" || name.starts_with("x-forwarded-")
}

/// Hands a request to the channel that its path names, and answers what the channel says.
pub(super) async fn post(State(api): State<Arc<Api>>, request: Request) -> Result<Response<Body>, Problem> {
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let rest = path.strip_prefix("/channels/").unwrap_or_default();
    let name = rest.split(['/', '?']).next().unwrap_or_default().to_owned();
    let nobody = || Problem::not_found("no channel of this name takes webhooks");
    // Nothing is read for a channel that is not there.
    if !api.gateway.takes_webhooks(&name) {
        return Err(nobody());
    }
    api.gateway.check_open()?;
    let behind_proxy = api.door.rules().behind_proxy;
    let is_passed = |name: &str| !OWN.contains(&name) && (behind_proxy || !is_of_proxy(name));
    let headers = request.headers().iter().filter(|(name, _)| is_passed(name.as_str()));
    let headers = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let mut request_to =
        WebhookRequest { method: request.method().to_string(), path, headers: headers.collect(), body: Vec::new() };
    // Who sends it only the channel can tell.
    let received = body::read(&api, request.into_body(), CallerClass::Unknown, MOST).await?;
    request_to.body = received.bytes;
    let _charge = received.charge;
    let response = api.gateway.receive(&name, request_to).await.ok_or_else(nobody)?;
    let said = response.map_err(|unreceived| match unreceived {
        Unreceived::Refused(refusal) => refusal.into(),
        Unreceived::Failed(failure) => {
            tracing::warn!("a webhook of channel `{name}`: {failure}");
            match failure.retry_after() {
                Some(_) => {
                    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "channel_busy", "the channel cannot take it now")
                }
                None => Problem::new(StatusCode::BAD_GATEWAY, "channel_failed", "the channel failed; the log says why"),
            }
        }
    })?;
    let mut response = Response::new(Body::from(said.body));
    *response.status_mut() = StatusCode::from_u16(said.status).unwrap_or(StatusCode::OK);
    for (name, value) in said.headers {
        let name = axum::http::HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}
