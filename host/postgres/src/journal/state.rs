//! The state of a turn's lease, which its journal and its store share.

use std::sync::Arc;

use bub_tape::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::lease::{Fence, Lease};
use crate::store::PostgresStore;
use crate::turn_store::Snapshot;

/// The phase of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Held,
    /// The turn is over.
    Released,
    /// Another process may have claimed it, before the turn was over.
    Lost,
}

/// A turn's lease, and what the turn can read without asking.
pub(crate) struct TurnState {
    lease: Lease,
    fence: Fence,
    tape: String,
    phase: watch::Sender<Phase>,
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    /// The store for the turn's writes.
    fenced: PostgresStore,
    /// The store for what follows the turn.
    plain: Arc<PostgresStore>,
}

impl TurnState {
    pub(super) fn new(store: &Arc<PostgresStore>, lease: Lease, fence: Fence, tape: String) -> Self {
        let fenced = store.fenced(fence.clone());
        let (phase, snapshot) = (watch::channel(Phase::Held).0, Mutex::default());
        Self { lease, fence, tape, phase, snapshot, fenced, plain: Arc::clone(store) }
    }

    pub(crate) fn tape(&self) -> &str {
        &self.tape
    }

    pub(super) fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Lets the turn read that, as long as it holds the lease.
    pub(super) fn show(&self, snapshot: Snapshot) {
        *self.snapshot.lock() = Some(Arc::new(snapshot));
    }

    /// The snapshot that the turn can read without a query.
    pub(crate) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        let snapshot = self.snapshot.lock().clone()?;
        (self.phase() == Phase::Held && self.lease.is_valid()).then_some(snapshot)
    }

    /// The tape has changed.
    pub(crate) fn forget_snapshot(&self) {
        *self.snapshot.lock() = None;
    }

    pub(super) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// The store for a write.
    pub(crate) fn writer(&self) -> Result<&PostgresStore> {
        match self.phase() {
            // Whether another process has claimed it is known to the database alone.
            Phase::Held => Ok(&self.fenced),
            Phase::Released => Ok(&self.plain),
            Phase::Lost => Err(self.fence.lost()),
        }
    }

    /// The store for reads.
    pub(crate) fn reader(&self) -> &Arc<PostgresStore> {
        &self.plain
    }

    /// The outcome of a write, which may show that the lease is lost.
    pub(crate) fn outcome<T>(&self, outcome: Result<T>) -> Result<T> {
        if matches!(outcome, Err(Error::LeaseLost { .. })) {
            self.lose();
        }
        outcome
    }

    /// Rejects an effect unless no other process can have the lease.
    pub(super) fn check(&self) -> Result<()> {
        match self.phase() {
            Phase::Held if !self.lease.is_valid() => {
                self.lose();
                Err(self.fence.lost())
            }
            Phase::Lost => Err(self.fence.lost()),
            Phase::Held | Phase::Released => Ok(()),
        }
    }

    /// Whether no other process can have claimed the lease since, released or not.
    pub(super) fn is_lease_valid(&self) -> bool {
        self.lease.is_valid()
    }

    /// Ends when the lease is lost. After a release, never.
    pub(super) async fn lost(&self) {
        let mut phase = self.phase.subscribe();
        tokio::select! {
            () = self.lease.lost() => self.lose(),
            // An error cannot be: the sender is part of `self`.
            _ended = phase.wait_for(|phase| *phase != Phase::Held) => {}
        }
        if self.phase() != Phase::Lost {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn lose(&self) {
        self.leave(Phase::Lost);
    }

    /// Ends the turn. Returns whether it held the lease.
    pub(super) fn release(&self) -> bool {
        let was_held = self.leave(Phase::Released);
        self.lease.end_renewals();
        self.forget_snapshot();
        was_held
    }

    fn leave(&self, next: Phase) -> bool {
        self.phase.send_if_modified(|phase| {
            let was_held = *phase == Phase::Held;
            if was_held {
                *phase = next;
            }
            was_held
        })
    }
}
