//! The tasks of a gateway that shares its database: it takes over what other workers leave, takes their offers of steering, and
//! stops turns on their behalf.

use super::cluster::{Cluster, jitter, lost};
use super::gateway::Gateway;
use super::shared_inbox::{ALL, Membership, Offer};
use super::task::Task;
use super::turn_feed::TurnFeed;
use anyhow::Result;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::RwLockReadGuard;
use tokio::time::{Instant, sleep};

/// How often a worker looks for what others have left.
const ADOPTION: Duration = Duration::from_secs(2);

/// The pause before a write is repeated that the database did not take.
const RETRY: Duration = Duration::from_millis(500);

impl Gateway {
    /// The membership of this process among the workers.
    pub(super) fn membership(&self) -> Option<Arc<Membership>> {
        self.cluster.as_ref().map(|cluster| cluster.inbox.worker().current())
    }

    /// Held while messages are accepted and become known here: see [`Cluster::accepting`].
    pub(super) async fn accepting(&self) -> Option<RwLockReadGuard<'_, ()>> {
        match &self.cluster {
            Some(cluster) => Some(cluster.accepting.read().await),
            None => None,
        }
    }

    /// Repeats a write that the database did not take, where other workers count on it. One process leaves it to the next.
    pub(super) async fn stored<T, F: Future<Output = Result<T>>>(&self, write: impl Fn() -> F) -> Result<T> {
        loop {
            match write().await {
                Err(error) if self.cluster.is_some() => {
                    tracing::warn!("{error:#}; tried again in {} ms", RETRY.as_millis());
                    sleep(RETRY).await;
                }
                done => return done,
            }
        }
    }

    /// Lets the senders of messages wait for the worker that has taken them over.
    pub(super) fn expect_elsewhere(self: &Arc<Self>, tasks: Vec<Task>) {
        for task in tasks {
            let Some(number) = task.numbers.last() else { continue };
            if let (Some(listener), Some(session)) = (&task.listener, &task.said.message.session_id) {
                self.relay(session.clone(), *number, listener.clone(), task.reply_sender.reply());
            }
            let mut replies = self.pending_replies.lock();
            task.numbers.iter().for_each(|number| drop(replies.remove(number)));
            drop(replies);
            if let Some(cluster) = &self.cluster {
                cluster.expect(*number, task.reply_sender);
            }
        }
    }

    /// How many failovers have lost writes of this process.
    pub(super) fn losses(&self) -> u64 {
        self.cluster.as_ref().map_or(0, |cluster| cluster.inbox.losses())
    }

    /// Ends tasks after a failover that may have lost their rows, and stores nothing of them. Those whose rows are there are
    /// taken over like those of a worker that has ended.
    pub(super) fn drop_lost(&self, session: &str, tasks: &[Task], feed: Option<&TurnFeed>) {
        if let Some(feed) = feed {
            self.feeds.end(session, feed, None);
        }
        let outcome = Arc::new(lost(session.to_owned()));
        let mut replies = self.pending_replies.lock();
        tasks.iter().flat_map(|task| &task.numbers).for_each(|number| drop(replies.remove(number)));
        drop(replies);
        tasks.iter().for_each(|task| task.reply_sender.send(&outcome));
        if let Some(cluster) = &self.cluster {
            cluster.inbox.read_again();
        }
    }

    /// Looks after what concerns other workers, until the gateway stops.
    pub(super) async fn run_cluster(self: Arc<Self>, cluster: Arc<Cluster>) {
        let member = {
            let cluster = cluster.clone();
            tokio::spawn(async move { cluster.inbox.worker().rejoin().await })
        };
        let mut hints = cluster.inbox.hints();
        let mut next_adoption = Instant::now();
        let mut look = Instant::now();
        loop {
            let hinted = tokio::select! {
                hint = hints.next() => hint.is_some_and(|name| name == ALL || name == cluster.inbox.worker().current().name()),
                () = tokio::time::sleep_until(look) => true,
                // Running turns are stopped and steered on until the end.
                () = self.message_tasks.wait() => break,
            };
            if !hinted {
                continue;
            }
            look = Instant::now() + jitter();
            cluster.changed.notify_waiters();
            if let Err(error) = self.look_around(&cluster).await {
                tracing::warn!("what other workers do is not seen: {error:#}");
            }
            if next_adoption <= Instant::now() && !self.is_stopping() {
                next_adoption = Instant::now() + ADOPTION;
                if let Err(error) = self.adopt(&cluster).await {
                    tracing::warn!("what other workers have left is not taken over: {error:#}");
                }
            }
        }
        member.abort();
    }

    async fn look_around(self: &Arc<Self>, cluster: &Cluster) -> Result<()> {
        cluster.resolve().await?;
        let sessions = self.session_queues.running();
        let tapes: Vec<String> = sessions.iter().map(|session| self.session_tape(session).tape).collect();
        let done = if sessions.is_empty() { Ok(()) } else { self.stop_and_steer(cluster, &sessions, &tapes).await };
        // Streams are the least of it: an error there must not keep a turn from being stopped.
        *cluster.followed.lock() = cluster.inbox.followed().await?;
        for (session, tape) in sessions.iter().zip(tapes).filter(|(_, tape)| cluster.is_followed(tape)) {
            if let Some(feed) = self.feeds.running(session) {
                self.publish(tape, feed);
            }
        }
        done
    }

    async fn stop_and_steer(self: &Arc<Self>, cluster: &Cluster, sessions: &[String], tapes: &[String]) -> Result<()> {
        let session_of = |tape: &str| tapes.iter().position(|of| of == tape).map(|at| sessions[at].clone());
        for tape in cluster.inbox.stops(tapes).await? {
            if let Some(session) = session_of(&tape) {
                self.session_queues.stop(&session);
            }
        }
        let losses = self.losses();
        for Offer { tape, number, place, message } in cluster.inbox.take_offers(tapes).await? {
            let Some(session) = session_of(&tape) else { continue };
            let (task, reply) = Task::from_stored(number, message);
            self.pending_replies.lock().insert(number, reply);
            // A turn that has ended meanwhile leaves it a turn of its own. There is no bound on stored messages.
            self.enqueue(session, Task { place, losses, ..task }, true, usize::MAX).await;
        }
        Ok(())
    }

    async fn adopt(self: &Arc<Self>, cluster: &Cluster) -> Result<()> {
        loop {
            let accepting = cluster.accepting.write().await;
            let losses = self.losses();
            let (mut pending, outbounds) = self.inbox.adopt().await?;
            {
                let known = self.pending_replies.lock();
                pending.retain(|message| !known.contains_key(&message.number));
            }
            drop(accepting);
            if pending.is_empty() && outbounds.is_empty() {
                return Ok(());
            }
            // Of a message without an id whose acceptance was not answered, the client was told that it was refused.
            let (unanswered, pending): (Vec<_>, Vec<_>) =
                pending.into_iter().partition(|pending| pending.message.id.is_none());
            if !unanswered.is_empty() {
                let numbers = unanswered.iter().map(|pending| pending.number).collect();
                self.inbox.finish(numbers, None, Vec::new()).await?;
            }
            cluster.adopted.fetch_add((pending.len() + outbounds.len()) as u64, Ordering::Relaxed);
            self.recover(pending, outbounds, losses).await?;
        }
    }
}
