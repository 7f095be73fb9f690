//! What the program says of itself: its hooks, its plugins, and whether it is well.

use super::extract::Caller;
use super::{Api, Problem};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bub_config::Scope;
use bub_runtime::hooks;
use bub_runtime::host::{Host, introspection};
use bub_runtime::turn::{CallScope, Choice};
use serde_json::Value;
use std::sync::Arc;

/// As `bub-wasm hooks --json`.
pub(super) async fn hooks(Caller { api, bearer }: Caller) -> Result<Json<Value>, Problem> {
    bearer.needs(Scope::Read)?;
    let host = api.gateway.host();
    let choice = Choice::configured(&host.config, "http");
    Ok(Json(introspection::hooks(&CallScope::new(&host), choice.as_ref())))
}

/// As `bub-wasm plugin list --json`, less the sessions that others have.
pub(super) async fn plugins(Caller { api, bearer }: Caller) -> Result<Json<Value>, Problem> {
    bearer.needs(Scope::Read)?;
    let host = api.gateway.host();
    let mut plugins = introspection::plugins(&host, &host.plugins());
    if let Some(held) = plugins["quarantined"].as_array_mut() {
        let is_reached = |held: &Value| match held["session"].as_str() {
            Some(session) => session.starts_with(&bearer.reach),
            // Who else there is, is told to those who reach everything.
            None => held["caller"].is_null() || bearer.reach.is_empty(),
        };
        held.retain(is_reached);
    }
    Ok(Json(plugins))
}

/// The process answers.
pub(super) async fn healthy() -> &'static str {
    "ok\n"
}

/// New messages are taken, and nothing is known that would keep all of them from being answered.
pub(super) async fn ready(State(api): State<Arc<Api>>) -> Result<&'static str, Problem> {
    if api.gateway.is_stopping() {
        return Err(Problem::stopping());
    }
    let degraded = |why| Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "degraded", why));
    let host = api.gateway.host();
    let calls = CallScope::new(&host);
    // Whoever asks this has no token, and is told no names.
    if hooks::is_store_gone(&calls) {
        return degraded("degraded: the plugin that keeps the tapes cannot be asked; the log says why");
    }
    if is_model_gone(&host, &calls) {
        return degraded("degraded: the only model is one of a plugin that cannot be asked; the log says why");
    }
    Ok("ok\n")
}

/// Whether the only model is a plugin's, and that is not there or is not asked.
fn is_model_gone(host: &Host, calls: &CallScope) -> bool {
    let config = &host.config;
    let Some((provider, _)) = config.model.model.split_once(':') else { return false };
    if !config.fallback_models.is_empty() {
        return false;
    }
    match calls.provider(provider) {
        Some(plugin) => calls.held(plugin, &bub_runtime::plugin::CallContext::outside("complete")).is_some(),
        None => false,
    }
}
