//! Extractors: the caller, names in paths, and query parameters.

use super::token::Bearer;
use super::{Api, ApiError};
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use bub_types::text::escaped;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The authenticated caller, and the shared state.
pub(crate) struct Caller {
    pub api: Arc<Api>,
    pub bearer: Bearer,
}

impl FromRequestParts<Arc<Api>> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        // Without the authentication middleware, a handler refuses every request.
        let bearer = parts.extensions.get::<Bearer>().cloned().ok_or_else(ApiError::unauthorized)?;
        Ok(Self { api: Arc::clone(api), bearer })
    }
}

/// A name in the path, percent-decoded.
pub(crate) struct PathName(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathName {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => Err(ApiError::bad_request("the name in the path is not UTF-8")),
        }
    }
}

/// The query parameters. Unknown ones are ignored.
pub(crate) struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(error) => {
                let reason = error.body_text();
                let reason = reason.strip_prefix("Failed to deserialize query string: ").unwrap_or(&reason).to_owned();
                let reason = escaped(&reason, 200);
                Err(ApiError::bad_request(format!("invalid query parameters: {reason}")))
            }
        }
    }
}
