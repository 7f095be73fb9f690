//! `/v1/tapes/{tape}/query`: entries for a host at another place, which looks at each by its own rules.

use super::super::Problem;
use super::super::extract::{Asked, Caller, Named};
use super::by_name;
use super::page::{self, MOST};
use axum::http::HeaderValue;
use axum::response::Response;
use bub_tape::{Condition, SimilarWord, find_candidates};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A condition. Its lists are JSON.
#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    after: u64,
    before: Option<u64>,
    kinds: Option<String>,
    name: Option<String>,
    texts: Option<String>,
    similar: Option<String>,
    since: Option<String>,
    until: Option<String>,
    #[serde(default)]
    newest_first: bool,
    max: Option<usize>,
}

/// The entries of a tape that may fit, as lines, and how far was looked.
pub(crate) async fn query(
    Caller { api, bearer }: Caller,
    Named(name): Named,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Problem> {
    let tape = by_name(&api, &bearer, &name)?;
    let similar: Vec<(String, u8)> = list("similar", wanted.similar)?;
    let condition = Condition {
        after: wanted.after,
        before: wanted.before,
        kinds: list("kinds", wanted.kinds)?,
        name: wanted.name,
        texts: list("texts", wanted.texts)?,
        similar: similar.into_iter().map(|(text, edits)| SimilarWord { text, edits }).collect(),
        since: wanted.since,
        until: wanted.until,
        newest_first: wanted.newest_first,
    };
    let max = wanted.max.unwrap_or(MOST).clamp(1, MOST);
    let _place = api.look().await;
    // As it stands, like all of `/v1/tapes` that other hosts keep their tapes by: what is forgotten they know themselves.
    let store = api.gateway.host().tapes().store().clone();
    let found = find_candidates(&*store, tape.name(), &condition, max).await?;
    let mut response = page::as_lines(&found.entries);
    if let Some(next) = found.next {
        response.headers_mut().insert("bub-next", HeaderValue::from(next));
    }
    Ok(response)
}

/// A list of the query string; none is an empty one.
fn list<T: DeserializeOwned>(key: &str, json: Option<String>) -> Result<Vec<T>, Problem> {
    let Some(json) = json else { return Ok(Vec::new()) };
    serde_json::from_str(&json).map_err(|_| {
        let example = if key == "similar" { r#"[["heron", 1]]"# } else { r#"["heron"]"# };
        Problem::bad(format!("`{key}` is no JSON list as in `{example}`"))
    })
}
