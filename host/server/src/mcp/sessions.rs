//! Sessions of the protocol's older revisions: each belongs to the token that began it, and their number is bounded.

use super::super::ApiError;
use super::super::token::Bearer;
use axum::http::StatusCode;
use bub_mcp::rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Sessions at once.
const MAX_SESSIONS: usize = 1024;

/// Sessions of one token at once.
const MAX_OF_TOKEN: usize = 64;

/// How long a session may be idle. Longer than any turn, which is silent where its client asked for no progress.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The sessions, and the digests of their tokens.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<String, String>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE_TIMEOUT);
        Self { manager: Arc::new(manager), owners: Mutex::default() }
    }

    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    /// # Errors
    ///
    /// The session has ended, or another token began it: the two look the same.
    pub(super) fn check(&self, session: &str, bearer: &Bearer) -> Result<(), ApiError> {
        match self.owners.lock().get(session) {
            Some(owner) if *owner == bearer.digest() => Ok(()),
            _ => Err(ApiError::not_found("this session has ended; begin a new one by `initialize`")),
        }
    }

    /// # Errors
    ///
    /// Too many sessions are open.
    pub(super) async fn check_room(&self, bearer: &Bearer) -> Result<(), ApiError> {
        let open = self.manager.sessions.read().await;
        let mut owners = self.owners.lock();
        owners.retain(|session, _| open.contains_key(session.as_str()));
        let digest = bearer.digest();
        let of_token = owners.values().filter(|owner| **owner == digest).count();
        if open.len() >= MAX_SESSIONS || of_token >= MAX_OF_TOKEN {
            let message = "too many sessions of the protocol are open; end one by `DELETE`, or try again later";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message));
        }
        Ok(())
    }

    /// A session has begun.
    pub(super) fn begin(&self, session: String, bearer: &Bearer) {
        self.owners.lock().insert(session, bearer.digest());
    }
}
