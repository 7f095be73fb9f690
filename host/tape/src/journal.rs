//! A turn's journal, which preserves its writes over a crash, and the lease that excludes other turns of the same
//! session.
//!
//! A [`JournalBackend`] keeps both: in files of this machine (`file`), or where several machines share them. The
//! journal is independent of the kind of store: it repeats a [`Commit`] with its key, and the store detects
//! repetitions.

mod backend;
mod file;
mod interrupted;
mod record;
mod recover;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::Result;
use super::holder::Holder;
use super::store::{Commit, Store};
use super::{Durability, date, failpoint};
pub use backend::{HeldJournal, JournalBackend};
use file::FileJournals;
pub use interrupted::InterruptedSession;
use record::Record;

/// Settings of journals.
#[derive(Clone, Copy, Debug)]
pub struct JournalSettings {
    /// How long a turn waits for another turn of its session.
    pub lock_wait: Duration,
    /// Durability of writes.
    pub durability: Durability,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self { lock_wait: Duration::from_secs(30), durability: Durability::default() }
    }
}

/// The journals of tapes.
pub struct Journals {
    backend: Arc<dyn JournalBackend>,
}

/// The result of a recovery at the beginning of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Entries that the interrupted turn had written.
    pub entries: usize,
    /// Tools that may or may not have run.
    pub tools: Vec<String>,
    /// The data of its events [`TAKEN`](super::TAKEN), as JSON: the messages that it has read.
    pub taken: Vec<String>,
}

impl Journals {
    /// Journals in `dir`, the directory of tapes in files.
    pub fn new(dir: impl Into<PathBuf>, settings: JournalSettings) -> Self {
        Self::over(Arc::new(FileJournals::new(dir.into(), settings)))
    }

    /// Journals of another backend.
    pub fn over(backend: Arc<dyn JournalBackend>) -> Self {
        Self { backend }
    }

    /// The directory of the journals, if they are files.
    pub fn dir(&self) -> Option<&Path> {
        self.backend.dir()
    }

    /// See [`JournalBackend::proves_writable`].
    pub(super) fn proves_writable(&self, store: &Arc<dyn Store>) -> bool {
        self.backend.proves_writable(store.base().unwrap_or(store))
    }

    /// Waits for the session's lease, recovers an interrupted turn, and begins a turn.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`](super::Error::Busy) if another turn runs for longer than `lock_wait`;
    /// [`Error::Io`](super::Error::Io) if the journal cannot be written, or recovery fails: the turn must not begin
    /// then.
    pub(super) async fn begin(&self, store: &Arc<dyn Store>, tape: &str) -> Result<(Arc<Journal>, Option<Recovered>)> {
        let alone = self.alone(store, tape).await?;
        let recovered = alone.recover(tape, false).await?;
        let journal = Journal { held: alone, key: key() };
        journal.start()?;
        failpoint::point("begin.end");
        Ok((Arc::new(journal), recovered))
    }

    /// The session's lease, after recovering an interrupted turn.
    pub(super) async fn exclusively(&self, store: &Arc<dyn Store>, tape: &str) -> Result<Alone> {
        let alone = self.alone(store, tape).await?;
        alone.recover(tape, false).await?;
        Ok(alone)
    }

    /// The session's lease, with what an interrupted turn left. A process that is gone may hold the lease until it
    /// expires: this waits for that.
    pub(super) async fn interrupted(&self, store: &Arc<dyn Store>, tape: &str) -> Result<InterruptedSession> {
        self.backend.left(tape, true).await?;
        let alone = self.alone(store, tape).await?;
        let left = recover::read(&alone.held.left()?, tape).map(|left| left.summary());
        Ok(InterruptedSession { alone, tape: tape.to_owned(), left })
    }

    async fn alone(&self, store: &Arc<dyn Store>, tape: &str) -> Result<Alone> {
        let held = self.backend.acquire(tape).await?;
        let store = match held.guard(store.base().unwrap_or(store)) {
            Some(guarded) => store.over(Arc::clone(&guarded)).unwrap_or(guarded),
            None => Arc::clone(store),
        };
        Ok(Alone { held, store })
    }

    /// The process that holds the tape's lease, if known.
    pub async fn holder(&self, tape: &str) -> Option<Holder> {
        self.backend.holder(tape).await.ok().flatten()
    }

    /// An interrupted turn that is not recovered yet, if no turn runs.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub async fn left(&self, tape: &str) -> Result<Option<Recovered>> {
        let bytes = self.backend.left(tape, false).await?;
        Ok(recover::read(&bytes, tape).map(|left| left.summary()))
    }

    /// Waits for the releases of leases that have begun: before the process ends, so that the next one need not wait
    /// for their expiry.
    pub async fn released(&self) {
        if let Err(error) = self.backend.released().await {
            tracing::debug!("{error}");
        }
    }
}

/// Logs that a turn waits.
pub fn report_wait(holder: Option<&Holder>, wait: Duration) {
    let who = holder.map_or_else(String::new, |holder| format!(" in {holder}"));
    let wait = wait.as_secs_f64();
    tracing::warn!("another turn of this session runs{who}: waiting up to {wait} seconds");
}

/// The lease of a session. Dropped, it is released.
pub(super) struct Alone {
    held: Arc<dyn HeldJournal>,
    store: Arc<dyn Store>,
}

impl Alone {
    /// The store for writes under the lease.
    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Releases the lease, and waits for the end of that. Writes under it stay in any case: a lease that
    /// cannot be released expires.
    pub(super) async fn release(self) {
        self.held.release();
        if let Err(error) = self.held.released().await {
            tracing::debug!("{error}");
        }
    }

    async fn recover(&self, tape: &str, is_aside: bool) -> Result<Option<Recovered>> {
        recover::recover(&*self.store, &*self.held, tape, is_aside).await
    }
}

/// The journal of one turn.
pub(super) struct Journal {
    held: Alone,
    key: String,
}

impl Journal {
    /// The key of the turn's commit.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The store of the turn.
    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.held.store
    }

    fn held(&self) -> &dyn HeldJournal {
        &*self.held.held
    }

    fn start(&self) -> Result<()> {
        let begin = Record::Begin { key: self.key.clone(), pid: std::process::id(), date: date::now() };
        self.held().begin(&begin.encode())?;
        failpoint::point("begin.header");
        self.held().reserve().inspect_err(|_| {
            let _emptied = self.finish();
        })
    }

    /// Records a write before it is acknowledged.
    pub(super) fn record(&self, commit: &Commit) -> Result<()> {
        self.held().append(&record::encode_commit(&commit.batches))?;
        failpoint::point("record.written");
        Ok(())
    }

    /// Records the user's message, which recovery writes to the tape if the turn did not.
    pub(super) fn prompt(&self, text: &str) -> Result<()> {
        self.held().append(&Record::Prompt(text.to_owned()).encode())?;
        self.held().hurry();
        Ok(())
    }

    /// Records that a tool with an irrevocable effect began. `call` is the model's call, as JSON.
    pub(super) fn tool(&self, call: &str) -> Result<()> {
        self.held().append(&Record::Tool(call.to_owned()).encode())?;
        failpoint::point("tool.written");
        Ok(())
    }

    /// See [`HeldJournal::acknowledge`].
    pub(super) async fn acknowledge(&self) -> Result<()> {
        self.held().acknowledge().await
    }

    /// Waits until the records are durable, for an effect that must not happen without them, or under a lost lease.
    pub(super) async fn settle(&self) -> Result<()> {
        self.held().settle().await?;
        self.held().check()
    }

    /// See [`HeldJournal::check`].
    pub(super) fn check(&self) -> Result<()> {
        self.held().check()
    }

    /// See [`HeldJournal::lost`].
    pub(super) async fn lost(&self) {
        if self.held().lost().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Empties the journal after the commit.
    pub(super) fn finish(&self) -> Result<()> {
        failpoint::point("end.stored");
        self.held().finish()?;
        failpoint::point("end.emptied");
        Ok(())
    }

    /// Releases the lease.
    pub(super) fn release(&self) {
        self.held().release();
    }
}

/// A unique key, even if clock and process id repeat.
fn key() -> String {
    use std::hash::{BuildHasher, Hasher};
    let chance = std::hash::RandomState::new().build_hasher().finish();
    format!("{}-{chance:016x}", date::run_id())
}
