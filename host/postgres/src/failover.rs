//! Detects the writes that a failover has lost.
//!
//! A standby that is not synchronous may lack the last transactions that its primary has acknowledged. Statements whose loss
//! matters therefore return a [`MARK`] in one more column, with no round trip of its own: the transaction, the position of the write-ahead log
//! before its commit, and the timeline, which each promotion of a standby raises. The marks of the last
//! acknowledged writes are kept here, in memory. An answer from a higher timeline has them looked for:
//!
//! - The new server ended its recovery at a position. A transaction whose mark is not before it is lost: its commit comes
//!   after the mark.
//! - Of any other one the server has replayed a record before the mark, so its number is not given out again, and the
//!   server knows whether it was committed.
//!
//! Commits are lost from the end, so the newest marks are enough to notice a loss. An answer from a lower timeline comes
//! from a former primary that takes writes again: it is an error.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use bub_tape::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_postgres::Row;

use super::database::Database;
use super::store::damaged;

/// The column of a statement whose loss matters. Its transaction has written by the time that the column is computed.
pub const MARK: &str = mark!();

/// The name of the column [`MARK`].
const COLUMN: &str = "mark";

/// How many acknowledged writes are remembered.
const KEPT: usize = 256;

/// How many of the lost writes a message names.
const NAMED: usize = 8;

/// Those of the marks whose transactions the server does not have.
const LOST: &str = "SELECT nth FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS m (xact, place, nth) \
                    WHERE CASE WHEN place::pg_lsn >= pg_last_wal_replay_lsn() THEN true \
                    WHEN xact::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) THEN true \
                    ELSE pg_xact_status(xact::xid8) <> 'committed' END ORDER BY nth";

/// The timeline of a server that takes writes; null: it is a standby.
pub(crate) const TIMELINE: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() \
                                   THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END";

/// An acknowledged write.
struct Mark {
    transaction: String,
    place: String,
    timeline: u32,
    action: String,
}

#[derive(Default)]
struct Known {
    /// The highest timeline of an answer; 0: there was none.
    timeline: u32,
    has_failed_over: bool,
    marks: VecDeque<Mark>,
}

/// The last acknowledged writes of a process.
pub(crate) struct Marks {
    known: Mutex<Known>,
    /// Only one task looks for lost writes.
    looking: tokio::sync::Mutex<()>,
    /// How many failovers have lost writes.
    losses: watch::Sender<u64>,
}

impl Marks {
    pub(crate) fn new() -> Self {
        Self { known: Mutex::default(), looking: tokio::sync::Mutex::default(), losses: watch::channel(0).0 }
    }

    pub(crate) fn losses(&self) -> watch::Receiver<u64> {
        self.losses.subscribe()
    }

    /// Whether the connections that are made from now on are to be checked.
    pub(crate) fn has_failed_over(&self) -> bool {
        self.known.lock().has_failed_over
    }

    /// Rejects the timeline of a former primary.
    pub(crate) fn check(&self, action: &str, timeline: &str) -> Result<()> {
        let (found, known) = (parse(timeline)?, self.known.lock().timeline);
        if found >= known {
            return Ok(());
        }
        let text = format!(
            "a former primary of the database takes writes again (timeline {found}; this process has used timeline {known}): \
             stop it, and make it a standby of the new one"
        );
        Err(Error::Io { action: action.to_owned(), source: io::Error::new(ErrorKind::PermissionDenied, text) })
    }

    /// Remembers the write that was answered by these rows, and looks for earlier ones if the answer is the first one after a
    /// failover.
    pub(crate) async fn note(&self, database: &Database, action: &str, rows: &[Row]) -> Result<()> {
        let Some(row) = rows.first() else { return Ok(()) };
        let Some(column) = row.columns().iter().position(|column| column.name() == COLUMN) else { return Ok(()) };
        let mark: &str = row.try_get(column).map_err(|_| damaged())?;
        let mut parts = mark.split(' ');
        let (Some(transaction), Some(place), Some(timeline)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(damaged());
        };
        self.check(action, timeline)?;
        let timeline = parse(timeline)?;
        if self.is_new(timeline) {
            let _looking = self.looking.lock().await;
            if self.is_new(timeline) {
                self.look_for_losses(database, timeline).await?;
            }
        }
        let mut known = self.known.lock();
        known.timeline = known.timeline.max(timeline);
        // Without a number it has written nothing.
        if transaction != "0" {
            if known.marks.len() == KEPT {
                known.marks.pop_front();
            }
            let (transaction, place, action) = (transaction.to_owned(), place.to_owned(), action.to_owned());
            known.marks.push_back(Mark { transaction, place, timeline, action });
        }
        Ok(())
    }

    fn is_new(&self, timeline: u32) -> bool {
        let known = self.known.lock().timeline;
        known != 0 && known < timeline
    }

    async fn look_for_losses(&self, database: &Database, timeline: u32) -> Result<()> {
        let before = |mark: &&Mark| mark.timeline < timeline;
        let (transactions, places, actions): (Vec<String>, Vec<String>, Vec<String>) = {
            let known = self.known.lock();
            let marks = known.marks.iter().filter(before);
            let parts = marks.map(|mark| (mark.transaction.clone(), mark.place.clone(), mark.action.clone()));
            parts.collect()
        };
        let action = "look for what the failover has lost";
        let rows = database.query(action, LOST, &[&transactions, &places]).await?;
        let mut lost = Vec::new();
        for row in &rows {
            let nth: i64 = row.try_get(0).map_err(|_| damaged())?;
            let nth = usize::try_from(nth - 1).map_err(|_| damaged())?;
            lost.push(actions.get(nth).ok_or_else(damaged)?.as_str());
        }
        {
            let mut known = self.known.lock();
            known.marks.retain(|mark| mark.timeline >= timeline);
            known.timeline = timeline;
            known.has_failed_over = true;
        }
        match lost.len() {
            0 => tracing::info!(
                "the database has failed over to timeline {timeline}, with all that it had acknowledged to this process"
            ),
            count => {
                tracing::error!("{}", describe(timeline, count, &lost));
                self.losses.send_modify(|losses| *losses += 1);
            }
        }
        Ok(())
    }
}

/// One line about lost writes.
fn describe(timeline: u32, count: usize, lost: &[&str]) -> String {
    let mut named: Vec<&str> = Vec::new();
    for action in lost.iter().rev() {
        if named.len() < NAMED && !named.contains(action) {
            named.push(action);
        }
    }
    let (at_least, s) = (if count == KEPT { "at least " } else { "" }, if count == 1 { "" } else { "s" });
    format!(
        "the database has failed over to timeline {timeline}, and has lost {at_least}{count} write{s} of this process that it \
         had acknowledged: {}; only a synchronous standby prevents it",
        named.join(", ")
    )
}

/// A timeline as in the names of files of the write-ahead log.
fn parse(timeline: &str) -> Result<u32> {
    u32::from_str_radix(timeline, 16).map_err(|_| damaged())
}
