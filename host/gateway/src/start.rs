//! Starting and stopping a gateway.

use super::channels::Channels;
use super::debounce::Debounce;
use super::gateway::Gateway;
use super::inbox_db::{InboxDb, PendingMessage};
use super::lock::ServeLock;
use super::outbox::Outbox;
use super::quota::{self, ByteCounts};
use super::session_queues::SessionQueues;
use super::sessions::Sessions;
use super::task::Task;
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
        let inbox_db = InboxDb::open(&host.config.home.join("serve.sqlite"), host.config.tapes.journal.durability)?;
        let sessions = Sessions::new(inbox_db.sessions().await?);
        let byte_counts = ByteCounts::new(inbox_db.byte_counts(quota::today()).await?);
        let gateway = Arc::new(Self {
            turn_limiter: TurnLimiter::new(host.config.serve.max_turns),
            host: RwLock::new(host),
            inbox_db,
            byte_counts,
            sessions,
            session_queues: SessionQueues::default(),
            outbox: Outbox::default(),
            channels: Channels::default(),
            debounce: Debounce::default(),
            pending_replies: Mutex::default(),
            waiting: AtomicUsize::new(0),
            stopping: CancellationToken::new(),
            message_tasks: TaskTracker::new(),
            _lock: lock,
        });
        gateway.discover_channels().await;
        // Stored messages are older than those that arrive from now on.
        gateway.recover().await?;
        drop(tokio::spawn(Arc::clone(&gateway).watch_channels()));
        drop(tokio::spawn(Arc::clone(&gateway).run_gc()));
        Ok(gateway)
    }

    async fn recover(self: &Arc<Self>) -> Result<()> {
        let (pending, outbounds) = self.inbox_db.pending().await?;
        if !pending.is_empty() {
            tracing::warn!("{} messages were accepted before the restart: their turns run now", pending.len());
        }
        self.deliver(outbounds);
        for (task, is_active) in self.recovered_tasks(pending) {
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
    fn recovered_tasks(&self, pending: Vec<PendingMessage>) -> Vec<(Task, bool)> {
        let mut positions: BTreeMap<i64, usize> = BTreeMap::new();
        let mut tasks: Vec<(Task, bool)> = Vec::new();
        let mut replies = HashMap::new();
        for PendingMessage { number, message, identity, accepted_at, leader, is_active } in pending {
            let (task, reply) = Task::from_stored(number, AttributedMessage { message, identity });
            replies.insert(number, reply);
            let task = Task { interrupted_since: leader.map(|_| accepted_at), ..task };
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
        timeout(drain, self.message_tasks.wait()).await.is_ok()
    }
}
