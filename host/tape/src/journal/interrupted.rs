//! A session whose turn may have been interrupted.

use super::{Alone, Recovered};
use crate::error::Result;

/// A session, under its lease: the process that ran its last turn can write nothing more of it. So whether that turn is on
/// the tape does not change while this is held. Dropped, the lease is released.
pub struct InterruptedSession {
    pub(super) alone: Alone,
    pub(super) tape: String,
    pub(super) left: Option<Recovered>,
}

impl InterruptedSession {
    /// The part of the last turn that is not on the tape, or not known to be.
    pub fn left(&self) -> Option<&Recovered> {
        self.left.as_ref()
    }

    /// Commits that turn's entries out of context, because the turn will be retried, and releases the lease.
    ///
    /// # Errors
    ///
    /// They cannot be stored.
    pub async fn set_aside(self) -> Result<Option<Recovered>> {
        let recovered = self.alone.recover(&self.tape, true).await;
        self.alone.release().await;
        recovered
    }

    /// Releases the lease, and waits for the end of that. The next turn commits what is left.
    pub async fn release(self) {
        self.alone.release().await;
    }
}
