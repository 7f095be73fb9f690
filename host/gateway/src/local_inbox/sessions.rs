//! The sessions of this home. A tape's name is a hash of its session, so this index alone tells which tapes a caller with a
//! session prefix may reach.

use crate::quota::{QuotaAccount, QuotaExceeded};
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

    /// Whether the session is known.
    pub(crate) fn contains(&self, session: &str) -> bool {
        self.0.lock().tapes_by_session.contains_key(session)
    }

    /// Adds a session. Returns whether it is new.
    pub(crate) fn insert(&self, session: &str, tape: &str) -> bool {
        self.0.lock().insert(session.to_owned(), tape.to_owned())
    }

    /// Adds a session that a caller starts. Returns whether it is new.
    ///
    /// # Errors
    ///
    /// The caller's quota of sessions is used up; the session is not added.
    pub(crate) fn start(&self, session: &str, tape: &str, account: &QuotaAccount) -> Result<bool, QuotaExceeded> {
        let mut index = self.0.lock();
        if index.tapes_by_session.contains_key(session) {
            return Ok(false);
        }
        let started = index.started_by_caller.entry(account.caller.clone()).or_default();
        if let Some(limit) = account.sessions.filter(|limit| *started >= *limit) {
            return Err(QuotaExceeded::sessions(limit));
        }
        *started += 1;
        index.insert(session.to_owned(), tape.to_owned());
        Ok(true)
    }

    /// At most `max` sessions whose ids begin with `session_prefix`, in order after `after`, each with its tape.
    pub(crate) fn list(&self, session_prefix: &str, after: Option<&str>, max: usize) -> Vec<(String, String)> {
        let index = self.0.lock();
        let first = match after.filter(|after| *after >= session_prefix) {
            Some(after) => Bound::Excluded(after),
            None => Bound::Included(session_prefix),
        };
        let rest = index.tapes_by_session.range::<str, _>((first, Bound::Unbounded));
        let matching = rest.take_while(|(session, _)| session.starts_with(session_prefix)).take(max);
        matching.map(|(session, tape)| (session.clone(), tape.clone())).collect()
    }

    /// The session of a tape.
    pub(crate) fn session_of(&self, tape: &str) -> Option<String> {
        self.0.lock().sessions_by_tape.get(tape).cloned()
    }
}

impl SessionIndex {
    /// Returns whether the session is new.
    fn insert(&mut self, session: String, tape: String) -> bool {
        self.sessions_by_tape.insert(tape.clone(), session.clone());
        self.tapes_by_session.insert(session, tape).is_none()
    }
}
