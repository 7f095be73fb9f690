//! `/v1/hooks`, `/v1/running`, `/v1/usage`, `/v1/commands` and `/healthz`.

use super::ApiError;
use super::extract::{Caller, QueryParams};
use axum::Json;
use bub_config::{Commands, Scope};
use bub_gateway::Stage;
use bub_runtime::host::{Host, Usage, introspection};
use bub_runtime::turn::{CallScope, SelectorChoice};
use bub_types::hook::Call;
use serde::Deserialize;
use serde_json::{Value, json};

/// `GET /v1/hooks`: the output of `bub-wasm hooks --json`.
pub(crate) async fn hooks(Caller { api, bearer }: Caller) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    let host = api.gateway.host();
    let choice = SelectorChoice::configured(&host.config, "http");
    Ok(Json(introspection::hooks(&CallScope::new(&host), choice.as_ref())))
}

/// `GET /v1/running`: the turns that run in this process and at other workers, in the scope of the token.
pub(crate) async fn running(Caller { api, bearer }: Caller) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    let is_reached = |session: &str| session.starts_with(&bearer.session_prefix);
    let here = api.gateway.running_turns().into_iter().filter(|turn| is_reached(&turn.session_id)).map(|turn| {
        let (stage, tool) = match turn.stage {
            Stage::Prepares => ("prepares", None),
            Stage::Answers => ("answers", None),
            Stage::Retries => ("retries", None),
            Stage::CallsTool(tool) => ("calls-tool", Some(tool)),
        };
        let (session, since) = (turn.session_id, turn.since.to_string());
        json!({ "session_id": session, "since": since, "stage": stage, "tool": tool, "steps": turn.steps, "worker": null })
    });
    let elsewhere = api.gateway.running_elsewhere().await?.into_iter();
    let elsewhere = elsewhere.filter(|turn| is_reached(&turn.session_id)).map(|turn| {
        let (session, since) = (turn.session_id, turn.since.to_string());
        json!({
            "session_id": session, "since": since, "stage": "elsewhere", "tool": null, "steps": null,
            "worker": turn.worker,
        })
    });
    let turns: Vec<Value> = here.chain(elsewhere).collect();
    Ok(Json(json!({ "turns": turns, "waiting": api.gateway.load().1 })))
}

/// The days of a usage report.
#[derive(Debug, Deserialize)]
pub(crate) struct UsageParams {
    days: Option<u32>,
}

/// `GET /v1/usage`: the output of `bub-wasm usage --json`. It names all sessions, so it is for tokens that reach all.
pub(crate) async fn usage(
    Caller { api, bearer }: Caller,
    QueryParams(params): QueryParams<UsageParams>,
) -> Result<Json<Value>, ApiError> {
    bearer.needs(Scope::Read)?;
    if !(bearer.session_prefix.is_empty() && bearer.is_trusted()) {
        return Err(ApiError::forbidden(format!("token `{}` does not reach all sessions", bearer.name)));
    }
    let days = params.days.unwrap_or(30);
    if !(1..=36_500).contains(&days) {
        return Err(ApiError::bad_request("`days` is a number from 1 to 36500"));
    }
    let host = api.gateway.host();
    let failed = |why: String| ApiError::internal(&why);
    let usage = Usage::open(&host.config).await?;
    let report = usage.report(days, None, true).await.map_err(failed)?;
    let used_today = usage.used_today().await.map_err(failed)?;
    let budget = json!({ "tokens_per_day": host.config.budget.tokens_per_day, "used_today": used_today });
    Ok(Json(introspection::usage(&report, &budget, &host.config.prices)))
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
