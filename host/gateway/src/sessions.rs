//! Which sessions there are. A tape's name is a hash of its session, so whoever may reach only some sessions can be told no
//! other way which tapes are theirs.

use super::Gateway;
use super::quota::{Counted, Exceeded};
use bub_runtime::turn::EPHEMERAL_PREFIX;
use bub_tape::tape_name;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The sessions that were ever spoken in through this home's gateway.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Tapes by session.
    tapes: BTreeMap<String, String>,
    /// Sessions by tape.
    sessions: HashMap<String, String>,
    /// How many sessions each caller has begun that has a quota of them.
    begun: HashMap<String, u64>,
}

impl Sessions {
    /// Those that the records know, each with its tape and the caller who has begun it.
    pub fn new(records: Vec<(String, String, Option<String>)>) -> Self {
        let sessions = Self::default();
        for (session, tape, caller) in records {
            if let Some(caller) = caller {
                *sessions.known().begun.entry(caller).or_default() += 1;
            }
            sessions.add(session, tape);
        }
        sessions
    }

    /// Whether it is new.
    fn add(&self, session: String, tape: String) -> bool {
        self.known().add(session, tape)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn add(&mut self, session: String, tape: String) -> bool {
        self.sessions.insert(tape.clone(), session.clone());
        self.tapes.insert(session, tape).is_none()
    }
}

impl Gateway {
    /// Remembers a session that a caller begins, if they may begin one more.
    ///
    /// # Errors
    ///
    /// They may not: then it is not remembered.
    pub(super) async fn begin_session(&self, session: &str, counted: &Counted) -> Result<(), Exceeded> {
        let tape = {
            let mut known = self.sessions.known();
            if known.tapes.contains_key(session) {
                return Ok(());
            }
            let begun = known.begun.entry(counted.caller.clone()).or_default();
            if let Some(limit) = counted.sessions.filter(|limit| *begun >= *limit) {
                return Err(Exceeded { key: "sessions", limit });
            }
            *begun += 1;
            let tape = tape_name(&self.host().workspace, session);
            known.add(session.to_owned(), tape.clone());
            tape
        };
        self.write_session(session, tape, Some(counted.caller.clone())).await;
        Ok(())
    }

    /// Remembers a session in which somebody speaks, unless nothing of it is kept.
    pub(super) async fn remember(&self, session: &str) {
        if session.starts_with(EPHEMERAL_PREFIX) || self.sessions.known().tapes.contains_key(session) {
            return;
        }
        let tape = tape_name(&self.host().workspace, session);
        if self.sessions.add(session.to_owned(), tape.clone()) {
            self.write_session(session, tape, None).await;
        }
    }

    async fn write_session(&self, session: &str, tape: String, caller: Option<String>) {
        if let Err(error) = self.records.session(session.to_owned(), tape, caller).await {
            // It is listed until the program ends, and again once somebody speaks in it.
            tracing::error!("session `{session}` is not written down: {error}");
        }
    }

    /// Sessions whose ids begin with `reach`, behind `after`, in order, at most `most`; each with its tape.
    pub fn sessions(&self, reach: &str, after: Option<&str>, most: usize) -> Vec<(String, String)> {
        let known = self.sessions.known();
        let first = match after.filter(|after| *after >= reach) {
            Some(after) => Bound::Excluded(after),
            None => Bound::Included(reach),
        };
        let behind = known.tapes.range::<str, _>((first, Bound::Unbounded));
        let reached = behind.take_while(|(session, _)| session.starts_with(reach)).take(most);
        reached.map(|(session, tape)| (session.clone(), tape.clone())).collect()
    }

    /// The session whose tape that is, where it was ever spoken in through this gateway.
    pub fn session_of(&self, tape: &str) -> Option<String> {
        self.sessions.known().sessions.get(tape).cloned()
    }

    /// Whether a turn of the session runs, and how many messages wait in it.
    pub fn load_of(&self, session: &str) -> (bool, usize) {
        self.lanes.load(session)
    }
}
