//! Starting and stopping a gateway.

use super::channels::Channels;
use super::cluster::Cluster;
use super::debounce::Debounce;
use super::event_log::EventLog;
use super::gateway::Gateway;
use super::inbox::{Inbox, Outbound, PendingMessage};
use super::local_inbox::LocalInbox;
use super::lock::ServeLock;
use super::outbox::Outbox;
use super::session_queues::SessionQueues;
use super::task::Task;
use super::turn_feed::TurnFeeds;
use super::turn_limiter::TurnLimiter;
use super::{HTTP, Refusal};
use anyhow::Result;
use bub_runtime::host::Host;
use bub_runtime::turn::AttributedMessage;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

impl Gateway {
    /// Serves the host's home, and continues with what the last process left.
    ///
    /// # Errors
    ///
    /// Another process serves the home, or the inbox database cannot be read.
    pub async fn start(host: Arc<Host>) -> Result<Arc<Self>> {
        let lock = ServeLock::acquire(&host.config.home)?;
        let (inbox, cluster) = inbox(&host).await?;
        let host_database = host.database().cloned();
        let gateway = Arc::new(Self {
            turn_limiter: TurnLimiter::new(host.config.serve.max_turns),
            host: RwLock::new(host),
            event_log: host_database.as_ref().map_or_else(EventLog::local, EventLog::shared),
            inbox,
            cluster,
            session_queues: SessionQueues::default(),
            feeds: TurnFeeds::default(),
            outbox: Outbox::default(),
            channels: Channels::default(),
            debounce: Debounce::default(),
            pending_replies: Mutex::default(),
            waiting: AtomicUsize::new(0),
            stopping: CancellationToken::new(),
            message_tasks: TaskTracker::new(),
            _lock: lock,
        });
        gateway.event_log.fill(&gateway.host().events);
        gateway.discover_channels().await;
        // Stored messages are older than those that arrive from now on.
        let losses = gateway.losses();
        let (pending, outbounds) = gateway.inbox.adopt().await?;
        gateway.recover(pending, outbounds, losses).await?;
        if let Some(cluster) = gateway.cluster.clone() {
            drop(tokio::spawn(Arc::clone(&gateway).run_cluster(cluster)));
        }
        drop(tokio::spawn(Arc::clone(&gateway).watch_channels()));
        drop(tokio::spawn(Arc::clone(&gateway).run_gc()));
        Ok(gateway)
    }

    /// Continues with what an earlier process, or another worker, has left.
    pub(super) async fn recover(
        self: &Arc<Self>,
        pending: Vec<PendingMessage>,
        outbounds: Vec<Outbound>,
        losses: u64,
    ) -> Result<()> {
        if !pending.is_empty() {
            let by = if self.cluster.is_some() { "a worker that has ended" } else { "the process before this one" };
            tracing::warn!("{} messages were accepted by {by}: their turns run now", pending.len());
        }
        self.deliver(outbounds);
        for (task, is_active) in self.recovered_tasks(pending, losses) {
            match (&task.interrupted_since, task.said.message.channel == HTTP) {
                (None, false) => self.debounce(task, is_active).await,
                _ => match self.admit(task).await {
                    Ok(()) => {}
                    Err(Refusal::Storage(error)) => return Err(error),
                    Err(refusal) => tracing::error!("an accepted message waits for the next start: {refusal:?}"),
                },
            }
        }
        Ok(())
    }

    /// The tasks of pending messages: those that were one turn are one task again.
    fn recovered_tasks(&self, pending: Vec<PendingMessage>, losses: u64) -> Vec<(Task, bool)> {
        let mut positions: BTreeMap<i64, usize> = BTreeMap::new();
        let mut tasks: Vec<(Task, bool)> = Vec::new();
        let mut replies = HashMap::new();
        for PendingMessage { number, message, identity, accepted_at, leader, is_active, place } in pending {
            let (task, reply) = Task::from_stored(number, AttributedMessage { message, identity });
            replies.insert(number, reply);
            let task = Task { interrupted_since: leader.map(|_| accepted_at), place, losses, ..task };
            let position = leader.and_then(|leader| positions.get(&leader).copied());
            match position.and_then(|position| tasks.get_mut(position)) {
                Some((first, _)) => first.merge(task),
                None => {
                    if let Some(leader) = leader {
                        positions.insert(leader, tasks.len());
                    }
                    tasks.push((task, is_active));
                }
            }
        }
        self.pending_replies.lock().extend(replies);
        tasks
    }

    /// Stops accepting messages, and waits for the turns that run or wait, at most `serve.drain_seconds`. The next process
    /// continues those that take longer from their journals. Returns whether all have ended.
    pub async fn stop(&self) -> bool {
        self.stopping.cancel();
        self.channels.stop_polling();
        self.message_tasks.close();
        let drain = Duration::from_secs(self.host().config.serve.drain_seconds);
        let is_drained = timeout(drain, self.message_tasks.wait()).await.is_ok();
        if let Some(cluster) = &self.cluster {
            cluster.inbox.worker().leave().await;
        }
        is_drained
    }
}

/// The inbox of the host's home, or that of the workers of its database.
async fn inbox(host: &Host) -> Result<(Arc<dyn Inbox>, Option<Arc<Cluster>>)> {
    if let Some(database) = host.database() {
        let cluster = Arc::new(Cluster::join(database, host.config.tapes.terms()).await?);
        return Ok((cluster.inbox.clone(), Some(cluster)));
    }
    let path = host.config.home.join("serve.sqlite");
    Ok((Arc::new(LocalInbox::open(&path, host.config.tapes.journal.durability).await?), None))
}
