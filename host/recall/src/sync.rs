//! Synchronizes the index with the tapes.

use super::Workspace;
use super::index::{IndexedTape, MAX_PASSAGES};
use super::passages::{Fold, remembered, sources};
use bub_tape::{Entry, FORGOTTEN, Lookup, MEMORY, Store, Tape, Tapes, sidecar_name};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// Entries per read.
const PAGE: usize = 256;

/// Maximum entries of a tape that is indexed for the first time.
const FIRST_LOOK: u64 = 20_000;

/// Minimum time between synchronizations of other sessions, and its factor of the time that one takes, so that a remote
/// store is not polled constantly.
const MIN_FRESHNESS: Duration = Duration::from_secs(2);
const FRESHNESS_FACTOR: u32 = 20;

/// Names of tapes per request, and in total.
const NAMES: usize = 256;
const MAX_TAPES: usize = 4_096;

impl Workspace {
    /// Indexes new entries of the turn's own tape and of the workspace's, and periodically of its other sessions.
    /// Serialized; what was indexed is kept if the caller is cancelled.
    ///
    /// # Errors
    ///
    /// Errors of the store or the index.
    pub async fn catch_up(&self, tapes: &Tapes, own: &str, shared: &str) -> Result<(), String> {
        let mut swept = self.current.lock().await;
        for tape in [own, shared] {
            self.take(tapes, tape).await?;
        }
        let began = Instant::now();
        if swept.is_none_or(|until| until <= began) {
            let prefix = shared.split_once("__").map_or(shared, |(workspace, _)| workspace);
            let prefix = format!("{prefix}__");
            let mut after = prefix.clone();
            let mut seen = 0;
            'names: while seen < MAX_TAPES {
                let names = tapes.store().list(Some(&after), NAMES).await.map_err(store_error)?;
                let Some(last) = names.last().cloned() else { break };
                for name in names {
                    if !name.starts_with(&prefix) {
                        break 'names;
                    }
                    seen += 1;
                    if name != own && name != shared {
                        self.take(tapes, &name).await?;
                    }
                }
                after = last;
            }
            *swept = Some(Instant::now() + MIN_FRESHNESS.max(began.elapsed() * FRESHNESS_FACTOR));
        }
        let index = self.index.clone();
        blocking(move || index.evict(MAX_PASSAGES)).await
    }

    /// Indexes new entries of a tape, and its current memory.
    async fn take(&self, tapes: &Tapes, tape: &str) -> Result<(), String> {
        let store = &**tapes.store();
        let handle = tapes.open(tape).map_err(store_error)?;
        let last = store.last_id(tape).await.map_err(store_error)?;
        let beside = sidecar_name(tape, MEMORY).map_err(store_error)?;
        let last_beside = store.last_id(&beside).await.map_err(store_error)?;
        let forgotten = sidecar_name(tape, FORGOTTEN).map_err(store_error)?;
        let forgotten = store.last_id(&forgotten).await.map_err(store_error)?;
        let mut known = self.known(tape).await?;
        let is_another = || async {
            Ok::<_, String>(known.last > last || known.last > 0 && print(store, tape, known.last).await? != known.print)
        };
        // Entries that were forgotten since must be removed from the index.
        if known.fold.forgotten != forgotten || is_another().await? {
            let (index, name) = (self.index.clone(), tape.to_owned());
            blocking(move || index.forget_tape(&name)).await?;
            known = self.known(tape).await?;
            known.fold.forgotten = forgotten;
        }
        let is_new = known.last < last;
        if is_new {
            if known.last == 0 && last > FIRST_LOOK {
                known = from_the_middle(store, tape, last - FIRST_LOOK, known).await?;
            }
            self.read(&handle, known).await?;
        }
        if is_new || self.known(&beside).await?.last != last_beside {
            self.remember(&handle, tape, &beside, last_beside).await?;
        }
        Ok(())
    }

    async fn read(&self, handle: &Tape, mut known: IndexedTape) -> Result<(), String> {
        let forgotten = handle.forgotten().await.map_err(store_error)?;
        loop {
            let page = handle.read(known.last, PAGE).await.map_err(store_error)?;
            let Some(newest) = page.last() else { return Ok(()) };
            (known.last, known.print) = (newest.id, print_of(newest));
            let shown = page.iter().filter(|entry| !forgotten.holds(entry));
            let steps = shown.map(|entry| known.fold.take(entry)).collect::<Vec<_>>();
            let (index, adding) = (self.index.clone(), known.clone());
            blocking(move || index.add(&adding, &steps)).await?;
            // Let other tasks run during a long tape.
            tokio::task::yield_now().await;
        }
    }

    /// Indexes the current memory, of the tape or its sidecar, if it changed.
    async fn remember(&self, handle: &Tape, tape: &str, beside: &str, last_beside: u64) -> Result<(), String> {
        let memory = handle.memory().await.map_err(store_error)?;
        let is_on_tape = handle.section(MEMORY).await.map_err(store_error)? == memory;
        for (name, section) in [(tape, is_on_tape.then_some(&memory)), (beside, (!is_on_tape).then_some(&memory))] {
            let section: &[Entry] = section.map_or(&[], Vec::as_slice);
            let mut known = self.known(name).await?;
            let place = (section.first().map_or(0, |entry| entry.id), section.last().map_or(0, |entry| entry.id));
            let is_read = name == tape || known.last == last_beside;
            if place == known.fold.section && is_read {
                continue;
            }
            known.fold.section = place;
            if name == beside {
                known.last = last_beside;
            }
            let passages = remembered(section);
            let index = self.index.clone();
            blocking(move || index.replace_memory(&known, &passages)).await?;
        }
        Ok(())
    }

    async fn known(&self, tape: &str) -> Result<IndexedTape, String> {
        let (index, tape) = (self.index.clone(), tape.to_owned());
        blocking(move || index.known(&tape)).await
    }
}

/// The taint at an entry in the middle of a tape, from which indexing begins.
async fn from_the_middle(store: &dyn Store, tape: &str, from: u64, known: IndexedTape) -> Result<IndexedTape, String> {
    let before = Some(from + 1);
    let tainted = store.newest(tape, &Lookup::event("turn.tainted"), before).await.map_err(store_error)?;
    let phase = store.newest(tape, &Lookup::Phase, before).await.map_err(store_error)?.map_or(0, |anchor| anchor.id);
    let mut fold = Fold { turn: from, ..Fold::default() };
    if let Some(event) = tainted.filter(|event| event.id >= phase) {
        fold.add(sources(&event));
    }
    Ok(IndexedTape { last: from, fold, ..known })
}

/// The fingerprint of the entry with that id.
async fn print(store: &dyn Store, tape: &str, id: u64) -> Result<String, String> {
    let found = store.read(tape, id - 1, 1).await.map_err(store_error)?;
    Ok(found.first().filter(|entry| entry.id == id).map(print_of).unwrap_or_default())
}

fn print_of(entry: &Entry) -> String {
    Sha256::digest(entry.line().as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn store_error(error: bub_tape::Error) -> String {
    error.to_string()
}

/// Runs database work on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> rusqlite::Result<T> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(act).await {
        Ok(done) => done.map_err(|error| bub_types::text::plain(&error.to_string())),
        Err(error) => Err(error.to_string()),
    }
}
