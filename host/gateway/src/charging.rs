//! Charges messages and answers to their callers, and records the sessions that callers start.

use super::gateway::Gateway;
use super::quota::{QuotaAccount, QuotaExceeded};
use super::task::Refusal;
use bub_tape::tape_name;
use bub_types::{Envelope, is_ephemeral};

impl Gateway {
    /// Charges a message whose session is known, before it waits for its turn.
    ///
    /// # Errors
    ///
    /// A quota is used up, or the charge cannot be stored where all workers see it.
    pub(super) async fn charge_message(
        &self,
        session: &str,
        account: &QuotaAccount,
        message: &Envelope,
    ) -> Result<(), Refusal> {
        let media: usize = message.media.iter().map(|media| media.url.len()).sum();
        let passages: usize = message.passages.iter().map(|passage| passage.text.len()).sum();
        let bytes = message.content.len() + passages + media;
        self.charge_bytes(account, bytes).await?;
        self.start_session(session, account).await
    }

    /// Charges bytes that a caller adds to tapes.
    ///
    /// # Errors
    ///
    /// The quota is used up, or the charge cannot be stored where all workers see it.
    pub async fn charge_bytes(&self, account: &QuotaAccount, bytes: usize) -> Result<(), Refusal> {
        match account.bytes_per_day {
            Some(limit) => refused(self.inbox.charge(account.clone(), bytes, Some(limit)).await),
            None => Ok(()),
        }
    }

    /// Records a session that a caller starts; one that is known stays as it is.
    ///
    /// # Errors
    ///
    /// The quota of sessions is used up, or the session cannot be stored where all workers see it.
    pub async fn start_session(&self, session: &str, account: &QuotaAccount) -> Result<(), Refusal> {
        let tape = tape_name(&self.host().workspace, session);
        refused(self.inbox.start_session(session.to_owned(), tape, account.clone()).await)
    }

    /// Charges the bytes that an answer adds to its tape, even beyond the quota.
    pub(super) async fn charge_answer(&self, account: &QuotaAccount, bytes: usize) {
        if account.bytes_per_day.is_none() {
            return;
        }
        if let Err(error) = self.inbox.charge(account.clone(), bytes, None).await {
            tracing::error!("the bytes that caller `{}` added to tapes are not stored: {error}", account.caller);
        }
    }

    /// Records a session with a message, unless it is ephemeral.
    pub(super) async fn record_session(&self, session: &str) {
        if is_ephemeral(session) {
            return;
        }
        let tape = tape_name(&self.host().workspace, session);
        if let Err(error) = self.inbox.record_session(session.to_owned(), tape).await {
            tracing::error!("session `{session}` is not stored: {error}");
        }
    }
}

fn refused(charged: anyhow::Result<Result<(), QuotaExceeded>>) -> Result<(), Refusal> {
    charged.map_err(Refusal::Storage)?.map_err(Refusal::Quota)
}
