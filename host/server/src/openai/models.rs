//! `/v1/models`: the agent as it is configured, and the models that plugins offer.

use super::super::extract::{Caller, PathName};
use super::super::token::Bearer;
use super::super::{Api, ApiError};
use axum::Json;
use axum::http::StatusCode;
use bub_runtime::turn::Preview;
use bub_types::text::escaped;
use serde_json::{Value, json};

/// The name of the agent with its configured model.
pub(super) const AGENT: &str = "bub";

/// All models that a request may name.
async fn available(api: &Api, bearer: &Bearer) -> Result<Vec<String>, ApiError> {
    let host = api.gateway.host();
    let _permit = api.scan_permit().await;
    let options = Preview::options(&host, bearer.requester()).await;
    let options = options.map_err(|error| ApiError::internal(&format!("{error:#}")))?;
    let mut names = vec![AGENT.to_owned(), host.config.model.model.clone()];
    names.extend(options.choices.into_iter().map(|choice| choice.id));
    let mut known = std::collections::HashSet::new();
    names.retain(|name| !name.is_empty() && known.insert(name.clone()));
    Ok(names)
}

/// The model that a request names; `None`: that of the session.
///
/// # Errors
///
/// There is no such model.
pub(super) async fn resolve(api: &Api, bearer: &Bearer, named: Option<&str>) -> Result<Option<String>, ApiError> {
    match named {
        None | Some(AGENT) => Ok(None),
        Some(name) if name == api.gateway.host().config.model.model => Ok(Some(name.to_owned())),
        Some(name) if available(api, bearer).await?.iter().any(|known| known == name) => Ok(Some(name.to_owned())),
        Some(name) => Err(model_not_found(name)),
    }
}

fn model_not_found(name: &str) -> ApiError {
    let shown = escaped(name, 64);
    let message = format!("there is no model `{shown}`: `/v1/models` lists the available ones");
    ApiError::new(StatusCode::NOT_FOUND, "model_not_found", message)
}

fn to_json(name: &str) -> Value {
    let owner = name.split_once(':').map_or(AGENT, |(provider, _)| provider);
    json!({ "id": name, "object": "model", "created": 0, "owned_by": owner })
}

/// `GET /v1/models`.
pub(crate) async fn list(Caller { api, bearer }: Caller) -> Result<Json<Value>, ApiError> {
    let data: Vec<Value> = available(&api, &bearer).await?.iter().map(|name| to_json(name)).collect();
    Ok(Json(json!({ "object": "list", "data": data })))
}

/// `GET /v1/models/{model}`.
pub(crate) async fn get(Caller { api, bearer }: Caller, PathName(name): PathName) -> Result<Json<Value>, ApiError> {
    match available(&api, &bearer).await?.contains(&name) {
        true => Ok(Json(to_json(&name))),
        false => Err(model_not_found(&name)),
    }
}
