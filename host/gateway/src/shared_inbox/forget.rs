//! Removes what a sender has said from the tables of workers, beside workers that use them.
//!
//! A message stays as a row whose turn has ended, with the digests of its id and of its content: its channel may repeat it,
//! and its worker may ask for it. All other rows are deleted, except faults of plugins, which keep a plugin in quarantine.

use crate::TurnOutcome;
use crate::kept_words::{KeptRow, Whose, message_goes, sender};
use anyhow::Result;
use bub_postgres::{APPROVAL, BreakerRow, BreakerTable, Database, MESSAGE, Swap, WordRow, WordTables};
use bub_tape::failpoint;
use bub_types::{Error, ErrorKind};
use serde_json::Value;
use std::collections::BTreeMap;

/// The table of faults, and the field of the last one in its state.
const BREAKER: &str = "breaker";
const FAULT: &str = "fault";

/// How often a row is read again that a worker changes.
const ATTEMPTS: usize = 16;

/// The words in the tables of a database.
pub(crate) struct SharedWords {
    tables: WordTables,
    breakers: BreakerTable,
}

impl SharedWords {
    pub(crate) fn new(database: &Database) -> Self {
        Self { tables: WordTables::new(database.clone()), breakers: BreakerTable::new(database.clone()) }
    }

    pub(crate) async fn rows(&self, whose: &dyn Whose) -> Result<Vec<KeptRow>> {
        let rows = self.tables.rows(&|row| goes(whose, row)).await?;
        let mut kept: Vec<KeptRow> = rows.iter().map(kept).collect();
        for row in self.breakers.read().await?.1 {
            let state = json(Some(&row.state));
            if state.get(FAULT).and_then(Value::as_str).is_some_and(|fault| whose.quotes(fault)) {
                let key = format!("{} {}", row.digest, row.hook);
                let envelope = state[FAULT].clone();
                let (table, answer) = (BREAKER, Value::Null);
                kept.push(KeptRow { table, key, envelope, answer, is_open: false, is_shared: true });
            }
        }
        Ok(kept)
    }

    pub(crate) async fn has_open_message(&self, whose: &dyn Whose) -> Result<bool> {
        let is_theirs = |row: &WordRow| sender(&json(Some(&row.words))).is_some_and(|sender| whose.is_theirs(&sender));
        Ok(!self.tables.open_messages(&is_theirs).await?.is_empty())
    }

    pub(crate) async fn journals(&self) -> Result<Vec<(String, Vec<u8>)>> {
        Ok(self.tables.journals().await?)
    }

    /// False: a worker has begun to answer a message meanwhile, which stays.
    pub(crate) async fn erase(&self, rows: &[&KeptRow]) -> Result<bool> {
        let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in rows {
            tables.entry(row.table).or_default().push(&row.key);
        }
        let mut are_all_erased = true;
        for (table, keys) in tables {
            match table {
                MESSAGE => {
                    let outcome = serde_json::to_vec(&erased())?;
                    are_all_erased = self.tables.end_messages(&keys, &outcome).await?.len() == keys.len();
                }
                BREAKER => {
                    for (digest, hook) in keys.iter().filter_map(|key| key.split_once(' ')) {
                        self.blank_fault(digest, hook).await?;
                    }
                }
                table => self.tables.delete(table, &keys).await?,
            }
            failpoint::point("forget.table");
        }
        Ok(are_all_erased)
    }

    pub(crate) async fn forget_samples(&self) {
        if let Err(error) = self.tables.sample_again().await {
            tracing::warn!("samples of columns may hold what was erased, until PostgreSQL takes them again: {error}");
        }
    }

    async fn blank_fault(&self, digest: &str, hook: &str) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let Some(BreakerRow { version, state, .. }) = self.breakers.get(digest, hook).await? else { return Ok(()) };
            let mut state = json(Some(&state));
            state[FAULT] = "(erased)".into();
            let state = serde_json::to_vec(&state)?;
            if let Swap::Done(_) = self.breakers.swap(digest, hook, Some(version), Some(&state)).await? {
                return Ok(());
            }
        }
        anyhow::bail!("the faults of a plugin are changed by workers again and again: run the command again")
    }
}

fn goes(whose: &dyn Whose, row: &WordRow) -> bool {
    let words = String::from_utf8_lossy(&row.words);
    let answer = row.answer.as_deref().map(String::from_utf8_lossy);
    match row.table {
        MESSAGE => message_goes(whose, (&words, &json(Some(&row.words))), answer.as_deref()),
        // A question of a turn that runs is asked again by that turn.
        APPROVAL => {
            let question = json(Some(&row.words));
            let is_in_session = |session: &Value| session.as_str().is_some_and(|session| whose.has_turn_in(session));
            whose.quotes(&words) || (!row.is_open && question.get("session_id").is_some_and(is_in_session))
        }
        // Streams are in pieces. Readers that miss some read the tape.
        _ => row.tape.as_deref().is_some_and(|tape| whose.has_turn_on(tape)) || whose.quotes(&words),
    }
}

fn kept(row: &WordRow) -> KeptRow {
    KeptRow {
        table: row.table,
        key: row.key.clone(),
        envelope: json(Some(&row.words)),
        answer: json(row.answer.as_deref()),
        is_open: row.is_open,
        is_shared: true,
    }
}

fn json(bytes: Option<&[u8]>) -> Value {
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}

/// The outcome for clients that ask for that of an erased message.
fn erased() -> TurnOutcome {
    let error = Error::new(ErrorKind::NotFound, "the message and its answer were erased".to_owned());
    TurnOutcome { error: Some(error), ..TurnOutcome::silent(String::new()) }
}
