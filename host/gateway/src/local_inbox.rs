//! The inbox of one process: the database `$BUB_HOME/serve.sqlite`, with its sessions and quotas in memory.
//!
//! One thread writes. Concurrent writes share a transaction, so that a slow disk is waited for once; each is reported
//! after the commit.

mod byte_counts;
pub(crate) mod forget;
mod rows;
mod schema;
mod sessions;
mod upgrade;
mod writer;

use super::inbox::{
    Accepted, Begin, Future, Inbox, MessageNumber, NewMessage, Outbound, PendingMessage, RETENTION, ReadCursor,
    SessionTape,
};
use super::quota::{QuotaAccount, QuotaExceeded, today};
use anyhow::{Context, Result};
use bub_tape::Durability;
use byte_counts::ByteCounts;
use rusqlite::{OptionalExtension, Row, params};
use sessions::Sessions;
use std::path::Path;
use writer::Writer;

/// The database, and what is kept of it in memory.
pub(crate) struct LocalInbox {
    writer: Writer,
    sessions: Sessions,
    byte_counts: ByteCounts,
}

impl LocalInbox {
    /// Opens the database, creates it, or upgrades it from an earlier version.
    pub(crate) async fn open(path: &Path, durability: Durability) -> Result<Self> {
        let wrong = || format!("the inbox database `{}` cannot be opened", path.display());
        let writer = Writer::start(schema::open(path, durability).with_context(wrong)?)?;
        let sessions = writer.write(|connection| {
            let mut all = connection.prepare("SELECT id, tape, caller FROM session")?;
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        });
        let sessions = Sessions::new(sessions.await?);
        let byte_counts = writer.write(|connection| {
            let mut all = connection.prepare("SELECT caller, bytes FROM record_count WHERE day = ?1")?;
            let count = |row: &Row<'_>| Ok((row.get(0)?, u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default()));
            all.query_map([today()], count)?.collect()
        });
        let byte_counts = ByteCounts::new(byte_counts.await?);
        Ok(Self { writer, sessions, byte_counts })
    }

    async fn set_outbound_state(&self, state: &'static str, key: String) -> Result<()> {
        let set = self.writer.write(move |connection| {
            connection.prepare_cached("UPDATE outbound SET state = ?2 WHERE key = ?1")?.execute(params![key, state])?;
            Ok(())
        });
        set.await
    }

    /// Stores a session, its tape, and the caller who started it.
    async fn insert_session(&self, session: String, tape: String, caller: Option<String>) {
        let id = session.clone();
        let stored = self.writer.write(move |connection| {
            let sql = "INSERT OR IGNORE INTO session (id, tape, caller) VALUES (?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![id, tape, caller]).map(drop)
        });
        if let Err(error) = stored.await {
            // It is listed until the process ends, and again after its next message.
            tracing::error!("session `{session}` is not stored: {error}");
        }
    }

    /// Stores how many bytes a caller has added to tapes on a day, in place of the caller's earlier days.
    async fn set_byte_count(&self, caller: String, day: i64, bytes: u64) {
        let name = caller.clone();
        let stored = self.writer.write(move |connection| {
            let sql = "INSERT INTO record_count (caller, day, bytes) VALUES (?1, ?2, ?3)
                       ON CONFLICT (caller) DO UPDATE SET
                       bytes = CASE WHEN day = excluded.day THEN max(bytes, excluded.bytes) ELSE excluded.bytes END,
                       day = excluded.day";
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            connection.prepare_cached(sql)?.execute(params![name, day, bytes]).map(drop)
        });
        if let Err(error) = stored.await {
            // The count in memory holds until the process ends.
            tracing::error!("the bytes that caller `{caller}` added to tapes are not stored: {error}");
        }
    }
}

impl Inbox for LocalInbox {
    fn accept(&self, messages: Vec<NewMessage>, cursor: Option<ReadCursor>) -> Future<'_, Vec<Accepted>> {
        Box::pin(self.writer.write(move |connection| {
            let accepted =
                messages.iter().map(|message| rows::accept(connection, message)).collect::<Result<_, _>>()?;
            if let Some(ReadCursor { channel, cursor, .. }) = cursor {
                let sql = "INSERT INTO cursor (channel, cursor) VALUES (?1, ?2)
                           ON CONFLICT (channel) DO UPDATE SET cursor = excluded.cursor";
                connection.prepare_cached(sql)?.execute(params![channel, cursor])?;
            }
            Ok(accepted)
        }))
    }

    /// Sessions are queued in memory, in the order of arrival.
    fn queue(&self, _: Vec<MessageNumber>, _: SessionTape) -> Future<'_, Option<i64>> {
        Box::pin(async { Ok(None) })
    }

    fn begin(&self, numbers: Vec<MessageNumber>, _tape: String) -> Future<'_, Begin> {
        Box::pin(self.writer.write(move |connection| {
            let leader = numbers.last();
            let sql = "UPDATE message SET state = 'running', leader = ?2 WHERE number = ?1";
            let mut update = connection.prepare_cached(sql)?;
            numbers.iter().try_for_each(|number| update.execute(params![number, leader]).map(drop))?;
            Ok(Begin::Now)
        }))
    }

    fn begin_steered(&self, numbers: Vec<MessageNumber>) -> Future<'_, ()> {
        Box::pin(self.writer.write(move |connection| {
            let sql = "UPDATE message SET state = 'running', leader = ?1 WHERE number = ?1";
            let mut update = connection.prepare_cached(sql)?;
            numbers.iter().try_for_each(|number| update.execute([number]).map(drop))
        }))
    }

    fn finish(
        &self,
        numbers: Vec<MessageNumber>,
        outcome: Option<String>,
        outbounds: Vec<Outbound>,
    ) -> Future<'_, Begin> {
        Box::pin(self.writer.write(move |connection| {
            let sql = "UPDATE message SET state = 'done', envelope = '', answer = ?2 WHERE number = ?1";
            let mut update = connection.prepare_cached(sql)?;
            for number in &numbers {
                update.execute(params![number, outcome])?;
            }
            outbounds.iter().try_for_each(|outbound| rows::insert_outbound(connection, outbound))?;
            Ok(Begin::Now)
        }))
    }

    fn begin_delivery(&self, key: String) -> Future<'_, Begin> {
        Box::pin(async move { self.set_outbound_state("sending", key).await.map(|()| Begin::Now) })
    }

    fn mark_ready(&self, key: String) -> Future<'_, ()> {
        Box::pin(self.set_outbound_state("ready", key))
    }

    fn mark_undeliverable(&self, key: String) -> Future<'_, ()> {
        Box::pin(self.set_outbound_state("dead", key))
    }

    fn remove_outbound(&self, key: String) -> Future<'_, ()> {
        Box::pin(self.writer.write(move |connection| {
            connection.prepare_cached("DELETE FROM outbound WHERE key = ?1")?.execute([key])?;
            Ok(())
        }))
    }

    fn adopt(&self) -> Future<'_, (Vec<PendingMessage>, Vec<Outbound>)> {
        Box::pin(self.writer.write(|connection| Ok((rows::pending(connection)?, rows::outbounds(connection)?))))
    }

    fn cursor(&self, channel: String) -> Future<'_, Option<String>> {
        Box::pin(self.writer.write(move |connection| {
            let mut cursor = connection.prepare_cached("SELECT cursor FROM cursor WHERE channel = ?1")?;
            cursor.query_row([channel], |row| row.get(0)).optional()
        }))
    }

    fn purge_done(&self) -> Future<'_, usize> {
        Box::pin(self.writer.write(|connection| {
            let sql = "DELETE FROM message WHERE state = 'done' AND unixepoch(taken) < unixepoch() - ?1";
            connection.execute(sql, [RETENTION])
        }))
    }

    fn record_session(&self, session: String, tape: String) -> Future<'_, ()> {
        Box::pin(async move {
            if !self.sessions.contains(&session) && self.sessions.insert(&session, &tape) {
                self.insert_session(session, tape, None).await;
            }
            Ok(())
        })
    }

    fn start_session(
        &self,
        session: String,
        tape: String,
        account: QuotaAccount,
    ) -> Future<'_, Result<(), QuotaExceeded>> {
        Box::pin(async move {
            match self.sessions.start(&session, &tape, &account) {
                Ok(true) => self.insert_session(session, tape, Some(account.caller)).await,
                Ok(false) => {}
                Err(exceeded) => return Ok(Err(exceeded)),
            }
            Ok(Ok(()))
        })
    }

    fn charge(&self, account: QuotaAccount, bytes: usize, limit: Option<u64>) -> Future<'_, Result<(), QuotaExceeded>> {
        Box::pin(async move {
            let counted = match limit {
                Some(limit) => self.byte_counts.charge(&account, bytes, limit),
                None => Ok(self.byte_counts.add(&account, bytes)),
            };
            match counted {
                Ok((day, total)) => self.set_byte_count(account.caller, day, total).await,
                Err(exceeded) => return Ok(Err(exceeded)),
            }
            Ok(Ok(()))
        })
    }

    fn sessions(&self, prefix: String, after: Option<String>, max: usize) -> Future<'_, Vec<(String, String)>> {
        Box::pin(async move { Ok(self.sessions.list(&prefix, after.as_deref(), max)) })
    }

    fn session_of(&self, tape: String) -> Future<'_, Option<String>> {
        Box::pin(async move { Ok(self.sessions.session_of(&tape)) })
    }
}
