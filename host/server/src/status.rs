//! `/v1/hooks`, `/v1/plugins`, `/v1/commands` and `/healthz`.

use super::ApiError;
use super::extract::Caller;
use axum::Json;
use bub_config::{Commands, Scope};
use bub_runtime::host::{Host, introspection};
use bub_runtime::turn::{CallScope, SelectorChoice};
use bub_types::hook::Call;
use serde_json::{Value, json};

/// `GET /v1/hooks`: the output of `bub-wasm hooks --json`.
pub(crate) async fn hooks(Caller { api, bearer }: Caller) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    let host = api.gateway.host();
    let choice = SelectorChoice::configured(&host.config, "http");
    Ok(Json(introspection::hooks(&CallScope::new(&host), choice.as_ref())))
}

/// `GET /v1/plugins`: the output of `bub-wasm plugin list --json`, without sessions outside of the caller's scope.
pub(crate) async fn plugins(Caller { api, bearer }: Caller) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    let host = api.gateway.host();
    let mut plugins = introspection::plugins(&host, &host.plugins());
    if let Some(quarantined) = plugins["quarantined"].as_array_mut() {
        let is_in_scope = |circuit: &Value| match circuit["session"].as_str() {
            Some(session) => session.starts_with(&bearer.session_prefix),
            // The names of other callers are for tokens that reach all sessions.
            None => circuit["caller"].is_null() || bearer.session_prefix.is_empty(),
        };
        quarantined.retain(is_in_scope);
    }
    Ok(Json(plugins))
}

/// `GET /v1/commands`: the comma commands that the caller can send: none without the scope `admin`.
pub(crate) async fn commands(Caller { api, bearer }: Caller) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    let commands = match bearer.identity().commands {
        Commands::None => Vec::new(),
        Commands::Tools | Commands::All => introspection::commands(&api.gateway.host().plugins()),
    };
    Ok(Json(json!({ "commands": commands })))
}

/// `GET /healthz`: the process answers.
pub(crate) async fn healthy() -> &'static str {
    "ok\n"
}

/// Whether the only model is that of a plugin which is missing or quarantined.
pub(super) fn is_model_gone(host: &Host, calls: &CallScope) -> bool {
    let config = &host.config;
    let Some((provider, _)) = config.model.model.split_once(':') else { return false };
    if !config.fallback_models.is_empty() {
        return false;
    }
    match calls.provider(provider) {
        Some(plugin) => calls.open_circuit(plugin, &bub_runtime::guest::CallContext::outside(Call::Complete)).is_some(),
        None => false,
    }
}
