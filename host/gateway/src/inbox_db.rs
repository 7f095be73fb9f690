//! The inbox database, `$BUB_HOME/serve.sqlite`: accepted messages, undelivered answers, and how far each channel was read.
//!
//! One thread writes. Concurrent writes share a transaction, so that a slow disk is waited for once; each is reported
//! after the commit.

mod rows;
mod schema;
mod upgrade;

use super::TurnOutcome;
use anyhow::{Context, Result};
use bub_runtime::turn::Identity;
use bub_tape::Durability;
use bub_types::Envelope;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use std::path::Path;
use std::sync::mpsc;
use tokio::sync::oneshot;

/// How long a message whose turn has ended is kept, in seconds: after that, its id is that of a new message.
const RETENTION: i64 = 7 * 24 * 60 * 60;

/// Jobs of one transaction, at most.
const MAX_BATCH: usize = 256;

/// The number of a message in the inbox database, in the order of their arrival.
pub(crate) type MessageNumber = i64;

/// An accepted message whose turn has not ended.
#[derive(Debug)]
pub(crate) struct PendingMessage {
    pub number: MessageNumber,
    pub message: Envelope,
    pub identity: Option<Identity>,
    /// Whether it is addressed to the agent; one that is not waits for one that is.
    pub is_active: bool,
    /// RFC 3339.
    pub accepted_at: String,
    /// The message whose turn it is part of, if an earlier process started that turn.
    pub leader: Option<MessageNumber>,
}

/// The result of accepting a message.
#[derive(Debug)]
pub(crate) enum Accepted {
    /// It is new.
    New(MessageNumber),
    /// It was accepted before, and its turn has not ended.
    Pending(MessageNumber),
    /// It was accepted before, with this outcome; `None` on channels that cannot ask for it.
    Done(Option<TurnOutcome>),
    /// Another message was accepted with this id.
    Conflict,
}

/// A message to accept.
#[derive(Debug, Clone)]
pub(crate) struct NewMessage {
    pub message: Envelope,
    pub identity: Option<Identity>,
    pub is_active: bool,
}

/// An answer to deliver.
#[derive(Debug, Clone)]
pub(crate) struct Outbound {
    /// The same for each attempt.
    pub key: String,
    pub message: Envelope,
    /// An earlier process was interrupted during the delivery.
    pub is_uncertain: bool,
    /// The channel's handle of the preview that was shown while the turn ran.
    pub handle: Option<String>,
    /// When its turn ended.
    pub queued_at: Timestamp,
}

type Reporter = Box<dyn FnOnce(Result<(), String>) + Send>;
type Job = Box<dyn FnOnce(&Connection) -> Reporter + Send>;

/// A handle to the thread that writes the database.
#[derive(Clone)]
pub(crate) struct InboxDb {
    jobs: mpsc::Sender<Job>,
}

impl InboxDb {
    /// Opens the database, creates it, or upgrades it from an earlier version.
    pub(crate) fn open(path: &Path, durability: Durability) -> Result<Self> {
        let wrong = || format!("the inbox database `{}` cannot be opened", path.display());
        let mut connection = schema::open(path, durability).with_context(wrong)?;
        let (jobs, waiting) = mpsc::channel::<Job>();
        std::thread::Builder::new().name("inbox-db".to_owned()).spawn(move || {
            while let Ok(first) = waiting.recv() {
                let jobs = std::iter::once(first).chain(waiting.try_iter().take(MAX_BATCH - 1)).collect();
                commit_batch(&mut connection, jobs);
            }
        })?;
        Ok(Self { jobs })
    }

    /// Stores messages, together with the cursor up to which their channel was read.
    pub(crate) async fn accept(
        &self,
        messages: Vec<NewMessage>,
        cursor: Option<(String, String)>,
    ) -> Result<Vec<Accepted>> {
        self.write(move |connection| {
            let accepted =
                messages.iter().map(|message| rows::accept(connection, message)).collect::<Result<_, _>>()?;
            if let Some((channel, cursor)) = cursor {
                let sql = "INSERT INTO cursor (channel, cursor) VALUES (?1, ?2)
                           ON CONFLICT (channel) DO UPDATE SET cursor = excluded.cursor";
                connection.prepare_cached(sql)?.execute(params![channel, cursor])?;
            }
            Ok(accepted)
        })
        .await
    }

    /// Records that these messages start a turn. Their leader is the last one, which the turn's tape names.
    pub(crate) async fn mark_running(&self, numbers: Vec<MessageNumber>) -> Result<()> {
        self.write(move |connection| {
            let leader = numbers.last();
            let sql = "UPDATE message SET state = 'running', leader = ?2 WHERE number = ?1";
            let mut update = connection.prepare_cached(sql)?;
            numbers.iter().try_for_each(|number| update.execute(params![number, leader]).map(drop))
        })
        .await
    }

    /// Records that the turn of these messages has ended, and stores the answers to deliver.
    pub(crate) async fn mark_done(
        &self,
        numbers: Vec<MessageNumber>,
        outcome: Option<String>,
        outbounds: Vec<Outbound>,
    ) -> Result<()> {
        self.write(move |connection| {
            let sql = "UPDATE message SET state = 'done', envelope = '', answer = ?2 WHERE number = ?1";
            let mut update = connection.prepare_cached(sql)?;
            for number in &numbers {
                update.execute(params![number, outcome])?;
            }
            outbounds.iter().try_for_each(|outbound| rows::insert_outbound(connection, outbound))
        })
        .await
    }

    /// Records that a delivery starts.
    pub(crate) async fn mark_sending(&self, key: String) -> Result<()> {
        self.set_outbound_state("sending", key).await
    }

    /// Records that a delivery failed without an effect.
    pub(crate) async fn mark_ready(&self, key: String) -> Result<()> {
        self.set_outbound_state("ready", key).await
    }

    /// Records that an answer cannot be delivered. It is kept for inspection.
    pub(crate) async fn mark_undeliverable(&self, key: String) -> Result<()> {
        self.set_outbound_state("dead", key).await
    }

    async fn set_outbound_state(&self, state: &'static str, key: String) -> Result<()> {
        self.write(move |connection| {
            connection.prepare_cached("UPDATE outbound SET state = ?2 WHERE key = ?1")?.execute(params![key, state])?;
            Ok(())
        })
        .await
    }

    /// Removes an answer that was delivered.
    pub(crate) async fn remove_outbound(&self, key: String) -> Result<()> {
        self.write(move |connection| {
            connection.prepare_cached("DELETE FROM outbound WHERE key = ?1")?.execute([key])?;
            Ok(())
        })
        .await
    }

    /// The messages whose turns have not ended, and the answers to deliver, both in order.
    pub(crate) async fn pending(&self) -> Result<(Vec<PendingMessage>, Vec<Outbound>)> {
        self.write(|connection| Ok((rows::pending(connection)?, rows::outbounds(connection)?))).await
    }

    /// Stores a session, its tape, and the caller who started it if that caller has a quota.
    pub(crate) async fn insert_session(&self, session: String, tape: String, caller: Option<String>) -> Result<()> {
        self.write(move |connection| {
            let sql = "INSERT OR IGNORE INTO session (id, tape, caller) VALUES (?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![session, tape, caller]).map(drop)
        })
        .await
    }

    /// All sessions, each with its tape and the caller who started it.
    pub(crate) async fn sessions(&self) -> Result<Vec<(String, String, Option<String>)>> {
        self.write(|connection| {
            let mut all = connection.prepare("SELECT id, tape, caller FROM session")?;
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        })
        .await
    }

    /// Stores how many bytes a caller has added to tapes on a day, in place of the caller's earlier days.
    pub(crate) async fn set_byte_count(&self, caller: String, day: i64, bytes: u64) -> Result<()> {
        self.write(move |connection| {
            let sql = "INSERT INTO record_count (caller, day, bytes) VALUES (?1, ?2, ?3)
                       ON CONFLICT (caller) DO UPDATE SET
                       bytes = CASE WHEN day = excluded.day THEN max(bytes, excluded.bytes) ELSE excluded.bytes END,
                       day = excluded.day";
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            connection.prepare_cached(sql)?.execute(params![caller, day, bytes]).map(drop)
        })
        .await
    }

    /// The bytes that callers have added to tapes on a day.
    pub(crate) async fn byte_counts(&self, day: i64) -> Result<Vec<(String, u64)>> {
        self.write(move |connection| {
            let mut all = connection.prepare("SELECT caller, bytes FROM record_count WHERE day = ?1")?;
            let count = |row: &Row<'_>| Ok((row.get(0)?, u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default()));
            all.query_map([day], count)?.collect()
        })
        .await
    }

    /// The cursor up to which a channel was read.
    pub(crate) async fn cursor(&self, channel: String) -> Result<Option<String>> {
        self.write(move |connection| {
            let mut cursor = connection.prepare_cached("SELECT cursor FROM cursor WHERE channel = ?1")?;
            cursor.query_row([channel], |row| row.get(0)).optional()
        })
        .await
    }

    /// Removes done messages that are older than [`RETENTION`], and returns their number.
    pub(crate) async fn purge_done(&self) -> Result<usize> {
        self.write(|connection| {
            let sql = "DELETE FROM message WHERE state = 'done' AND unixepoch(taken) < unixepoch() - ?1";
            connection.execute(sql, [RETENTION])
        })
        .await
    }

    async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // A job that fails does not affect the others of its transaction.
            let done = in_savepoint(connection, job);
            Box::new(move |committed| {
                let _ = sender.send(match (committed, done) {
                    (Ok(()), Ok(value)) => Ok(value),
                    (Err(error), _) => Err(error),
                    (_, Err(error)) => Err(error.to_string()),
                });
            })
        });
        let closed = "the inbox database is closed";
        self.jobs.send(job).ok().context(closed)?;
        receiver
            .await
            .context(closed)?
            .map_err(|error| anyhow::anyhow!("the inbox database cannot be written: {error}"))
    }
}

/// Runs jobs in one transaction and reports to each of them.
fn commit_batch(connection: &mut Connection, jobs: Vec<Job>) {
    let (reporters, outcome) = match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(transaction) => {
            let reporters: Vec<Reporter> = jobs.into_iter().map(|job| job(&transaction)).collect();
            (reporters, transaction.commit().map_err(|error| error.to_string()))
        }
        // The jobs are dropped, which closes the channels that their callers wait for.
        Err(error) => {
            tracing::error!("the inbox database cannot be written: {error}");
            return;
        }
    };
    reporters.into_iter().for_each(|report| report(outcome.clone()));
}

fn in_savepoint<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached("SAVEPOINT job")?.execute([])?;
    let done = job(connection);
    if done.is_err() {
        connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
    }
    connection.prepare_cached("RELEASE job")?.execute([])?;
    done
}
