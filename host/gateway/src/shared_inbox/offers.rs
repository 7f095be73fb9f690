//! Signals between workers about messages: offers to running turns, requests to stop, and outcomes.

use super::{Result, SharedInbox, rows};
use crate::TurnOutcome;
use crate::inbox::MessageNumber;
use bub_postgres::{Hints, ToSql};
use bub_runtime::turn::{AttributedMessage, Identity};
use std::sync::atomic::Ordering;

/// The channel of notifications; their payload is the name of a worker that has something to look at, or [`ALL`].
const CHANNEL: &str = "bub_worker";

/// The payload of a notification for all workers.
pub(crate) const ALL: &str = "*";

/// A message for a turn that runs here, accepted by another worker. It is this worker's from now on.
pub(crate) struct Offer {
    pub(crate) tape: String,
    pub(crate) number: MessageNumber,
    pub(crate) place: Option<i64>,
    pub(crate) message: AttributedMessage,
}

/// The end of a turn at another worker.
pub(crate) enum Ended {
    With(TurnOutcome),
    /// Its outcome is not kept.
    Unknown,
    /// A failover has lost the message.
    Lost,
}

impl SharedInbox {
    /// Notifications for any worker.
    pub(crate) fn hints(&self) -> Hints {
        Hints::listen(&self.database, CHANNEL)
    }

    /// Offers a message that waits to the turn that runs in its session at another worker.
    pub(crate) async fn offer(&self, number: MessageNumber) -> Result<()> {
        self.write("SELECT offer_1($1, $2)", &[&self.worker.current().name(), &number]).await.map(drop)
    }

    /// Takes what other workers offer to the turns of these tapes.
    pub(crate) async fn take_offers(&self, tapes: &[String]) -> Result<Vec<Offer>> {
        let member = self.worker.current();
        let fence = member.fence();
        let statement = "SELECT found_tape, found_number, found_place, found_envelope, found_identity \
                         FROM take_offers_1($1, $2, $3, $4)";
        let values: [&(dyn ToSql + Sync); 4] = [&member.name(), &fence.epoch(), &fence.owner(), &tapes];
        // Once only: what was taken and not answered is adopted by the next look of `adopt`.
        let found = self.database.write(super::ACTION, statement, &values, false).await;
        if found.is_err() {
            self.has_unread.store(true, Ordering::Relaxed);
        }
        let found = found?;
        let offer = |row: &bub_postgres::Row| {
            let identity: Option<&[u8]> = row.try_get(4)?;
            let identity: Option<Identity> = identity.and_then(|identity| serde_json::from_slice(identity).ok());
            let message = AttributedMessage { message: rows::parsed(row, 3)?, identity };
            Ok(Offer { tape: row.try_get(0)?, number: row.try_get(1)?, place: row.try_get(2)?, message })
        };
        let offers: Result<Vec<Offer>> = found.iter().map(offer).collect();
        let numbers: Vec<MessageNumber> = found.iter().filter_map(|row| row.try_get(1).ok()).collect();
        if !numbers.is_empty() {
            self.write("UPDATE message SET adopted = false WHERE number = ANY ($1)", &[&numbers]).await?;
        }
        offers
    }

    /// Asks the worker of the turn that runs on a tape to stop it. Returns whether one runs.
    pub(crate) async fn stop(&self, tape: &str) -> Result<bool> {
        let rows = self.write("SELECT stop_1($1)", &[&tape]).await?;
        Ok(rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
    }

    /// Those of the tapes whose turns, which run here, are to stop.
    pub(crate) async fn stops(&self, tapes: &[String]) -> Result<Vec<String>> {
        let statement =
            "SELECT DISTINCT tape FROM message WHERE tape = ANY ($1) AND state = 1 AND stops AND worker = $2";
        let rows = self.rows(statement, &[&tapes, &self.worker.current().name()]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Outcomes of messages whose turns have ended at another worker, or whose rows a failover has lost.
    pub(crate) async fn outcomes(&self, numbers: &[MessageNumber]) -> Result<Vec<(MessageNumber, Ended)>> {
        let statement = "SELECT n, m.outcome, m.number IS NULL FROM unnest($1::bigint[]) AS n \
                         LEFT JOIN message m ON m.number = n WHERE m.number IS NULL OR m.state = 2";
        let rows = self.rows(statement, &[&numbers]).await?;
        let outcome = |row: &bub_postgres::Row| {
            let outcome: Option<&[u8]> = row.try_get(1)?;
            let is_missing: bool = row.try_get(2)?;
            let ended = match outcome.and_then(|outcome| serde_json::from_slice(outcome).ok()) {
                Some(outcome) => Ended::With(outcome),
                None if is_missing => Ended::Lost,
                None => Ended::Unknown,
            };
            Ok((row.try_get(0)?, ended))
        };
        rows.iter().map(outcome).collect()
    }
}
