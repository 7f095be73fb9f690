//! The layer over a store that keeps a chain of digests beside each tape.

use std::sync::Arc;

use bub_tape::{
    CHAIN, Candidates, Commit, Condition, Entry, Erasure, Error, Future, Hit, Info, Lookup, Note, Outcome, Query,
    Result, Revision, Search, Store, check_tape_name, family, sidecar_name,
};

use super::erasing;
use super::record::{Record, RecordingMark};
use super::state::{State, States};
use super::writer::{self, ATTEMPTS, Chained, MAX_SUMS, catch_up, chained, part_of, spans};

/// The head of a tape's chain: it stands for all that the chain has so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The tape.
    pub tape: String,
    /// The id of the chain.
    pub chain: String,
    /// The last record.
    pub seq: u64,
    /// Its digest.
    pub hash: String,
}

/// Keeps heads where changes of a tape do not reach them. Called behind a write, so it must be quick.
pub trait HeadKeeper: Send + Sync {
    /// A write that ends something has ended with that head: a turn, a phase, an erasure, a reset.
    fn keep(&self, head: &Head);
}

/// A store that adds a record to the chain of a tape with each write to the tape or a sidecar, in the same commit.
///
/// Reads are the store's own, but for the list of sidecars, which does not name the chain.
pub struct ChainedStore {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) states: States,
    keeper: Option<Arc<dyn HeadKeeper>>,
}

impl ChainedStore {
    /// A layer over that store. `keeper` is told of heads.
    pub fn new(inner: Arc<dyn Store>, keeper: Option<Arc<dyn HeadKeeper>>) -> Self {
        Self { inner, shared: Arc::new(Shared { states: States::default(), keeper }) }
    }

    fn keep(&self, tape: &str, state: &State) {
        if let Some(keeper) = &self.shared.keeper {
            keeper.keep(&of(tape, state, state.hash.clone()));
        }
    }

    async fn write(&self, tape: &str, commit: Commit) -> Result<Outcome> {
        let is_end = ends_something(tape, &commit);
        let lock = self.shared.states.of(tape);
        let mut known = lock.lock().await;
        let mut reads = false;
        for _ in 0..ATTEMPTS {
            let state = match known.take() {
                Some(state) => state,
                None => State::read(&*self.inner, tape).await?,
            };
            let chained = chained(&*self.inner, tape, commit.clone(), &state, reads || state.is_broken).await;
            let Chained { commit: written, after } = match chained {
                // Perhaps it was done before: the store knows, and asks for the key first.
                Err(Error::Conflict { .. }) if commit.key.is_some() => return self.inner.commit(commit).await,
                chained => chained?,
            };
            match self.inner.commit(written).await {
                Ok(Outcome::Already) => return Ok(Outcome::Already),
                Ok(outcome) => {
                    if is_end {
                        self.keep(tape, &after);
                    }
                    *known = Some(after);
                    return Ok(writer::own_outcome(outcome));
                }
                // Another process has written: everything is read again.
                Err(Error::Conflict { .. }) => reads = true,
                Err(error) => return Err(error),
            }
            tokio::task::yield_now().await;
        }
        tracing::debug!("others write tape `{tape}` too often: the chain gets what is written now later");
        self.inner.commit(commit).await
    }

    /// Adds a record of its own to the chain, which `fill` completes. `about`: the part that it is about, by its names in the
    /// store and in the chain, of which the chain must know all entries.
    async fn add(&self, tape: &str, about: Option<(&str, &str)>, fill: &(dyn Fn(&mut Record) + Sync)) -> Result<State> {
        let lock = self.shared.states.of(tape);
        let mut known = lock.lock().await;
        let mut latest = Error::Conflict { last: 0 };
        for _ in 0..ATTEMPTS {
            *known = None;
            let state = State::read(&*self.inner, tape).await?;
            let mut record = state.next();
            if let Some((name, part)) = about {
                let last = self.inner.last_id(name).await?;
                catch_up(&*self.inner, name, part, last, &mut record).await?;
            }
            fill(&mut record);
            let Chained { commit, after } = writer::alone(tape, record, &state)?;
            match self.inner.commit(commit).await {
                Ok(_) => {
                    *known = Some(after.clone());
                    return Ok(after);
                }
                Err(error @ Error::Conflict { .. }) => latest = error,
                Err(error) => return Err(error),
            }
        }
        Err(latest)
    }

    /// Adds the digests of all entries of a part behind those that the chain knows. `is_own`: this program wrote them.
    pub(crate) async fn take_in(&self, tape: &str, part: &str, mut end: State, is_own: bool) -> Result<State> {
        let name = writer::name_of(tape, part)?;
        let last = self.inner.last_id(&name).await?;
        let known = |end: &State| end.ends.get(part).copied().unwrap_or(0);
        if last < known(&end) {
            let mut record = end.next();
            catch_up(&*self.inner, &name, part, last, &mut record).await?;
            return self.put(tape, record, &end).await;
        }
        while known(&end) < last {
            let mut record = end.next();
            let page = self.inner.read(&name, known(&end), MAX_SUMS).await?;
            let to = page.last().map_or(last, |entry| entry.id);
            let added = spans(part, &page);
            if is_own {
                record.wrote = added
            } else {
                record.found = added
            }
            record.ends.insert(part.to_owned(), to);
            end = self.put(tape, record, &end).await?;
        }
        Ok(end)
    }

    /// Writes a record alone.
    pub(crate) async fn put(&self, tape: &str, record: Record, end: &State) -> Result<State> {
        let Chained { commit, after } = writer::alone(tape, record, end)?;
        self.inner.commit(commit).await?;
        Ok(after)
    }

    async fn erase_chained(&self, name: &str, erasure: Erasure) -> Result<u64> {
        let tape = family(name).to_owned();
        let part = part_of(&tape, name).to_owned();
        if part == CHAIN {
            return Err(Error::invalid("the chain of a tape has no words, and none of its records can be erased"));
        }
        let planned = erasing::plan(&*self.inner, name, &part, &erasure).await?;
        let announce = |record: &mut Record| record.erased = Some(planned.clone());
        let announced = self.add(&tape, Some((name, &part)), &announce).await?;
        let erased = self.inner.erase(name, erasure).await;
        if !erased.as_ref().is_ok_and(|count| *count > 0) {
            self.add(&tape, None, &|record: &mut Record| record.kept = Some(announced.seq)).await?;
            return erased;
        }
        // The receipt of the erasure is an entry, too.
        let lock = self.shared.states.of(&tape);
        let mut known = lock.lock().await;
        *known = None;
        let end = State::read(&*self.inner, &tape).await?;
        let end = self.take_in(&tape, &part, end, true).await?;
        self.keep(&tape, &end);
        *known = Some(end);
        erased
    }

    async fn append_chained(&self, name: &str, after: u64, entries: Vec<Entry>) -> Result<u64> {
        let tape = family(name).to_owned();
        let last = self.inner.append_numbered(name, after, entries).await?;
        let lock = self.shared.states.of(&tape);
        let mut known = lock.lock().await;
        *known = None;
        let end = State::read(&*self.inner, &tape).await?;
        *known = Some(self.take_in(&tape, part_of(&tape, name), end, true).await?);
        Ok(last)
    }
}

/// The head of a chain that ends like that.
pub(crate) fn of(tape: &str, state: &State, hash: String) -> Head {
    Head { tape: tape.to_owned(), chain: state.chain.clone(), seq: state.seq, hash }
}

/// Whether the tape has a chain: the name of one is so long that there is none for the sidecar.
fn has_chain(tape: &str) -> bool {
    sidecar_name(tape, CHAIN).is_ok()
}

/// Whether a head is to be kept behind that commit: of a turn, of its receipts behind the answer, of a phase that begins, of
/// a reset.
fn ends_something(tape: &str, commit: &Commit) -> bool {
    let begins_phase = |batch: &bub_tape::Batch| {
        batch.tape == tape
            && (batch.reset.is_some() || batch.drafts.iter().any(|draft| draft.clone().numbered(1).begins_phase()))
    };
    let is_receipt = |batch: &bub_tape::Batch| part_of(tape, &batch.tape) == bub_tape::RECEIPTS;
    commit.key.is_some() || commit.batches.iter().any(|batch| begins_phase(batch) || is_receipt(batch))
}

impl Store for ChainedStore {
    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(async move {
            let Some(tape) = commit.tape()?.map(str::to_owned) else { return self.inner.commit(commit).await };
            if !has_chain(&tape) {
                return self.inner.commit(commit).await;
            }
            if commit.batches.iter().any(|batch| part_of(&tape, &batch.tape) == CHAIN) {
                return Err(Error::invalid("the sidecar `chain` is written by the program alone"));
            }
            if commit.batches.iter().all(|batch| batch.drafts.is_empty()) {
                let resets = commit.batches.iter().any(|batch| batch.reset.is_some());
                let is_there =
                    resets && (self.inner.last_id(&tape).await? > 0 || !self.inner.sidecars(&tape).await?.is_empty());
                if !is_there {
                    return self.inner.commit(commit).await;
                }
            }
            self.write(&tape, commit).await
        })
    }

    fn pinned(&self, tape: &str) -> Result<Option<Arc<dyn Store>>> {
        self.inner.pinned(tape)
    }

    fn invalidate(&self) {
        self.shared.states.forget();
        self.inner.invalidate();
    }

    fn base(&self) -> Option<&Arc<dyn Store>> {
        Some(&self.inner)
    }

    fn over(&self, base: Arc<dyn Store>) -> Option<Arc<dyn Store>> {
        Some(Arc::new(Self { inner: base, shared: Arc::clone(&self.shared) }))
    }

    fn note<'a>(&'a self, tape: &'a str, note: Note) -> Future<'a, ()> {
        Box::pin(async move {
            check_tape_name(tape)?;
            if !has_chain(tape) {
                return Ok(());
            }
            let fork = match &note {
                Note::Fork { from, through } => Some(writer::fork_mark(&*self.inner, from.clone(), *through).await?),
                Note::Recording { .. } => None,
            };
            let fill = |record: &mut Record| match &note {
                Note::Fork { .. } => record.fork.clone_from(&fork),
                Note::Recording { turn, digest } => {
                    record.recording = Some(RecordingMark { turn: turn.clone(), digest: digest.clone() });
                }
            };
            self.add(tape, None, &fill).await.map(drop)
        })
    }

    fn erase<'a>(&'a self, tape: &'a str, erasure: Erasure) -> Future<'a, u64> {
        // Archives have no chain of their own.
        if erasure.is_empty() || tape.contains(".jsonl.") || !has_chain(family(tape)) {
            return self.inner.erase(tape, erasure);
        }
        Box::pin(self.erase_chained(tape, erasure))
    }

    fn append_numbered<'a>(&'a self, tape: &'a str, after: u64, entries: Vec<Entry>) -> Future<'a, u64> {
        if !has_chain(family(tape)) {
            return self.inner.append_numbered(tape, after, entries);
        }
        Box::pin(self.append_chained(tape, after, entries))
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            let mut names = self.inner.sidecars(tape).await?;
            let chain = sidecar_name(tape, CHAIN).unwrap_or_default();
            names.retain(|name| *name != chain);
            Ok(names)
        })
    }

    fn revisions<'a>(&'a self, tapes: &'a [String]) -> Future<'a, Vec<Option<Revision>>> {
        self.inner.revisions(tapes)
    }

    fn read_ahead(&self, tape: &str) {
        self.inner.read_ahead(tape);
    }

    fn prepare<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.inner.prepare(tape)
    }

    fn index<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.inner.index(tape)
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        self.inner.archive_name(tape)
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        self.inner.last_id(tape)
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        self.inner.read(tape, after, max)
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        self.inner.tail(tape, before, max)
    }

    fn archives<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.inner.archives(after, max)
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        self.inner.list(after, max)
    }

    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        self.inner.check_writable(tape)
    }

    fn check_reachable(&self) -> Future<'_, ()> {
        self.inner.check_reachable()
    }

    fn longest_entry(&self) -> usize {
        self.inner.longest_entry()
    }

    fn find<'a>(&'a self, tape: &'a str, condition: &'a Condition, max: usize) -> Future<'a, Option<Candidates>> {
        self.inner.find(tape, condition, max)
    }

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        self.inner.newest(tape, lookup, before)
    }

    fn since_anchor<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<Entry>> {
        self.inner.since_anchor(tape)
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        self.inner.section(tape, name, before)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        self.inner.query(tape, query)
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        self.inner.search(tape, search, before)
    }

    fn info<'a>(&'a self, tape: &'a str) -> Future<'a, Info> {
        self.inner.info(tape)
    }
}
