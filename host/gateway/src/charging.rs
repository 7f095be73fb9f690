//! Charges messages and answers to their callers, and records the sessions that callers start.

use super::gateway::Gateway;
use super::quota::{QuotaAccount, QuotaExceeded};
use bub_tape::tape_name;
use bub_types::{Envelope, is_ephemeral};

impl Gateway {
    /// Charges a message whose session is known, before it waits for its turn.
    ///
    /// # Errors
    ///
    /// A quota is used up.
    pub(super) async fn charge_message(
        &self,
        session: &str,
        account: &QuotaAccount,
        message: &Envelope,
    ) -> Result<(), QuotaExceeded> {
        let media: usize = message.media.iter().map(|media| media.url.len()).sum();
        let passages: usize = message.passages.iter().map(|passage| passage.text.len()).sum();
        self.charge_bytes(account, message.content.len() + passages + media).await?;
        self.start_session(session, account).await
    }

    /// Charges the bytes that a message adds to its tape.
    ///
    /// # Errors
    ///
    /// The quota of today is used up; nothing is charged.
    async fn charge_bytes(&self, account: &QuotaAccount, bytes: usize) -> Result<(), QuotaExceeded> {
        let Some(limit) = account.bytes_per_day else { return Ok(()) };
        let (day, total) = self.byte_counts.charge(account, bytes, limit)?;
        self.store_bytes(account, day, total).await;
        Ok(())
    }

    /// Charges the bytes that an answer adds to its tape, even beyond the quota.
    pub(super) async fn charge_answer(&self, account: &QuotaAccount, bytes: usize) {
        if account.bytes_per_day.is_none() {
            return;
        }
        let (day, total) = self.byte_counts.add(account, bytes);
        self.store_bytes(account, day, total).await;
    }

    async fn store_bytes(&self, account: &QuotaAccount, day: i64, bytes: u64) {
        if let Err(error) = self.inbox_db.set_byte_count(account.caller.clone(), day, bytes).await {
            // The count in memory holds until the process ends.
            tracing::error!("the bytes that caller `{}` added to tapes are not stored: {error}", account.caller);
        }
    }

    /// Records a session that a caller starts.
    ///
    /// # Errors
    ///
    /// The caller's quota of sessions is used up; the session is not recorded.
    pub(super) async fn start_session(&self, session: &str, account: &QuotaAccount) -> Result<(), QuotaExceeded> {
        let tape = tape_name(&self.host().workspace, session);
        if self.sessions.start(session, &tape, account)? {
            self.store_session(session, tape, Some(account.caller.clone())).await;
        }
        Ok(())
    }

    /// Records a session with a message, unless it is ephemeral.
    pub(super) async fn record_session(&self, session: &str) {
        if is_ephemeral(session) || self.sessions.contains(session) {
            return;
        }
        let tape = tape_name(&self.host().workspace, session);
        let is_new = self.sessions.insert(session, &tape);
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
}
