//! This process among the workers of a database: a lease, under which it writes.

use anyhow::Result;
use bub_postgres::{Database, Fence, Lease, Leases, Terms};
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// The pause before another attempt to join.
const RETRY: Duration = Duration::from_secs(1);

/// The process as the database knows it, until its lease is lost. Its name is never used again.
pub(crate) struct Membership {
    lease: Lease,
    /// Cancelled when the lease is lost: another worker takes over what was accepted under it.
    pub(crate) ended: CancellationToken,
    /// How many failovers have lost writes, and how many had before.
    losses: watch::Receiver<u64>,
    losses_before: u64,
}

impl Membership {
    pub(crate) fn name(&self) -> &str {
        self.lease.fence().name()
    }

    pub(crate) fn fence(&self) -> &Fence {
        self.lease.fence()
    }

    /// Whether no other worker can have taken over.
    pub(crate) fn is_valid(&self) -> bool {
        !self.ended.is_cancelled() && self.lease.is_valid() && *self.losses.borrow() == self.losses_before
    }

    /// Ends when a failover has lost writes that were made under it.
    async fn has_lost_writes(&self) {
        let mut losses = self.losses.clone();
        // An error cannot be: the database of the lease has the sender.
        let _ended = losses.wait_for(|losses| *losses != self.losses_before).await;
    }
}

/// The memberships of this process, one after the other.
pub(crate) struct Worker {
    database: Database,
    leases: Leases,
    current: RwLock<Arc<Membership>>,
}

impl Worker {
    /// Joins the workers of a database.
    pub(crate) async fn join(database: &Database, terms: Terms) -> Result<Self> {
        let leases = Leases::new(database.clone(), terms);
        let current = RwLock::new(Arc::new(join(database, &leases).await?));
        Ok(Self { database: database.clone(), leases, current })
    }

    /// The membership that writes of now carry.
    pub(crate) fn current(&self) -> Arc<Membership> {
        self.current.read().clone()
    }

    /// The leases of this process.
    pub(crate) fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Joins again after each loss of the lease. Never ends.
    pub(crate) async fn rejoin(&self) {
        loop {
            let current = self.current();
            tokio::select! {
                () = current.lease.lost() => {
                    tracing::error!(
                        "this worker did not reach the database in time: its turns are stopped, and other workers take \
                         over its messages"
                    );
                    current.ended.cancel();
                }
                // It was logged when it was noticed. The work that is still there is taken over like that of any other
                // worker.
                () = current.has_lost_writes() => {
                    current.ended.cancel();
                    if let Err(error) = current.lease.release().await {
                        tracing::warn!("what the failover has left is taken over when the lease ends: {error}");
                    }
                }
            }
            loop {
                match join(&self.database, &self.leases).await {
                    Ok(joined) => {
                        *self.current.write() = Arc::new(joined);
                        tracing::info!("this worker has joined the others again");
                        break;
                    }
                    Err(error) => tracing::warn!("this worker cannot join the others yet: {error:#}"),
                }
                sleep(RETRY).await;
            }
        }
    }

    /// Leaves the workers, so that the others need not wait until the lease ends.
    pub(crate) async fn leave(&self) {
        if let Err(error) = self.current().lease.release().await {
            tracing::warn!("other workers take over what is left here when the lease of this one ends: {error}");
        }
    }
}

async fn join(database: &Database, leases: &Leases) -> Result<Membership> {
    let mut name = [0; 8];
    getrandom::fill(&mut name)?;
    let name = format!("worker:{}", u64::from_ne_bytes(name));
    let losses = database.losses();
    let losses_before = *losses.borrow();
    let lease = leases.claim(&name).await?;
    // The name is random, so that no other process has it.
    let lease = lease.ok_or_else(|| anyhow::anyhow!("the lease `{name}` is another process's"))?;
    Ok(Membership { lease, ended: CancellationToken::new(), losses, losses_before })
}
