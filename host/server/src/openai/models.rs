//! Which models there are: the agent as it is configured, and those that plugins offer.

use super::super::extract::{Caller, Named};
use super::super::token::Bearer;
use super::super::{Api, Problem};
use axum::Json;
use axum::http::StatusCode;
use bub_runtime::turn::Preview;
use serde_json::{Value, json};

/// The agent, with whatever model it has.
pub(super) const AGENT: &str = "bub";

/// All models that a request may name.
async fn offered(api: &Api, bearer: &Bearer) -> Result<Vec<String>, Problem> {
    let host = api.gateway.host();
    let _place = api.look().await;
    let options = Preview::options(&host, bearer.requester()).await;
    let options = options.map_err(|error| Problem::internal(&format!("{error:#}")))?;
    let mut names = vec![AGENT.to_owned(), host.config.model.model.clone()];
    names.extend(options.choices.into_iter().map(|choice| choice.id));
    let mut known = std::collections::HashSet::new();
    names.retain(|name| !name.is_empty() && known.insert(name.clone()));
    Ok(names)
}

/// The model that a message asks for; none: the session's own.
///
/// # Errors
///
/// There is no such model.
pub(super) async fn chosen(api: &Api, bearer: &Bearer, named: Option<&str>) -> Result<Option<String>, Problem> {
    match named {
        None | Some(AGENT) => Ok(None),
        Some(name) if name == api.gateway.host().config.model.model => Ok(Some(name.to_owned())),
        Some(name) if offered(api, bearer).await?.iter().any(|known| known == name) => Ok(Some(name.to_owned())),
        Some(name) => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Problem {
    let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
    let message = format!("there is no model `{shown}`: `/v1/models` lists those that there are");
    Problem::new(StatusCode::NOT_FOUND, "model_not_found", message)
}

fn about(name: &str) -> Value {
    let owner = name.split_once(':').map_or(AGENT, |(provider, _)| provider);
    json!({ "id": name, "object": "model", "created": 0, "owned_by": owner })
}

/// All of them.
pub(crate) async fn list(Caller { api, bearer }: Caller) -> Result<Json<Value>, Problem> {
    let data: Vec<Value> = offered(&api, &bearer).await?.iter().map(|name| about(name)).collect();
    Ok(Json(json!({ "object": "list", "data": data })))
}

/// One of them.
pub(crate) async fn one(Caller { api, bearer }: Caller, Named(name): Named) -> Result<Json<Value>, Problem> {
    match offered(&api, &bearer).await?.contains(&name) {
        true => Ok(Json(about(&name))),
        false => Err(unknown(&name)),
    }
}
