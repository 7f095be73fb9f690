//! Tables that hold words of messages and answers besides the tapes, for an erasure: what a row means is decided elsewhere.

use bub_tape::{Result, failpoint};
use tokio_postgres::Row;

use super::database::Database;
use super::usage::column;

/// Rows of one read: those of `message` and `outbound` may be long.
const PAGE: i64 = 64;

const READ: &str = "read what the database keeps of messages";
const ERASE: &str = "erase messages from the database";

/// Messages with their outcomes, whose rows stay, because their keys deduplicate.
pub const MESSAGE: &str = "message";

/// Questions about tool calls.
pub const APPROVAL: &str = "approval";

/// The tables with their rows as `place`, `key`, `words`, `answer`, `tape` and `is_open`. A message is open as long as the
/// worker whose turn it is has its lease.
const TABLES: [(&str, &str); 5] = [
    (
        MESSAGE,
        "SELECT m.number AS place, m.number::text AS key, m.envelope AS words, m.outcome AS answer, m.tape::text AS tape, \
         m.state < 2 AND EXISTS (SELECT FROM lease l WHERE l.name = m.worker AND l.until > clock_timestamp()) AS is_open \
         FROM message m WHERE m.number > $1 AND (octet_length(m.envelope) > 0 OR m.outcome IS NOT NULL)",
    ),
    (
        "outbound",
        "SELECT number AS place, key::text AS key, envelope AS words, NULL::bytea AS answer, NULL::text AS tape, \
         false AS is_open FROM outbound WHERE number > $1",
    ),
    (
        "event",
        "SELECT id AS place, id::text AS key, data AS words, NULL::bytea AS answer, NULL::text AS tape, \
         false AS is_open FROM event WHERE id > $1",
    ),
    (
        "stream",
        "SELECT id AS place, id::text AS key, items AS words, NULL::bytea AS answer, tape::text AS tape, \
         false AS is_open FROM stream WHERE id > $1",
    ),
    (
        APPROVAL,
        "SELECT * FROM (SELECT row_number() OVER (ORDER BY id) AS place, id::text AS key, question AS words, \
         NULL::bytea AS answer, NULL::text AS tape, until > clock_timestamp() AND decision IS NULL AS is_open \
         FROM approval) numbered WHERE place > $1",
    ),
];

/// Workers whose lease has ended can write nothing in their names from then on, even if they go on.
const FENCE: &str = "UPDATE lease l SET epoch = l.epoch + 1, until = NULL WHERE l.name IN \
                     (SELECT m.worker FROM message m WHERE m.number = ANY ($1) AND m.state < 2) \
                     AND (l.until IS NULL OR l.until <= clock_timestamp()) RETURNING l.name::text";

/// A statement of its own behind [`FENCE`], because another worker may adopt a message between the two: then it is that
/// one's, and stays. The key and the checksum stay in any case.
const END: &str = "UPDATE message m SET state = 2, envelope = '', outcome = $2, identity = NULL, steers = false \
                   WHERE m.number = ANY ($1) AND (m.state = 2 OR m.worker = ANY ($3) \
                   OR NOT EXISTS (SELECT FROM lease l WHERE l.name = m.worker)) RETURNING m.number";

/// The journals of turns, with the tapes behind the names of their leases.
const JOURNALS: &str = "SELECT substr(lease, length('session:') + 1)::text, records FROM journal \
                        WHERE lease LIKE 'session:%' ORDER BY lease, epoch, part";

/// Samples of the columns, which PostgreSQL keeps for its planner.
const ANALYZE: &str = "ANALYZE entry, message, outbound, event, stream, approval, journal, breaker";

/// A row of one of the tables.
#[derive(Debug, Clone)]
pub struct WordRow {
    /// The table.
    pub table: &'static str,
    /// Names the row in its table.
    pub key: String,
    /// A message, an answer, an event, items of a stream, or a question: JSON. Empty: the turn of a message has ended.
    pub words: Vec<u8>,
    /// The outcome of a message.
    pub answer: Option<Vec<u8>>,
    /// The tape of its session, if it is known.
    pub tape: Option<String>,
    /// A turn of it runs or will run at a worker, or waits for it.
    pub is_open: bool,
}

/// The tables of a database.
#[derive(Clone)]
pub struct WordTables {
    database: Database,
}

/// Each function fails with [`Error::Io`](bub_tape::Error::Io) if the database does not answer or cannot be written.
impl WordTables {
    /// The tables in that database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }

    /// The messages whose turn runs or will run at a worker, if `is_wanted` says so.
    ///
    /// # Errors
    ///
    /// See [`WordTables`].
    pub async fn open_messages(&self, is_wanted: &(dyn Fn(&WordRow) -> bool + Sync)) -> Result<Vec<WordRow>> {
        let mut found = Vec::new();
        for (table, select) in TABLES.into_iter().filter(|(table, _)| *table == MESSAGE) {
            let select = format!("{select} AND m.state < 2");
            self.read(table, &select, &|row| row.is_open && is_wanted(row), &mut found).await?;
        }
        Ok(found)
    }

    /// The rows of all tables of which `is_wanted` says so.
    ///
    /// # Errors
    ///
    /// See [`WordTables`].
    pub async fn rows(&self, is_wanted: &(dyn Fn(&WordRow) -> bool + Sync)) -> Result<Vec<WordRow>> {
        let mut found = Vec::new();
        for (table, select) in TABLES {
            self.read(table, select, is_wanted, &mut found).await?;
        }
        Ok(found)
    }

    async fn read(
        &self,
        table: &'static str,
        select: &str,
        is_wanted: &(dyn Fn(&WordRow) -> bool + Sync),
        found: &mut Vec<WordRow>,
    ) -> Result<()> {
        let statement = format!("{select} ORDER BY place LIMIT $2");
        let mut after = 0_i64;
        loop {
            let page = self.database.query(READ, &statement, &[&after, &PAGE]).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = column(last, 0)?;
            for row in &page {
                found.extend(Some(word_row(table, row)?).filter(is_wanted));
            }
        }
    }

    /// Ends messages with that outcome and without their words. One whose turn runs or will run at a worker stays as it is.
    /// Returns the keys of those that were ended.
    ///
    /// # Errors
    ///
    /// See [`WordTables`].
    pub async fn end_messages(&self, keys: &[&str], outcome: &[u8]) -> Result<Vec<String>> {
        let numbers: Vec<i64> = keys.iter().filter_map(|key| key.parse().ok()).collect();
        let fenced = self.database.write(ERASE, FENCE, &[&numbers], true).await?;
        let fenced: Vec<String> = fenced.iter().map(|row| column(row, 0)).collect::<Result<_>>()?;
        failpoint::point("forget.fenced");
        let ended = self.database.write(ERASE, END, &[&numbers, &outcome, &fenced], true).await?;
        ended.iter().map(|row| Ok(column::<i64>(row, 0)?.to_string())).collect()
    }

    /// Deletes rows of a table.
    ///
    /// # Errors
    ///
    /// See [`WordTables`].
    pub async fn delete(&self, table: &str, keys: &[&str]) -> Result<()> {
        let numbers: Vec<i64> = keys.iter().filter_map(|key| key.parse().ok()).collect();
        match table {
            "outbound" => self.database.write(ERASE, "DELETE FROM outbound WHERE key = ANY ($1)", &[&keys], true).await,
            "event" => self.database.write(ERASE, "DELETE FROM event WHERE id = ANY ($1)", &[&numbers], true).await,
            "stream" => self.database.write(ERASE, "DELETE FROM stream WHERE id = ANY ($1)", &[&numbers], true).await,
            // One that is open is written again by its turn.
            _ => self.database.write(ERASE, "DELETE FROM approval WHERE id = ANY ($1)", &[&keys], true).await,
        }
        .map(drop)
    }

    /// The tapes of turns that run or were interrupted, and the records of their journals.
    ///
    /// # Errors
    ///
    /// See [`WordTables`].
    pub async fn journals(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let mut journals: Vec<(String, Vec<u8>)> = Vec::new();
        for row in &self.database.query(READ, JOURNALS, &[]).await? {
            let (tape, records): (String, &[u8]) = (column(row, 0)?, column(row, 1)?);
            match journals.last_mut().filter(|(last, _)| *last == tape) {
                Some((_, all)) => all.extend_from_slice(records),
                None => journals.push((tape, records.to_vec())),
            }
        }
        Ok(journals)
    }

    /// Has PostgreSQL take its samples of the columns again, which may hold what was erased. A user who does not own the
    /// tables may not, and then the next automatic one does.
    ///
    /// # Errors
    ///
    /// See [`WordTables`].
    pub async fn sample_again(&self) -> Result<()> {
        self.database.write(ERASE, ANALYZE, &[], true).await.map(drop)
    }
}

fn word_row(table: &'static str, row: &Row) -> Result<WordRow> {
    Ok(WordRow {
        table,
        key: column(row, 1)?,
        words: column(row, 2)?,
        answer: column(row, 3)?,
        tape: column(row, 4)?,
        is_open: column(row, 5)?,
    })
}
