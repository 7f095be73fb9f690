//! The tapes of a host.

use super::data::Host;
use crate::hooks;
use crate::turn::CallScope;
use bub_tape::{Note, Tapes};
use std::sync::Arc;

impl Host {
    /// Notes on the chain of a tape what no entry tells, where its store has chains.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub async fn note(&self, tape: &str, note: Note) -> bub_tape::Result<()> {
        self.store.note(tape, note).await
    }

    /// All tapes, in the store that is active at this moment.
    pub fn tapes(self: &Arc<Self>) -> Tapes {
        self.tapes_of(&CallScope::new(self))
    }

    /// All tapes, in the store of that scope's plugins: a turn ends on the tapes that it started with.
    pub fn tapes_of(&self, scope: &Arc<CallScope>) -> Tapes {
        let store = hooks::tape_store(scope, self.store.clone());
        Tapes::new(store, self.journals.clone()).with_summaries(&self.summaries)
    }
}
