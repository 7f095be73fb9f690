//! What a model would see next: `tape context` over HTTP.

use super::super::extract::{Asked, Caller, Named};
use super::super::token::Bearer;
use super::super::{Api, Problem};
use super::{by_name, by_session};
use axum::Json;
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::turn::{CallScope, Preview};
use bub_tape::Store;
use bub_types::ErrorKind;
use bub_types::suggest;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// Who selects, and what would be said.
#[derive(Debug, Deserialize)]
pub(crate) struct Asking {
    selector: Option<String>,
    prompt: Option<String>,
}

/// What the next request of a tape's session would hold.
pub(crate) async fn of_tape(
    Caller { api, bearer }: Caller,
    Named(name): Named,
    Asked(asking): Asked<Asking>,
) -> Result<Json<Value>, Problem> {
    let tape = by_name(&api, &bearer, &name)?;
    // The hooks are told some session: a name does not say which it was made of.
    let session = api.gateway.session_of(tape.name()).unwrap_or_else(|| tape.name().to_owned());
    context(&api, &bearer, &session, tape.name(), &asking).await
}

/// What the next request of a session would hold.
pub(crate) async fn of_session(
    Caller { api, bearer }: Caller,
    Named(session): Named,
    Asked(asking): Asked<Asking>,
) -> Result<Json<Value>, Problem> {
    let (session, tape) = by_session(&api, &bearer, session).await?;
    context(&api, &bearer, &session, tape.name(), &asking).await
}

async fn context(
    api: &Api,
    bearer: &Bearer,
    session: &str,
    tape: &str,
    asking: &Asking,
) -> Result<Json<Value>, Problem> {
    let _place = api.look().await;
    let host = api.gateway.host();
    if let Some(selector) = &asking.selector {
        let calls = CallScope::new(&host);
        let selectors: Vec<&str> = hooks::selectors(&calls).collect();
        if !selectors.contains(&selector.as_str()) {
            let shown: String = selector.chars().take(64).flat_map(char::escape_debug).collect();
            let hint = suggest::hint(selector, selectors.iter().copied());
            return Err(Problem::bad(format!("no plugin `{shown}` selects{hint}")));
        }
    }
    let store: Arc<dyn Store> = Arc::clone(host.tapes().store());
    let preview = Preview {
        store,
        tape,
        session_id: session,
        prompt: asking.prompt.as_deref(),
        selector: asking.selector.as_deref(),
        requester: bearer.requester(),
    };
    let messages = preview.messages(&host).await.map_err(|error| match error.downcast_ref::<Failure>() {
        // A name that a client chose can be too long for the sidecars that a turn opens.
        Some(Failure::Tape(error)) if error.kind == ErrorKind::InvalidInput => Problem::bad(&error.message),
        _ => Problem::internal(&format!("{error:#}")),
    })?;
    // What a tape holds is JSON in Python's sense.
    let readable = |message: String| RawValue::from_string(message).unwrap_or_else(|_| super::page::raw(&Value::Null));
    let messages: Vec<_> = messages.into_iter().map(readable).collect();
    Ok(Json(json!({ "tape": tape, "session_id": session, "messages": messages })))
}
