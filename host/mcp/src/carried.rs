//! Taint that leaves a session by its client: a client that has read the answer of a tainted turn in one session may bring
//! its text into another.

use parking_lot::Mutex;
use std::collections::HashMap;

/// Sessions that are remembered. Beyond them, every session counts as tainted.
const MAX_SESSIONS: usize = 4096;

/// Why the next turn of a session of calls begins tainted, by its id.
#[derive(Default)]
pub(crate) struct CarriedTaint(Mutex<HashMap<String, String>>);

impl CarriedTaint {
    pub(crate) fn get(&self, session: &str) -> Option<String> {
        let carried = self.0.lock();
        let is_full = carried.len() >= MAX_SESSIONS;
        carried
            .get(session)
            .cloned()
            .or_else(|| is_full.then(|| "the client may have read text from outside in another session".to_owned()))
    }

    pub(crate) fn set(&self, session: &str, why: String) {
        let mut carried = self.0.lock();
        if carried.len() < MAX_SESSIONS {
            carried.entry(session.to_owned()).or_insert(why);
        }
    }
}
