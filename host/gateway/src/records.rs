//! What the gateway must not forget: messages that it has taken, answers that are not delivered yet, and how far each
//! channel has been read. One SQLite database, `$BUB_HOME/serve.sqlite`.
//!
//! One thread writes. What several want written at the same moment goes into one transaction, so a slow disk is waited for
//! once; nobody is told that something is written before it is.

mod schema;
mod upgrade;

use super::Answer;
use anyhow::{Context, Result};
use bub_runtime::turn::Identity;
use bub_tape::Durability;
use bub_types::Envelope;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use std::path::Path;
use std::sync::mpsc;
use tokio::sync::oneshot;

/// How long it is known that a message was taken, in seconds: whoever delivers it again after that is a stranger.
const MEMORY: i64 = 7 * 24 * 60 * 60;

/// What is written together at most.
const TOGETHER: usize = 256;

/// A message in the records: in the order in which messages were taken.
pub(super) type Number = i64;

/// A message that was taken and whose turn has not ended.
#[derive(Debug)]
pub(super) struct Open {
    pub number: Number,
    pub message: Envelope,
    pub speaker: Option<Identity>,
    /// Meant for the agent; what is not waits for what is.
    pub is_active: bool,
    /// When it was taken, RFC 3339.
    pub taken: String,
    /// The message whose turn it became a part of, when this process had not begun; none: that turn had not begun either.
    pub leader: Option<Number>,
}

/// What became of a message that was to be taken.
#[derive(Debug)]
pub(super) enum Taken {
    /// It is new.
    New(Number),
    /// It was taken before, and its turn has not ended.
    Open(Number),
    /// It was taken before, and this came of it; none where nobody could ask for it.
    Done(Option<Answer>),
    /// Another message was taken under this id.
    Other,
}

/// A message to be taken.
#[derive(Debug, Clone)]
pub(super) struct Arriving {
    pub message: Envelope,
    pub speaker: Option<Identity>,
    pub is_active: bool,
}

/// An answer that is not delivered yet.
#[derive(Debug, Clone)]
pub(super) struct Outbound {
    /// The same whenever the delivery is tried.
    pub key: String,
    pub message: Envelope,
    /// A delivery was begun, and nobody knows whether it was taken.
    pub is_doubtful: bool,
    /// A part of it was shown while the turn ran: what the channel calls that.
    pub handle: Option<String>,
}

type Done = Box<dyn FnOnce(Result<(), String>) + Send>;
type Job = Box<dyn FnOnce(&Connection) -> Done + Send>;

/// The records.
#[derive(Clone)]
pub(super) struct Records {
    jobs: mpsc::Sender<Job>,
}

impl Records {
    /// Opens the records, and forgets what is older than they remember.
    pub fn open(path: &Path, durability: Durability) -> Result<Self> {
        let wrong = || format!("the gateway's records in `{}` cannot be opened", path.display());
        let mut connection = schema::open(path, durability).with_context(wrong)?;
        let (jobs, waiting) = mpsc::channel::<Job>();
        std::thread::Builder::new().name("records".to_owned()).spawn(move || {
            while let Ok(first) = waiting.recv() {
                let jobs = std::iter::once(first).chain(waiting.try_iter().take(TOGETHER - 1)).collect();
                together(&mut connection, jobs);
            }
        })?;
        Ok(Self { jobs })
    }

    /// Takes messages, and with them the place that their channel has been read to.
    pub async fn take(&self, arriving: Vec<Arriving>, cursor: Option<(String, String)>) -> Result<Vec<Taken>> {
        self.write(move |connection| {
            let taken = arriving.iter().map(|arriving| take(connection, arriving)).collect::<rusqlite::Result<_>>()?;
            if let Some((channel, cursor)) = cursor {
                let sql = "INSERT INTO cursor (channel, cursor) VALUES (?1, ?2)
                           ON CONFLICT (channel) DO UPDATE SET cursor = excluded.cursor";
                connection.prepare_cached(sql)?.execute(params![channel, cursor])?;
            }
            Ok(taken)
        })
        .await
    }

    /// Says that a turn of these messages together begins. It is the last of them that its tape will name.
    pub async fn begin(&self, numbers: Vec<Number>) -> Result<()> {
        self.write(move |connection| {
            let leader = numbers.last();
            let sql = "UPDATE message SET state = 'running', leader = ?2 WHERE number = ?1";
            let mut begin = connection.prepare_cached(sql)?;
            numbers.iter().try_for_each(|number| begin.execute(params![number, leader]).map(drop))
        })
        .await
    }

    /// Says that the turn of these messages has ended, with what is still to be delivered of it.
    pub async fn end(&self, numbers: Vec<Number>, answer: Option<String>, outbounds: Vec<Outbound>) -> Result<()> {
        self.write(move |connection| {
            let sql = "UPDATE message SET state = 'done', envelope = '', answer = ?2 WHERE number = ?1";
            let mut end = connection.prepare_cached(sql)?;
            for number in &numbers {
                end.execute(params![number, answer])?;
            }
            let sql = "INSERT OR IGNORE INTO outbound (key, envelope, state, handle) VALUES (?1, ?2, 'ready', ?3)";
            let mut ready = connection.prepare_cached(sql)?;
            for outbound in &outbounds {
                ready.execute(params![outbound.key, json(&outbound.message), outbound.handle])?;
            }
            Ok(())
        })
        .await
    }

    /// Says that a delivery begins.
    pub async fn sending(&self, key: String) -> Result<()> {
        self.outbound_is("sending", key).await
    }

    /// Says that a delivery was begun and that it is known that nothing came of it.
    pub async fn unsent(&self, key: String) -> Result<()> {
        self.outbound_is("ready", key).await
    }

    /// Says that an answer cannot be delivered. It is kept, so that somebody can look at it.
    pub async fn dead(&self, key: String) -> Result<()> {
        self.outbound_is("dead", key).await
    }

    async fn outbound_is(&self, state: &'static str, key: String) -> Result<()> {
        self.write(move |connection| {
            connection.prepare_cached("UPDATE outbound SET state = ?2 WHERE key = ?1")?.execute(params![key, state])?;
            Ok(())
        })
        .await
    }

    /// Says that an answer is delivered. Nothing of it is kept.
    pub async fn sent(&self, key: String) -> Result<()> {
        self.write(move |connection| {
            connection.prepare_cached("DELETE FROM outbound WHERE key = ?1")?.execute([key])?;
            Ok(())
        })
        .await
    }

    /// What the last process left: messages without an end, and answers that are not delivered, each in their order.
    pub async fn left(&self) -> Result<(Vec<Open>, Vec<Outbound>)> {
        self.write(|connection| {
            let sql = "SELECT number, envelope, speaker, active, taken, leader FROM message
                       WHERE state <> 'done' ORDER BY number";
            let open = connection.prepare(sql)?.query_map([], open)?.collect::<rusqlite::Result<_>>()?;
            let sql = "SELECT key, envelope, state, handle FROM outbound WHERE state <> 'dead' ORDER BY rowid";
            let outbounds = connection.prepare(sql)?.query_map([], outbound)?.collect::<rusqlite::Result<_>>()?;
            Ok((open, outbounds))
        })
        .await
    }

    /// Says that there is a session, which tape is its own, and which caller with a quota has begun it.
    pub async fn session(&self, session: String, tape: String, caller: Option<String>) -> Result<()> {
        self.write(move |connection| {
            let sql = "INSERT OR IGNORE INTO session (id, tape, caller) VALUES (?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![session, tape, caller]).map(drop)
        })
        .await
    }

    /// All sessions, each with its tape and the caller who has begun it.
    pub async fn sessions(&self) -> Result<Vec<(String, String, Option<String>)>> {
        self.write(|connection| {
            let mut all = connection.prepare("SELECT id, tape, caller FROM session")?;
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        })
        .await
    }

    /// Says how many bytes a caller has added to tapes on that day; nothing is kept of its days before.
    pub async fn count(&self, caller: String, day: i64, bytes: u64) -> Result<()> {
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

    /// What callers have added to tapes on that day.
    pub async fn counts(&self, day: i64) -> Result<Vec<(String, u64)>> {
        self.write(move |connection| {
            let mut all = connection.prepare("SELECT caller, bytes FROM record_count WHERE day = ?1")?;
            let count = |row: &Row<'_>| Ok((row.get(0)?, u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default()));
            all.query_map([day], count)?.collect()
        })
        .await
    }

    /// How far that channel has been read.
    pub async fn cursor(&self, channel: String) -> Result<Option<String>> {
        self.write(move |connection| {
            let mut cursor = connection.prepare_cached("SELECT cursor FROM cursor WHERE channel = ?1")?;
            cursor.query_row([channel], |row| row.get(0)).optional()
        })
        .await
    }

    /// Forgets messages that were taken so long ago that nobody delivers them again. How many those were.
    pub async fn forget(&self) -> Result<usize> {
        self.write(|connection| {
            let sql = "DELETE FROM message WHERE state = 'done' AND unixepoch(taken) < unixepoch() - ?1";
            connection.execute(sql, [MEMORY])
        })
        .await
    }

    async fn write<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (tell, told) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // What one of them breaks is nothing to the others.
            let done = savepoint(connection, act);
            Box::new(move |committed| {
                let _ = tell.send(match (committed, done) {
                    (Ok(()), Ok(value)) => Ok(value),
                    (Err(error), _) => Err(error),
                    (_, Err(error)) => Err(error.to_string()),
                });
            })
        });
        let gone = "the gateway's records are closed";
        self.jobs.send(job).ok().context(gone)?;
        told.await.context(gone)?.map_err(|error| anyhow::anyhow!("the gateway's records take nothing: {error}"))
    }
}

/// Several jobs as one transaction.
fn together(connection: &mut Connection, jobs: Vec<Job>) {
    let done = |error: rusqlite::Error| error.to_string();
    let (ends, outcome) = match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(transaction) => {
            let ends: Vec<Done> = jobs.into_iter().map(|job| job(&transaction)).collect();
            (ends, transaction.commit().map_err(done))
        }
        // Nobody is asked: whoever waits is told by the channel that is dropped.
        Err(error) => {
            tracing::error!("the gateway's records take nothing: {error}");
            return;
        }
    };
    ends.into_iter().for_each(|end| end(outcome.clone()));
}

fn savepoint<T>(connection: &Connection, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    connection.prepare_cached("SAVEPOINT job")?.execute([])?;
    let done = act(connection);
    if done.is_err() {
        connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
    }
    connection.prepare_cached("RELEASE job")?.execute([])?;
    done
}

fn take(connection: &Connection, arriving: &Arriving) -> rusqlite::Result<Taken> {
    let Arriving { message, speaker, is_active } = arriving;
    let text = json(message);
    let print = format!("{:08x}", crc32fast::hash(text.as_bytes()));
    let sql = "SELECT number, state, answer, print FROM message WHERE channel = ?1 AND id = ?2";
    let known = connection.prepare_cached(sql)?.query_row(params![message.channel, message.id], |row| {
        let (number, state, answer) = (row.get(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?);
        Ok(match row.get::<_, String>(3)? == print {
            false => Taken::Other,
            true if state == "done" => Taken::Done(answer.and_then(|answer| serde_json::from_str(&answer).ok())),
            true => Taken::Open(number),
        })
    });
    if let Some(known) = known.optional()? {
        return Ok(known);
    }
    let sql = "INSERT INTO message (channel, id, envelope, print, speaker, active, state, taken)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'accepted', ?7)";
    let speaker = speaker.as_ref().map(json);
    let taken = jiff::Timestamp::now().to_string();
    let row = params![message.channel, message.id, text, print, speaker, is_active, taken];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(Taken::New(connection.last_insert_rowid()))
}

fn open(row: &Row<'_>) -> rusqlite::Result<Open> {
    Ok(Open {
        number: row.get(0)?,
        message: envelope(row, true)?,
        speaker: row.get::<_, Option<String>>(2)?.and_then(|speaker| serde_json::from_str(&speaker).ok()),
        is_active: row.get(3)?,
        taken: row.get(4)?,
        leader: row.get(5)?,
    })
}

fn outbound(row: &Row<'_>) -> rusqlite::Result<Outbound> {
    let is_doubtful = row.get::<_, String>(2)? == "sending";
    Ok(Outbound { key: row.get(0)?, message: envelope(row, false)?, is_doubtful, handle: row.get(3)? })
}

fn envelope(row: &Row<'_>, is_inbound: bool) -> rusqlite::Result<Envelope> {
    upgrade::envelope(&row.get::<_, String>(1)?, is_inbound)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, Box::new(error)))
}

/// None of these types can fail to be JSON.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
