//! How a gateway begins and ends.

use super::channels::Channels;
use super::debounce::Debounce;
use super::lanes::Lanes;
use super::lock::ServeLock;
use super::places::Places;
use super::post::Post;
use super::quota::{self, RecordCounts};
use super::records::{Open, Records};
use super::sessions::Sessions;
use super::task::Task;
use super::{Gateway, HTTP, Refusal};
use anyhow::Result;
use bub_runtime::host::Host;
use bub_runtime::turn::AttributedMessage;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often the end of the last turn is looked for.
const LOOK: Duration = Duration::from_millis(20);

impl Gateway {
    /// Serves that host's home, and goes on where the last process stopped.
    ///
    /// # Errors
    ///
    /// Another process serves the home, or what the last one left cannot be read.
    pub async fn start(host: Arc<Host>) -> Result<Arc<Self>> {
        let lock = ServeLock::take(&host.config.home)?;
        let records = Records::open(&host.config.home.join("serve.sqlite"), host.config.tapes.journal.durability)?;
        let sessions = Sessions::new(records.sessions().await?);
        let record_counts = RecordCounts::new(records.counts(quota::day()).await?);
        let gateway = Arc::new(Self {
            places: Places::new(host.config.serve.max_turns),
            host: RwLock::new(host),
            records,
            record_counts,
            sessions,
            lanes: Lanes::default(),
            post: Post::default(),
            channels: Channels::default(),
            debounce: Debounce::default(),
            open: Mutex::default(),
            waiting: AtomicUsize::new(0),
            stopping: watch::Sender::new(false),
            _lock: lock,
        });
        gateway.find().await;
        // What waits on disk is older than what comes.
        gateway.go_on().await?;
        drop(tokio::spawn(Arc::clone(&gateway).tend()));
        drop(tokio::spawn(Arc::clone(&gateway).tidy()));
        Ok(gateway)
    }

    async fn go_on(self: &Arc<Self>) -> Result<()> {
        let (open, outbounds) = self.records.left().await?;
        if !open.is_empty() {
            tracing::warn!("{} messages were taken and have not had their turn: they have it now", open.len());
        }
        self.deliver(outbounds);
        for (task, is_active) in self.again(open) {
            match (&task.since, task.said.message.channel == HTTP) {
                (None, false) => self.hear(task, is_active).await,
                _ => match self.admit(task).await {
                    Ok(()) => {}
                    Err(Refusal::Records(error)) => return Err(error),
                    Err(refusal) => tracing::error!("a message that was taken waits for the next start: {refusal:?}"),
                },
            }
        }
        Ok(())
    }

    /// The messages without an end as they are to be run: those that were one turn are one again.
    fn again(&self, open: Vec<Open>) -> Vec<(Task, bool)> {
        let mut places: BTreeMap<i64, usize> = BTreeMap::new();
        let mut tasks: Vec<(Task, bool)> = Vec::new();
        let mut known = HashMap::new();
        for Open { number, message, speaker, taken, leader, is_active } in open {
            let (task, reply) = Task::recorded(number, AttributedMessage { message, speaker });
            known.insert(number, reply);
            let task = Task { since: leader.map(|_| taken), ..task };
            match leader.and_then(|leader| places.get(&leader).copied()).and_then(|place| tasks.get_mut(place)) {
                Some((first, _)) => first.joins(task),
                None => {
                    if let Some(leader) = leader {
                        places.insert(leader, tasks.len());
                    }
                    tasks.push((task, is_active));
                }
            }
        }
        self.open().extend(known);
        tasks
    }

    /// Takes nothing more, and waits for the turns that run. Those that go on for too long are left to their journals, from
    /// which the next process goes on. Whether all have ended.
    pub async fn stop(&self) -> bool {
        self.stopping.send_replace(true);
        self.channels.stop();
        let until = Instant::now() + Duration::from_secs(self.host().config.serve.drain_seconds);
        while self.load() != (0, 0) && Instant::now() < until {
            sleep(LOOK).await;
        }
        self.load() == (0, 0)
    }
}
