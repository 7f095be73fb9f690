//! Where a chain ends, which is all that an append must know of it.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use bub_tape::{Result, Store, sidecar_name};
use parking_lot::Mutex;

use super::digest::NONE;
use super::record::{PastChain, Record, Sealed};

/// Chains whose ends are remembered.
const REMEMBERED: usize = 512;

/// The end of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The id of the chain.
    pub(crate) chain: String,
    /// Its last record; 0 without one.
    pub(crate) seq: u64,
    /// The digest of that record.
    pub(crate) hash: String,
    /// The last id of each part that the chain knows.
    pub(crate) ends: BTreeMap<String, u64>,
    /// The last record of the chain cannot be read.
    pub(crate) is_broken: bool,
}

impl State {
    /// A chain without records.
    pub(crate) fn new() -> Self {
        Self { chain: new_id(), seq: 0, hash: NONE.to_owned(), ends: BTreeMap::new(), is_broken: false }
    }

    /// The end of the chain of that tape, by its last record.
    pub(crate) async fn read(store: &dyn Store, tape: &str) -> Result<Self> {
        let name = sidecar_name(tape, bub_tape::CHAIN)?;
        let Some(last) = store.tail(&name, None, 1).await?.pop() else { return Ok(Self::new()) };
        let broken = |seq| Self { seq, is_broken: true, ..Self::new() };
        Ok(match Sealed::parse(&last) {
            Some(Sealed { record, hash }) => {
                Self { chain: record.chain, seq: record.seq, hash, ends: record.ends, is_broken: false }
            }
            _ => broken(last.id),
        })
    }

    /// The next record, empty so far.
    pub(crate) fn next(&self) -> Record {
        Record {
            chain: self.chain.clone(),
            seq: self.seq + 1,
            prev: self.hash.clone(),
            ends: self.ends.clone(),
            broken: self.is_broken,
            ..Record::default()
        }
    }

    /// The head, if there is a record.
    pub(crate) fn head(&self) -> Option<PastChain> {
        let head = || PastChain { chain: self.chain.clone(), seq: self.seq, hash: self.hash.clone() };
        (self.seq > 0 && !self.is_broken).then(head)
    }
}

/// The ends of chains, each behind a lock that orders the writes of this process.
#[derive(Default)]
pub(crate) struct States(Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<State>>>>>);

impl States {
    /// The state of a tape's chain; `None` in it: it must be read.
    pub(crate) fn of(&self, tape: &str) -> Arc<tokio::sync::Mutex<Option<State>>> {
        let mut all = self.0.lock();
        if all.len() >= REMEMBERED && !all.contains_key(tape) {
            // Those in use stay, so that a tape has one lock.
            all.retain(|_, state| Arc::strong_count(state) > 1);
        }
        Arc::clone(all.entry(tape.to_owned()).or_default())
    }

    /// Forgets all, after writes that went by.
    pub(crate) fn forget(&self) {
        self.0.lock().retain(|_, state| Arc::strong_count(state) > 1);
    }
}

/// An id that no other chain has.
fn new_id() -> String {
    let chance = || std::hash::RandomState::new().build_hasher().finish();
    format!("{:016x}", chance() ^ chance().rotate_left(17))
}
