//! Breakers in the database of several workers: a row for each, read once a second and changed by comparing its version.

use super::breaker::{Breaker, Key};
use super::breaker_store::{BreakerStore, Breakers, Change, Future, is_of, local_now};
use bub_postgres::{BreakerRow, BreakerTable, Database, Swap};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often the rows are read.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// How long a change may take: a fault that is not counted is less than a turn that waits.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a change is tried that other workers are faster than.
const ATTEMPTS: usize = 8;

/// The table, and its rows as they were read last.
pub(super) struct TableStore {
    table: BreakerTable,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    breakers: Arc<Breakers>,
    versions: BTreeMap<Key, i64>,
    /// Milliseconds that the database's clock is ahead of this machine's.
    ahead: i64,
    /// Counts changes of this process: rows that were read before one are older than it.
    changes: u64,
    /// The reported trouble with the database, until it answers again.
    trouble: Option<String>,
}

impl TableStore {
    /// Reads the rows, and reads them again every second until the store is dropped.
    pub(super) async fn start(database: Database) -> Result<Arc<Self>, bub_tape::Error> {
        let store = Arc::new(Self { table: BreakerTable::new(database), rows: Mutex::default() });
        store.refresh().await?;
        tokio::spawn(refresh(Arc::downgrade(&store)));
        Ok(store)
    }

    async fn refresh(&self) -> Result<(), bub_tape::Error> {
        let changes = self.rows.lock().changes;
        let asked = local_now();
        let (now, found) = self.table.read().await?;
        let mut rows = self.rows.lock();
        if rows.changes != changes {
            return Ok(());
        }
        // The answer is from a moment between the question and now.
        let middle = asked.midpoint(local_now());
        rows.ahead = (now * 1000.0) as i64 - i64::try_from(middle).unwrap_or_default();
        rows.versions = found.iter().map(|row| (key(row), row.version)).collect();
        rows.breakers = Arc::new(found.iter().filter_map(|row| Some((key(row), breaker(row)?))).collect());
        rows.trouble = None;
        Ok(())
    }

    /// One line, until the database answers again.
    fn complain(&self, why: String) {
        let mut rows = self.rows.lock();
        if rows.trouble.is_none() {
            tracing::info!("{why}: which plugins are in quarantine is known in this process alone");
            rows.trouble = Some(why);
        }
    }

    fn known(&self, key: &Key) -> (Option<i64>, Option<Breaker>) {
        let rows = self.rows.lock();
        (rows.versions.get(key).copied(), rows.breakers.get(key).cloned())
    }

    fn keep(&self, key: &Key, version: Option<i64>, breaker: Option<Breaker>) {
        let mut rows = self.rows.lock();
        rows.changes += 1;
        match version {
            Some(version) => drop(rows.versions.insert(key.clone(), version)),
            None => drop(rows.versions.remove(key)),
        }
        let breakers = Arc::make_mut(&mut rows.breakers);
        match breaker {
            Some(breaker) => drop(breakers.insert(key.clone(), breaker)),
            None => drop(breakers.remove(key)),
        }
    }

    /// Tries the change until no other worker is faster. The result is kept here in any case.
    async fn try_change(&self, key: &Key, change: Change<'_>) -> Result<(), String> {
        let (mut version, mut before) = self.known(key);
        for _ in 0..ATTEMPTS {
            let mut breakers: Breakers = before.clone().map(|breaker| (key.clone(), breaker)).into_iter().collect();
            change(&mut breakers);
            let after = breakers.remove(key);
            let bytes = |breaker: &Option<Breaker>| {
                breaker.as_ref().map(serde_json::to_vec).transpose().map_err(|error| error.to_string())
            };
            let state = bytes(&after)?;
            // Other readers see no difference.
            if bytes(&before)? == state {
                return Ok(());
            }
            self.keep(key, version, after.clone());
            match self.table.swap(&key.0, &key.1, version, state.as_deref()).await.map_err(|error| error.to_string())? {
                Swap::Done(version) => {
                    self.keep(key, version, after);
                    return Ok(());
                }
                Swap::Changed => {
                    let row = self.table.get(&key.0, &key.1).await.map_err(|error| error.to_string())?;
                    version = row.as_ref().map(|row| row.version);
                    before = row.as_ref().and_then(breaker);
                    self.keep(key, version, before.clone());
                }
            }
        }
        Err(format!("hook `{}` of a plugin is changed by too many workers at once", key.1))
    }
}

async fn refresh(store: Weak<TableStore>) {
    loop {
        sleep(READ_INTERVAL).await;
        let Some(store) = store.upgrade() else { return };
        if let Err(error) = store.refresh().await {
            store.complain(error.to_string());
        }
    }
}

impl BreakerStore for TableStore {
    fn read(&self) -> Arc<Breakers> {
        self.rows.lock().breakers.clone()
    }

    fn now(&self) -> u64 {
        local_now().saturating_add_signed(self.rows.lock().ahead)
    }

    fn change<'a>(&'a self, key: &'a Key, change: Change<'a>) -> Future<'a, ()> {
        Box::pin(async move {
            match timeout(CHANGE_TIMEOUT, self.try_change(key, change)).await {
                Ok(Ok(())) => {}
                Ok(Err(why)) => self.complain(why),
                Err(_) => self.complain("the database does not answer".to_owned()),
            }
        })
    }

    fn lift<'a>(&'a self, plugin: &'a str) -> Future<'a, Result<usize, String>> {
        Box::pin(async move {
            self.refresh().await.map_err(|error| error.to_string())?;
            let breakers = self.read();
            let mut lifted = 0;
            for (key, _) in breakers.iter().filter(|(key, breaker)| is_of(key, breaker, plugin)) {
                self.try_change(key, &mut |breakers| breakers.clear()).await?;
                lifted += 1;
            }
            Ok(lifted)
        })
    }
}

fn key(row: &BreakerRow) -> Key {
    (row.digest.clone(), row.hook.clone())
}

/// A row that was not written by this program counts for nothing.
fn breaker(row: &BreakerRow) -> Option<Breaker> {
    serde_json::from_slice(&row.state).ok()
}
