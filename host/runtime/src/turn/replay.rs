//! Restores a turn from its snapshot, to replay a call.

use super::data::Turn;
use super::options::TurnOptions;
use super::scope::CallScope;
use super::taint::TaintSource;
use crate::error::Failure;
use crate::plugin::Caller;
use bub_types::{EPHEMERAL_PREFIX, Envelope, Error, ErrorKind, Principal};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A turn as [`Turn::snapshot`] returns it, as far as hooks can see it.
#[derive(Debug, Deserialize)]
pub struct TurnSnapshot {
    message: Envelope,
    session: String,
    started: String,
    principal: Principal,
    tainted: bool,
    prompt: Option<String>,
    state: Map<String, Value>,
}

impl TurnSnapshot {
    /// The turn's session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The same in a session that is not kept, so that nothing is written for it.
    #[must_use]
    pub fn unkept(self) -> Self {
        Self { session: format!("{EPHEMERAL_PREFIX}replay"), ..self }
    }

    /// The prompt, or the message where there was none yet.
    pub fn prompt(&self) -> &str {
        self.prompt.as_deref().unwrap_or(&self.message.content)
    }
}

impl Turn {
    /// Creates a turn from the snapshot, in this host's workspace.
    ///
    /// # Errors
    ///
    /// The tape cannot be written.
    pub async fn from_snapshot(
        scope: &Arc<CallScope>,
        told: TurnSnapshot,
        options: TurnOptions,
    ) -> Result<Arc<Self>, Failure> {
        let turn = Self::begin(scope, told.session, told.message, options).await?;
        let held = || Failure::Tape(Error::new(ErrorKind::Conflict, "the turn is held by another writer"));
        let mut turn = Arc::into_inner(turn).ok_or_else(held)?;
        turn.principal = told.principal;
        turn.caller = Caller::new(told.principal, &turn.message.channel, turn.message.sender.as_deref());
        // A moment that cannot be read is the present one.
        if let Ok(started) = told.started.parse::<jiff::Timestamp>() {
            turn.started = started.to_zoned(jiff::tz::TimeZone::system());
        }
        if told.tainted {
            turn.taint(TaintSource::outside("told"), || "text from outside is in the conversation".to_owned());
        }
        for (key, value) in told.state.into_iter().filter(|(key, _)| !key.starts_with("_runtime")) {
            turn.set(key, value);
        }
        if let Some(prompt) = told.prompt {
            turn.set_prompt(prompt);
        }
        Ok(Arc::new(turn))
    }

    /// Ends it where it stands. Its writes go nowhere.
    pub async fn discard(&self) {
        self.wait_for_tasks().await;
        self.idle.clear();
        self.scope.host.processes.end_turn(&self.id).await;
        self.end_program_proxies();
        self.tape.close();
    }
}
