//! Bodies of requests, within a bound and a time.

use super::{Api, Problem};
use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

/// Reads a body of at most `most` bytes.
///
/// # Errors
///
/// It is longer, comes too slowly, or not to its end.
pub(super) async fn bytes(api: &Api, body: Body, most: usize) -> Result<Vec<u8>, Problem> {
    let read = Limited::new(body, most).collect();
    let slow = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time");
    match tokio::time::timeout(api.patience(), read).await.map_err(slow)? {
        Ok(body) => Ok(body.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("the body is longer than {}", crate::wording::bytes(most as u64));
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message))
        }
        Err(_) => Err(Problem::bad("the body did not arrive whole")),
    }
}

/// Reads a body that is JSON.
///
/// # Errors
///
/// Those of [`bytes`], and what is wrong with the JSON.
pub(super) async fn json<T: DeserializeOwned>(api: &Api, body: Body, most: usize) -> Result<T, Problem> {
    let bytes = bytes(api, body, most).await?;
    // serde_json goes no deeper than 128 levels.
    let text = std::str::from_utf8(&bytes).map_err(|_| Problem::bad("the body is no UTF-8"))?;
    serde_json::from_str(text).map_err(|error| {
        let position = format!(" at line {} column {}", error.line(), error.column());
        let said = error.to_string();
        Problem::bad(format!("the body does not fit: {}", said.strip_suffix(&position).unwrap_or(&said)))
    })
}
