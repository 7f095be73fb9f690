//! The inbox of workers that share a database in PostgreSQL. The functions of its schema (`003.sql` in the crate
//! `bub-postgres`) hold the rules.
//!
//! A message is its worker's until its turn has ended: the worker that accepted it, or the one that has adopted it since.
//! It begins when it is the first of its session, whichever workers have the others. Every write is done under the worker's
//! lease, in one statement.

mod elsewhere;
pub(crate) mod forget;
mod offers;
mod rows;
mod streams;
mod worker;

use super::inbox::{
    Accepted, Begin, Future, Inbox, MessageNumber, NewMessage, Outbound, PendingMessage, RETENTION, ReadCursor,
    SessionTape,
};
use super::quota::{QuotaAccount, QuotaExceeded, today};
use anyhow::{Context, Result};
use bub_postgres::{Database, MARK, Row, Terms, ToSql};
use bub_tape::Error;
pub use elsewhere::ElsewhereTurn;
pub(crate) use offers::{ALL, Ended, Offer};
use parking_lot::Mutex;
use rows::{bytes, json, number_of};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use worker::{Membership, Worker};

/// Sessions that are known to be recorded, for this process alone.
const MAX_KNOWN: usize = 100_000;

/// The action when messages are accepted, and the one otherwise, for error messages.
const ACCEPT: &str = "accept messages of `serve`";
const ACTION: &str = "write the messages of `serve`";

/// The tables of `serve` in a database.
pub(crate) struct SharedInbox {
    database: Database,
    worker: Worker,
    /// Sessions that were recorded with their caller, unless a failover has lost writes since.
    known: Mutex<(u64, HashSet<String>)>,
    /// Writes that were refused because another worker had taken over.
    fenced: AtomicU64,
    /// Whether something may have been adopted that is not known here.
    has_unread: AtomicBool,
}

impl SharedInbox {
    /// Joins the workers of a database.
    pub(crate) async fn join(database: &Database, terms: Terms) -> Result<Self> {
        Ok(Self {
            database: database.clone(),
            worker: Worker::join(database, terms).await?,
            known: Mutex::default(),
            fenced: AtomicU64::new(0),
            has_unread: AtomicBool::new(false),
        })
    }

    /// This process among the workers.
    pub(crate) fn worker(&self) -> &Worker {
        &self.worker
    }

    /// How many failovers have lost writes of this process.
    pub(crate) fn losses(&self) -> u64 {
        *self.database.losses().borrow()
    }

    /// Has the next [`Inbox::adopt`] find the messages of this worker that are not known here.
    pub(crate) fn read_again(&self) {
        self.has_unread.store(true, Ordering::Relaxed);
    }

    /// Writes that were refused because another worker had taken over.
    pub(crate) fn fenced(&self) -> u64 {
        self.fenced.load(Ordering::Relaxed)
    }

    async fn rows(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        Ok(self.database.query(ACTION, statement, values).await?)
    }

    /// A statement that may be done twice.
    async fn write(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        Ok(self.database.write(ACTION, statement, values, true).await?)
    }

    /// The verdict of a function of the schema.
    async fn begun(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Begin> {
        let rows = self.write(statement, values).await?;
        let verdict: &str = rows.first().context("the database returned no row")?.try_get(0)?;
        Ok(match verdict {
            "started" | "done" => Begin::Now,
            "later" => Begin::Later,
            _ => {
                self.fenced.fetch_add(1, Ordering::Relaxed);
                Begin::Elsewhere
            }
        })
    }

    /// The messages of this worker, known here or not, and the answers that it has adopted.
    async fn adopted(&self, worker: &str) -> Result<(Vec<PendingMessage>, Vec<Outbound>)> {
        let messages = "SELECT number, envelope, identity, active, accepted, leader, place FROM message \
                        WHERE worker = $1 AND state < 2 ORDER BY number";
        let messages = self.rows(messages, &[&worker]).await?;
        let messages = messages.iter().map(rows::pending).collect::<Result<Vec<_>>>()?;
        let outbounds = "SELECT key, envelope, state, handle, queued FROM outbound \
                         WHERE worker = $1 AND adopted AND state < 2 ORDER BY number";
        let outbounds = self.rows(outbounds, &[&worker]).await?;
        let outbounds = outbounds.iter().map(rows::outbound).collect::<Result<Vec<_>>>()?;
        let numbers: Vec<MessageNumber> = messages.iter().map(|message| message.number).collect();
        self.write("UPDATE message SET adopted = false WHERE number = ANY ($1)", &[&numbers]).await?;
        let keys: Vec<&str> = outbounds.iter().map(|outbound| outbound.key.as_str()).collect();
        self.write("UPDATE outbound SET adopted = false WHERE key = ANY ($1)", &[&keys]).await?;
        Ok((messages, outbounds))
    }

    /// For the tapes of sessions that have messages: whether a turn runs at any worker, and how many messages wait.
    pub(crate) async fn loads(&self, tapes: &[&str]) -> Result<HashMap<String, (bool, usize)>> {
        let statement = "SELECT tape, bool_or(state = 1), count(*) FILTER (WHERE state = 0) FROM message \
                         WHERE tape = ANY ($1) AND state < 2 GROUP BY tape";
        let rows = self.rows(statement, &[&tapes]).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, (row.try_get(1)?, number_of(row, 2)?)))).collect()
    }

    /// The number of messages that wait at any worker, the age of the oldest in seconds, and the number of leases.
    pub(crate) async fn totals(&self) -> Result<(usize, f64, usize)> {
        let statement = "SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(accepted)), 0)::float8, \
                         (SELECT count(*) FROM lease WHERE until > clock_timestamp()) FROM message WHERE state < 2 \
                         AND state = 0";
        let rows = self.rows(statement, &[]).await?;
        let row = rows.first().context("the database returned no row")?;
        Ok((number_of(row, 0)?, row.try_get(1)?, number_of(row, 2)?))
    }
}

impl Inbox for SharedInbox {
    fn accept(&self, messages: Vec<NewMessage>, cursor: Option<ReadCursor>) -> Future<'_, Vec<Accepted>> {
        Box::pin(async move {
            let member = self.worker.current();
            let (name, fence) = (member.name(), member.fence());
            let queued = messages.first().and_then(|first| first.session.clone());
            let (tape, session) = queued.map_or((None, None), |queued| (Some(queued.tape), queued.session));
            let new = rows::NewRows::new(messages);
            let (channel, to, lease) = match cursor {
                Some(ReadCursor { channel, cursor, lease }) => (Some(channel), Some(cursor), lease),
                None => (None, None, None),
            };
            let statement = format!(
                "SELECT verdict, found_number, found_place, found_outcome, {MARK} FROM accept_1($1, $2, $3, $4, $5, $6, \
                 $7, $8, $9, $10, $11, $12, $13, $14, $15)"
            );
            let found = self
                .database
                .write(
                    ACCEPT,
                    &statement,
                    &[
                        &name,
                        &fence.epoch(),
                        &fence.owner(),
                        &new.keys,
                        &new.envelopes,
                        &new.checksums,
                        &new.identities,
                        &new.actives,
                        &tape,
                        &session.as_ref().map(String::as_bytes),
                        &channel.as_ref().map(String::as_bytes),
                        &to.as_ref().map(String::as_bytes),
                        &lease.as_ref().map(|lease| lease.name()),
                        &lease.as_ref().map(|lease| lease.epoch()),
                        &lease.as_ref().map(|lease| lease.owner()),
                    ],
                    // A message without an id would be accepted twice.
                    new.keys.iter().all(Option::is_some),
                )
                .await;
            if found.is_err() {
                // The messages may be there, and this worker's.
                self.has_unread.store(true, Ordering::Relaxed);
            }
            let found = found?;
            if found.len() != new.keys.len() || rows::is_fenced(&found) {
                self.fenced.fetch_add(1, Ordering::Relaxed);
                return Err(Error::LeaseLost { lease: fence.name().to_owned() }.into());
            }
            found.iter().map(rows::accepted).collect()
        })
    }

    fn queue(&self, numbers: Vec<MessageNumber>, session: SessionTape) -> Future<'_, Option<i64>> {
        Box::pin(async move {
            let id = session.session.as_ref().map(String::as_bytes);
            let rows = self.write("SELECT queue_1($1, $2, $3)", &[&numbers, &session.tape, &id]).await?;
            Ok(rows.first().context("the database returned no row")?.try_get(0)?)
        })
    }

    fn begin(&self, numbers: Vec<MessageNumber>, tape: String) -> Future<'_, Begin> {
        Box::pin(async move {
            let member = self.worker.current();
            let fence = member.fence();
            let values: [&(dyn ToSql + Sync); 5] = [&member.name(), &fence.epoch(), &fence.owner(), &numbers, &tape];
            self.begun(&format!("SELECT begin_1($1, $2, $3, $4, $5), {MARK}"), &values).await
        })
    }

    fn begin_steered(&self, numbers: Vec<MessageNumber>) -> Future<'_, ()> {
        Box::pin(async move {
            let statement = "UPDATE message SET state = 1, leader = number \
                             WHERE number = ANY ($1) AND worker = $2 AND state < 2";
            self.write(statement, &[&numbers, &self.worker.current().name()]).await.map(drop)
        })
    }

    fn finish(
        &self,
        numbers: Vec<MessageNumber>,
        outcome: Option<String>,
        outbounds: Vec<Outbound>,
    ) -> Future<'_, Begin> {
        Box::pin(async move {
            let member = self.worker.current();
            let fence = member.fence();
            let keys: Vec<&str> = outbounds.iter().map(|outbound| outbound.key.as_str()).collect();
            let chats: Vec<Vec<u8>> = outbounds.iter().map(|outbound| rows::chat(&outbound.message)).collect();
            let envelopes: Vec<Vec<u8>> = outbounds.iter().map(|outbound| json(&outbound.message)).collect();
            let handles: Vec<Option<&[u8]>> =
                outbounds.iter().map(|outbound| outbound.handle.as_ref().map(String::as_bytes)).collect();
            let queued: Vec<Vec<u8>> =
                outbounds.iter().map(|outbound| outbound.queued_at.to_string().into_bytes()).collect();
            let values: [&(dyn ToSql + Sync); 10] = [
                &member.name(),
                &fence.epoch(),
                &fence.owner(),
                &numbers,
                &outcome.as_ref().map(String::as_bytes),
                &keys,
                &chats,
                &envelopes,
                &handles,
                &queued,
            ];
            let statement = format!("SELECT finish_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10), {MARK}");
            self.begun(&statement, &values).await
        })
    }

    fn begin_delivery(&self, key: String) -> Future<'_, Begin> {
        Box::pin(async move {
            let member = self.worker.current();
            let fence = member.fence();
            let values: [&(dyn ToSql + Sync); 4] = [&member.name(), &fence.epoch(), &fence.owner(), &key];
            self.begun("SELECT send_1($1, $2, $3, $4)", &values).await
        })
    }

    fn mark_ready(&self, key: String) -> Future<'_, ()> {
        Box::pin(async move {
            let statement = "UPDATE outbound SET state = 0 WHERE key = $1 AND worker = $2 AND state = 1";
            self.write(statement, &[&key, &self.worker.current().name()]).await.map(drop)
        })
    }

    fn mark_undeliverable(&self, key: String) -> Future<'_, ()> {
        Box::pin(async move {
            let statement = "UPDATE outbound SET state = 2 WHERE key = $1 AND worker = $2";
            self.write(statement, &[&key, &self.worker.current().name()]).await.map(drop)
        })
    }

    fn remove_outbound(&self, key: String) -> Future<'_, ()> {
        Box::pin(async move {
            let statement = "DELETE FROM outbound WHERE key = $1 AND worker = $2";
            self.write(statement, &[&key, &self.worker.current().name()]).await.map(drop)
        })
    }

    fn adopt(&self) -> Future<'_, (Vec<PendingMessage>, Vec<Outbound>)> {
        Box::pin(async move {
            let member = self.worker.current();
            let fence = member.fence();
            let statement = "SELECT adopt_1($1, $2, $3)";
            let rows = self.write(statement, &[&member.name(), &fence.epoch(), &fence.owner()]).await?;
            let dead: Option<String> = rows.first().context("the database returned no row")?.try_get(0)?;
            // Messages that a lost answer has adopted are still to be read.
            if dead.is_none() && !self.has_unread.load(Ordering::Relaxed) {
                return Ok((Vec::new(), Vec::new()));
            }
            self.has_unread.store(true, Ordering::Relaxed);
            let adopted = self.adopted(member.name()).await?;
            self.has_unread.store(false, Ordering::Relaxed);
            Ok(adopted)
        })
    }

    fn cursor(&self, channel: String) -> Future<'_, Option<String>> {
        Box::pin(async move {
            let rows = self.rows("SELECT cursor FROM cursor WHERE channel = $1", &[&channel.as_bytes()]).await?;
            rows.first().map(|row| bytes(row, 0)).transpose()
        })
    }

    fn purge_done(&self) -> Future<'_, usize> {
        Box::pin(async move {
            let statement = "WITH gone AS (DELETE FROM message WHERE state = 2 AND \
                             accepted < clock_timestamp() - $1 * interval '1 second' RETURNING 1) \
                             SELECT count(*) FROM gone";
            let rows = self.write(statement, &[&(RETENTION as f64)]).await?;
            // Names of workers are never used again.
            let ended = "DELETE FROM lease l WHERE l.name LIKE 'worker:%' \
                         AND coalesce(l.until, '-infinity') < clock_timestamp() - interval '1 day' \
                         AND NOT EXISTS (SELECT FROM message m WHERE m.worker = l.name AND m.state < 2) \
                         AND NOT EXISTS (SELECT FROM outbound o WHERE o.worker = l.name AND o.state < 2)";
            self.write(ended, &[]).await?;
            number_of(rows.first().context("the database returned no row")?, 0)
        })
    }

    /// A session is recorded when a message is queued in it.
    fn record_session(&self, _session: String, _tape: String) -> Future<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn start_session(
        &self,
        session: String,
        tape: String,
        account: QuotaAccount,
    ) -> Future<'_, Result<(), QuotaExceeded>> {
        Box::pin(async move {
            let losses = self.losses();
            {
                let known = self.known.lock();
                if known.0 == losses && known.1.contains(&tape) {
                    return Ok(Ok(()));
                }
            }
            let quota = account.sessions.map(|quota| i64::try_from(quota).unwrap_or(i64::MAX));
            let statement = "SELECT start_session_1($1, $2, $3, $4)";
            let rows = self.write(statement, &[&tape, &session.as_bytes(), &account.caller, &quota]).await?;
            if !rows.first().context("the database returned no row")?.try_get::<_, bool>(0)? {
                return Ok(Err(QuotaExceeded::sessions(account.sessions.unwrap_or_default())));
            }
            let mut known = self.known.lock();
            if known.1.len() >= MAX_KNOWN || known.0 != losses {
                *known = (losses, HashSet::new());
            }
            known.1.insert(tape);
            Ok(Ok(()))
        })
    }

    fn charge(&self, account: QuotaAccount, bytes: usize, limit: Option<u64>) -> Future<'_, Result<(), QuotaExceeded>> {
        Box::pin(async move {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            let quota = limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
            let statement = "SELECT charge_1($1, $2, $3, $4)";
            let values: [&(dyn ToSql + Sync); 4] = [&account.caller, &today(), &bytes, &quota];
            // Done twice, it would count twice.
            let rows = self.database.write(ACTION, statement, &values, false).await?;
            match rows.first().context("the database returned no row")?.try_get(0)? {
                true => Ok(Ok(())),
                false => Ok(Err(QuotaExceeded::bytes(limit.unwrap_or_default()))),
            }
        })
    }

    fn sessions(&self, prefix: String, after: Option<String>, max: usize) -> Future<'_, Vec<(String, String)>> {
        Box::pin(async move {
            let first = after.clone().filter(|after| *after >= prefix).unwrap_or_else(|| prefix.clone());
            let max = i64::try_from(max).unwrap_or(i64::MAX);
            // Only the beginning of an id is in the index, which has more than any prefix of a token.
            let statement = "SELECT id, tape FROM session WHERE substr(id, 1, 256) >= substr($1::bytea, 1, 256) \
                             AND substr(id, 1, length($2::bytea)) = $2 AND ($3::bytea IS NULL OR id > $3) \
                             ORDER BY substr(id, 1, 256), id LIMIT $4";
            let after = after.as_ref().map(String::as_bytes);
            let rows = self.rows(statement, &[&first.as_bytes(), &prefix.as_bytes(), &after, &max]).await?;
            rows.iter().map(|row| Ok((bytes(row, 0)?, row.try_get(1)?))).collect()
        })
    }

    fn session_of(&self, tape: String) -> Future<'_, Option<String>> {
        Box::pin(async move {
            let rows = self.rows("SELECT id FROM session WHERE tape = $1", &[&tape]).await?;
            rows.first().map(|row| bytes(row, 0)).transpose()
        })
    }
}
