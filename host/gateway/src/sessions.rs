//! The sessions of this home. A tape's name is a hash of its session, so this index alone tells which tapes a caller with a
//! session prefix may reach.

use super::Gateway;
use super::quota::{QuotaAccount, QuotaExceeded};
use bub_runtime::turn::EPHEMERAL_PREFIX;
use bub_tape::tape_name;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// All sessions that had a message through this home's gateway.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<SessionIndex>);

#[derive(Default)]
struct SessionIndex {
    tapes_by_session: BTreeMap<String, String>,
    sessions_by_tape: HashMap<String, String>,
    /// The number of sessions that each caller with a quota of them has started.
    started_by_caller: HashMap<String, u64>,
}

impl Sessions {
    /// Stored sessions, each with its tape and the caller who started it.
    pub(crate) fn new(stored: Vec<(String, String, Option<String>)>) -> Self {
        let mut index = SessionIndex::default();
        for (session, tape, caller) in stored {
            if let Some(caller) = caller {
                *index.started_by_caller.entry(caller).or_default() += 1;
            }
            index.insert(session, tape);
        }
        Self(Mutex::new(index))
    }
}

impl SessionIndex {
    /// Returns whether the session is new.
    fn insert(&mut self, session: String, tape: String) -> bool {
        self.sessions_by_tape.insert(tape.clone(), session.clone());
        self.tapes_by_session.insert(session, tape).is_none()
    }
}

impl Gateway {
    /// Records a session that a caller starts.
    ///
    /// # Errors
    ///
    /// The caller's quota of sessions is used up; the session is not recorded.
    pub(super) async fn start_session(&self, session: &str, account: &QuotaAccount) -> Result<(), QuotaExceeded> {
        let tape = {
            let mut index = self.sessions.0.lock();
            if index.tapes_by_session.contains_key(session) {
                return Ok(());
            }
            let started = index.started_by_caller.entry(account.caller.clone()).or_default();
            if let Some(limit) = account.sessions.filter(|limit| *started >= *limit) {
                return Err(QuotaExceeded { key: "sessions", limit });
            }
            *started += 1;
            let tape = tape_name(&self.host().workspace, session);
            index.insert(session.to_owned(), tape.clone());
            tape
        };
        self.store_session(session, tape, Some(account.caller.clone())).await;
        Ok(())
    }

    /// Records a session with a message, unless it is ephemeral.
    pub(super) async fn record_session(&self, session: &str) {
        if session.starts_with(EPHEMERAL_PREFIX) || self.sessions.0.lock().tapes_by_session.contains_key(session) {
            return;
        }
        let tape = tape_name(&self.host().workspace, session);
        let is_new = self.sessions.0.lock().insert(session.to_owned(), tape.clone());
        if is_new {
            self.store_session(session, tape, None).await;
        }
    }

    async fn store_session(&self, session: &str, tape: String, caller: Option<String>) {
        if let Err(error) = self.inbox_db.insert_session(session.to_owned(), tape, caller).await {
            // It is listed until the process ends, and again after its next message.
            tracing::error!("session `{session}` is not stored: {error}");
        }
    }

    /// At most `max` sessions whose ids begin with `session_prefix`, in order after `after`, each with its tape.
    pub fn sessions(&self, session_prefix: &str, after: Option<&str>, max: usize) -> Vec<(String, String)> {
        let index = self.sessions.0.lock();
        let first = match after.filter(|after| *after >= session_prefix) {
            Some(after) => Bound::Excluded(after),
            None => Bound::Included(session_prefix),
        };
        let rest = index.tapes_by_session.range::<str, _>((first, Bound::Unbounded));
        let matching = rest.take_while(|(session, _)| session.starts_with(session_prefix)).take(max);
        matching.map(|(session, tape)| (session.clone(), tape.clone())).collect()
    }

    /// The session of a tape, if it had a message through this gateway.
    pub fn session_of(&self, tape: &str) -> Option<String> {
        self.sessions.0.lock().sessions_by_tape.get(tape).cloned()
    }

    /// Whether a turn of the session runs, and how many messages wait for theirs.
    pub fn load_of(&self, session: &str) -> (bool, usize) {
        self.session_queues.load(session)
    }
}
