//! What a request's line says: parts of its path, and what is asked behind them.

use super::token::Bearer;
use super::{Api, Problem};
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// Who asks, and of whom.
pub(super) struct Caller {
    pub api: Arc<Api>,
    pub bearer: Bearer,
}

impl FromRequestParts<Arc<Api>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        // Where nobody was identified, no handler may serve anybody.
        let bearer = parts.extensions.get::<Bearer>().cloned().ok_or_else(Problem::unknown)?;
        Ok(Self { api: Arc::clone(api), bearer })
    }
}

/// What stands in the path where a name is meant, without its escapes.
pub(super) struct Named(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => Err(Problem::bad("the name in the path is no UTF-8")),
        }
    }
}

/// What stands behind the question mark. Keys that nobody asks for are passed over.
pub(super) struct Asked<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(error) => {
                let said = error.body_text();
                let said = said.strip_prefix("Failed to deserialize query string: ").unwrap_or(&said).to_owned();
                let said: String = said.chars().take(200).flat_map(char::escape_debug).collect();
                Err(Problem::bad(format!("what is asked behind `?` does not fit: {said}")))
            }
        }
    }
}
