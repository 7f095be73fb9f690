//! A lease and the journal of its turn.

use std::sync::Arc;
use std::time::Duration;

use bub_tape::{Error, Future, HeldJournal, Result, Store};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::AbortHandle;
use tokio_postgres::types::{ToSql, Type};

use super::Shared;
use super::records::Records;
use super::state::{Phase, TurnState};
use crate::lease::Fence;
use crate::store::damaged;
use crate::turn_store::{MAX_BYTES, MAX_ENTRIES, MAX_SIDECARS, Snapshot, TurnStore, lookup_columns};

const EMPTY: &str = "SELECT empty_journal_1($1, $2, $3)";

const END: &str = "SELECT end_turn_1($1, $2, $3, $4)";

const SNAPSHOT: &str =
    "SELECT what, tape, place, id, kind, payload, meta, date FROM snapshot_1($1, $2, $3, $4, $5, $6)";

/// How long to wait after a release that the database did not take.
const RETRY: Duration = Duration::from_millis(500);

/// A lease that this process holds.
pub(super) struct TurnJournal {
    shared: Arc<Shared>,
    state: Arc<TurnState>,
    records: Arc<Records>,
    left: Mutex<Vec<u8>>,
    /// The place in this process's queue, and the task that writes the records; `None`: the turn is over.
    running: Mutex<Option<Running>>,
    /// Whether the release has ended.
    released: watch::Sender<bool>,
    runtime: Handle,
}

struct Running {
    turn: OwnedMutexGuard<()>,
    writer: AbortHandle,
}

impl TurnJournal {
    pub(super) fn new(shared: Arc<Shared>, state: Arc<TurnState>, turn: OwnedMutexGuard<()>) -> Self {
        let records = Arc::new(Records::new());
        let writer = tokio::spawn(Arc::clone(&records).write_behind(Arc::clone(&state))).abort_handle();
        let (running, released) = (Mutex::new(Some(Running { turn, writer })), watch::channel(false).0);
        Self { shared, state, records, left: Mutex::default(), running, released, runtime: Handle::current() }
    }

    /// Keeps what an interrupted turn left.
    pub(super) fn keep_left(&self, records: Vec<u8>) {
        *self.left.lock() = records;
    }

    async fn empty(&self) -> Result<()> {
        let (tape, Fence { name, epoch, owner }) = (self.state.tape(), self.state.fence());
        let action = format!("recover the interrupted turn of tape `{tape}`");
        let owner = owner.as_slice();
        let fence: [(&(dyn ToSql + Sync), Type); 3] = [(name, Type::TEXT), (epoch, Type::INT8), (&owner, Type::BYTEA)];
        let database = self.shared.leases.database();
        let rows = database.call(&action, EMPTY, &fence, true).await?;
        if !rows.first().ok_or_else(damaged)?.try_get::<_, bool>(0).map_err(|_| damaged())? {
            return self.state.outcome(Err(self.state.fence().lost()));
        }
        *self.left.lock() = Vec::new();
        let lookups = &self.shared.settings.lookups;
        let (kinds, names) = lookup_columns(lookups);
        let values: [(&(dyn ToSql + Sync), Type); 6] = [
            (&tape, Type::TEXT),
            (&kinds, Type::BYTEA_ARRAY),
            (&names, Type::BYTEA_ARRAY),
            (&MAX_ENTRIES, Type::INT4),
            (&MAX_BYTES, Type::INT8),
            (&MAX_SIDECARS, Type::INT4),
        ];
        let rows = database.call(&action, SNAPSHOT, &values, true).await?;
        self.state.show(Snapshot::read(tape, lookups, &rows)?);
        Ok(())
    }
}

impl HeldJournal for TurnJournal {
    fn left(&self) -> Result<Vec<u8>> {
        Ok(self.left.lock().clone())
    }

    fn empty_left(&self) -> Future<'_, ()> {
        Box::pin(self.empty())
    }

    fn begin(&self, record: &[u8]) -> Result<()> {
        self.append(record)
    }

    fn append(&self, record: &[u8]) -> Result<()> {
        self.state.check()?;
        if self.state.phase() == Phase::Released {
            return Err(Error::invalid("the turn is over"));
        }
        self.records.append(record);
        Ok(())
    }

    /// An entry that a crash takes from memory was seen by its turn alone.
    fn acknowledge(&self) -> Future<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn hurry(&self) {
        self.records.hurry();
    }

    fn settle(&self) -> Future<'_, ()> {
        Box::pin(self.records.settle(&self.state))
    }

    /// The journal itself is emptied by the release, behind the answer.
    fn finish(&self) -> Result<()> {
        self.records.finish();
        Ok(())
    }

    fn release(&self) {
        let Some(running) = self.running.lock().take() else { return };
        let was_held = self.state.release();
        self.shared.releases.send_modify(|releases| *releases += 1);
        let (shared, state, records) = (Arc::clone(&self.shared), Arc::clone(&self.state), Arc::clone(&self.records));
        let ended = self.released.clone();
        self.runtime.spawn(async move {
            let counted = Counted(Arc::clone(&shared));
            let mut is_open = was_held && !end(&shared, &state, &records, 1).await;
            if !is_open {
                running.writer.abort();
                records.end();
            }
            // The next turn of the session asks for the lease after this.
            drop(running.turn);
            drop(counted);
            ended.send_replace(true);
            // The database may be back before the lease expires, as after a failover. Nothing waits for that.
            for attempt in 2.. {
                if !is_open || !state.is_lease_valid() {
                    break;
                }
                tokio::time::sleep(RETRY).await;
                is_open = !end(&shared, &state, &records, attempt).await;
            }
            running.writer.abort();
            records.end();
        });
    }

    fn released(&self) -> Future<'_, ()> {
        Box::pin(async {
            let mut released = self.released.subscribe();
            // The sender is part of `self`.
            let _ended = released.wait_for(|released| *released).await;
            Ok(())
        })
    }

    fn guard(&self, store: &Arc<dyn Store>) -> Option<Arc<dyn Store>> {
        self.shared.is_own(store).then(|| Arc::new(TurnStore::new(Arc::clone(&self.state))) as Arc<dyn Store>)
    }

    fn check(&self) -> Result<()> {
        self.state.check()
    }

    fn lost(&self) -> Future<'_, ()> {
        Box::pin(async {
            self.state.lost().await;
            Ok(())
        })
    }
}

impl Drop for TurnJournal {
    fn drop(&mut self) {
        self.release();
    }
}

/// Counts a release as ended, however its task ends.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.releases.send_modify(|releases| *releases = releases.saturating_sub(1));
    }
}

/// Releases the lease in the database; what the turn did not finish is written before. False: the database does not take it.
async fn end(shared: &Shared, state: &TurnState, records: &Records, attempt: u32) -> bool {
    if !records.is_done()
        && let Err(error) = records.settle(state).await
    {
        // The turn says it as well, in its own words, when it ends.
        if attempt == 1 {
            tracing::info!("{error}");
        }
        // A journal that cannot be written for long must not keep the session waiting.
        if attempt < 4 && matches!(error, Error::Io { .. }) {
            return false;
        }
    }
    let (action, Fence { name, epoch, owner }) = (format!("release `{}`", state.fence().name), state.fence());
    let values: [(&(dyn ToSql + Sync), Type); 4] =
        [(name, Type::TEXT), (epoch, Type::INT8), (&owner.as_slice(), Type::BYTEA), (&records.is_done(), Type::BOOL)];
    match shared.leases.database().call(&action, END, &values, true).await {
        Ok(_) => true,
        Err(error) => {
            if attempt == 1 {
                tracing::info!("{error}; until the database is back, or `{name}` expires, the next turn waits");
            }
            false
        }
    }
}
