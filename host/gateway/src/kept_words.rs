//! What a home keeps of messages and answers outside of tapes, for the erasure of one sender's words: the inbox database of
//! the home, and the tables of the workers' database. A home that has moved from one to the other has both.

use super::local_inbox::forget as local;
use super::shared_inbox::forget::SharedWords;
use anyhow::{Result, ensure};
use bub_postgres::Database;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often it is looked whether a turn has ended.
const PAUSE: Duration = Duration::from_millis(250);

/// A row with words of messages or answers.
#[derive(Debug, Clone)]
pub struct KeptRow {
    /// The table.
    pub table: &'static str,
    /// Names the row in its table.
    pub key: String,
    /// The message, the answer, or what else the row has.
    pub envelope: Value,
    /// The outcome of a message whose turn has ended.
    pub answer: Value,
    /// Its turn runs, or a worker will run it.
    pub is_open: bool,
    /// The row is in the database of the workers.
    pub(crate) is_shared: bool,
}

/// Whose words are looked for.
pub trait Whose: Sync {
    /// Whether that sender is the one.
    fn is_theirs(&self, sender: &str) -> bool;

    /// Whether a text, which may be JSON, quotes them, or is the answer to them.
    fn quotes(&self, text: &str) -> bool;

    /// Whether they have had a turn on that tape.
    fn has_turn_on(&self, tape: &str) -> bool;

    /// Whether they have had a turn in that session.
    fn has_turn_in(&self, session: &str) -> bool;
}

/// The places that keep such rows.
pub struct KeptWords {
    home: PathBuf,
    shared: Option<SharedWords>,
}

impl KeptWords {
    /// Those of a home, and of the database that its workers share.
    pub fn new(home: PathBuf, database: Option<&Database>) -> Self {
        Self { home, shared: database.map(SharedWords::new) }
    }

    /// The rows of a sender, and those that quote them.
    ///
    /// # Errors
    ///
    /// A database cannot be read.
    pub async fn rows(&self, whose: &dyn Whose) -> Result<Vec<KeptRow>> {
        let mut rows = local::rows(&self.home, whose)?;
        if let Some(shared) = &self.shared {
            rows.extend(shared.rows(whose).await?);
        }
        Ok(rows)
    }

    /// Waits until no turn of a message of the sender runs or waits at a worker.
    ///
    /// # Errors
    ///
    /// One does for longer than `patience`, or the database cannot be read.
    pub async fn wait_for_turns(&self, whose: &dyn Whose, patience: Duration) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let begun = Instant::now();
        while shared.has_open_message(whose).await? {
            ensure!(begun.elapsed() < patience, ANSWERED);
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// The tapes of turns in the database that run or were interrupted, and in whose records `is_wanted` finds something.
    /// Nothing of them is on their tapes yet.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn unfinished(&self, is_wanted: &(dyn Fn(&[u8]) -> bool + Sync)) -> Result<Vec<String>> {
        let Some(shared) = &self.shared else { return Ok(Vec::new()) };
        let journals = shared.journals().await?;
        Ok(journals.into_iter().filter(|(_, records)| is_wanted(records)).map(|(tape, _)| tape).collect())
    }

    /// Whether all of them can be erased.
    ///
    /// # Errors
    ///
    /// The turn of one runs, or a worker will run it.
    pub fn check_ended(&self, rows: &[KeptRow]) -> Result<()> {
        ensure!(!rows.iter().any(|row| row.is_open), ANSWERED);
        Ok(())
    }

    /// Erases rows. Those of the home's database are deleted, and overwritten in its files as far as no reader holds them. In
    /// the workers' database messages stay without their words, because workers count on them: so a channel that repeats one
    /// is not answered twice.
    ///
    /// # Errors
    ///
    /// A worker has begun to answer one of them, or a database cannot be written.
    pub async fn erase(&self, rows: &[KeptRow]) -> Result<()> {
        self.check_ended(rows)?;
        local::erase(&self.home, rows.iter().filter(|row| !row.is_shared))?;
        if let Some(shared) = &self.shared {
            let rows: Vec<&KeptRow> = rows.iter().filter(|row| row.is_shared).collect();
            ensure!(shared.erase(&rows).await?, ANSWERED);
        }
        Ok(())
    }

    /// Has the workers' database forget samples of what was erased. A failure is only logged: they are taken again at times.
    pub async fn forget_samples(&self) {
        if let Some(shared) = &self.shared {
            shared.forget_samples().await;
        }
    }
}

/// The error of a message that cannot be erased yet.
const ANSWERED: &str = "a message of theirs is being answered: run the command again when its turn has ended";

/// The sender that an envelope names.
pub(crate) fn sender(envelope: &Value) -> Option<String> {
    let context = envelope.get("context")?;
    let value = match context {
        Value::Array(pairs) => {
            pairs.iter().find(|pair| pair.get(0).and_then(Value::as_str) == Some("sender_id"))?.get(1)?
        }
        fields => fields.get("sender_id")?,
    };
    let text = value.as_str()?;
    // Values of a context are JSON.
    Some(serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned()))
}

/// Whether a message goes: one of the sender, or one whose outcome quotes them. A message without a sender, because several
/// were merged, goes if it quotes them.
pub(crate) fn message_goes(whose: &dyn Whose, envelope: (&str, &Value), answer: Option<&str>) -> bool {
    let is_answer = || answer.is_some_and(|answer| whose.quotes(answer));
    match sender(envelope.1) {
        Some(sender) => whose.is_theirs(&sender) || is_answer(),
        None => whose.quotes(envelope.0) || is_answer(),
    }
}
