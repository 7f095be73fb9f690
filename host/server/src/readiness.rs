//! `/livez` and `/readyz`: probes of a supervisor.

use super::Api;
use super::status::is_model_gone;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bub_runtime::hooks;
use bub_runtime::turn::CallScope;
use bub_tape::Store;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the store is waited for.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How long an answer of the store's holds: however many probes arrive, it is asked no more often.
const FRESH: Duration = Duration::from_secs(3);

/// The conditions of readiness besides the state of the gateway.
#[derive(Default)]
pub(crate) struct Readiness {
    plugins_prepared: AtomicBool,
    store: tokio::sync::Mutex<Option<StoreProbe>>,
}

#[derive(Clone, Copy)]
struct StoreProbe {
    at: Instant,
    is_reachable: bool,
}

/// Why messages are not accepted or could not be answered. The caller is not authenticated, so no text names a plugin, a
/// path or an address.
#[derive(Serialize)]
struct Reason {
    code: &'static str,
    message: &'static str,
}

impl Readiness {
    pub(crate) fn set_plugins_prepared(&self) {
        self.plugins_prepared.store(true, Ordering::Relaxed);
    }

    /// Whether the store answers. Requests that arrive together wait for one answer.
    async fn is_store_reachable(&self, store: &dyn Store) -> bool {
        let mut last = self.store.lock().await;
        if let Some(probe) = last.as_ref().filter(|probe| probe.at.elapsed() < FRESH) {
            return probe.is_reachable;
        }
        let was_reachable = last.as_ref().is_none_or(|probe| probe.is_reachable);
        let answer = tokio::time::timeout(TIMEOUT, store.check_reachable()).await;
        let trouble = match answer {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {} seconds", TIMEOUT.as_secs())),
        };
        match (&trouble, was_reachable) {
            (Some(trouble), true) => tracing::warn!("not ready: the store of the tapes: {trouble}"),
            (None, false) => tracing::info!("the store of the tapes answers again"),
            _ => {}
        }
        *last = Some(StoreProbe { at: Instant::now(), is_reachable: trouble.is_none() });
        trouble.is_none()
    }
}

/// `GET /livez`: the process answers.
pub(crate) async fn live() -> Json<Value> {
    Json(json!({ "live": true }))
}

/// `GET /readyz`: messages are accepted, and no known fault keeps all of them from being answered.
pub(crate) async fn ready(State(api): State<Arc<Api>>) -> Response {
    let reasons = reasons(&api).await;
    let body = Json(json!({ "ready": reasons.is_empty(), "reasons": reasons }));
    match reasons.is_empty() {
        true => body.into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], body).into_response(),
    }
}

async fn reasons(api: &Api) -> Vec<Reason> {
    let host = api.gateway.host();
    let calls = CallScope::new(&host);
    let mut reasons = Vec::new();
    let mut add = |code, message| reasons.push(Reason { code, message });
    if api.gateway.is_stopping() {
        add("stopping", "the program stops and accepts no more messages");
    }
    if !api.readiness.plugins_prepared.load(Ordering::Relaxed) {
        add("plugins_preparing", "plugins are being compiled");
    }
    if hooks::is_store_gone(&calls) {
        add("store_plugin_unavailable", "the plugin that keeps the tapes cannot be asked; the log says why");
    } else if !api.readiness.is_store_reachable(&**host.tapes().store()).await {
        add("store_unreachable", "the store of the tapes cannot be written; the log says why");
    }
    if is_model_gone(&host, &calls) {
        add("model_unavailable", "the only model is one of a plugin that cannot be asked; the log says why");
    }
    reasons
}
