//! Follows the turns of a session, at whichever worker they run.
//!
//! A turn of this process is read from its memory. Of other workers a reader asks by a row (`follower`) that lasts some
//! seconds. All workers look at these rows, and write the streams of such turns to a table, from their beginnings.
//! A turn that no other worker follows costs the database nothing.

use super::gateway::Gateway;
use super::inbox::MessageNumber;
use super::task::Reply;
use super::turn_feed::{Chunk, StreamItem, TurnFeed};
use anyhow::Result;
use bub_runtime::turn::{Listener, TurnEvent};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often items are written, and how often a reader looks for them while a turn runs at another worker.
const INTERVAL: Duration = Duration::from_millis(200);

/// How often a reader looks whether a turn has begun at another worker.
const IDLE: Duration = Duration::from_millis(700);

/// How often a reader says that it follows, and for how long.
const FOLLOWS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(15));

/// How long a reader waits for the end of a stream whose outcome is known.
const GRACE: Duration = Duration::from_secs(2);

/// Turns that a reader remembers as read.
const MAX_READ: usize = 8;

/// A position in the stream of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPosition {
    /// The turn.
    pub turn: String,
    /// The number of its items that were read.
    pub count: u64,
}

/// Items of one turn.
#[derive(Debug)]
pub struct StreamBatch {
    /// The turn: another one for each attempt.
    pub turn: String,
    /// The position of the first item in its turn.
    pub first: u64,
    /// The number of items before these that are not kept any more.
    pub missed: u64,
    /// The items, in order.
    pub items: Vec<Arc<StreamItem>>,
}

/// A reader of the turns of a session.
pub struct TurnFollower {
    gateway: Arc<Gateway>,
    session: String,
    tape: String,
    /// How far the current turn was read.
    at: Option<StreamPosition>,
    /// Turns that were read to their ends, or are older than the reader.
    read: VecDeque<String>,
    /// The last row that was read of other workers' turns.
    row: i64,
    /// When the database was told that this follows.
    told: Option<Instant>,
    /// Whether the turn that is read runs at another worker.
    is_elsewhere: bool,
}

impl Gateway {
    /// Follows the turns of a session: the one that runs, and those that begin. With a position it goes on behind it, if
    /// that is still kept.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be written.
    pub async fn follow(self: &Arc<Self>, session: &str, at: Option<StreamPosition>) -> Result<TurnFollower> {
        let tape = self.session_tape(session).tape;
        let ended = self.feeds.of(session).into_iter().filter(|feed| feed.has_ended());
        let is_current = |turn: &String| at.as_ref().is_some_and(|at| at.turn == *turn);
        let read = ended.map(|feed| feed.turn.clone()).filter(|turn| !is_current(turn)).collect();
        let (session, gateway) = (session.to_owned(), Arc::clone(self));
        let mut follower = TurnFollower { gateway, session, tape, at, read, row: 0, told: None, is_elsewhere: false };
        follower.begin_elsewhere().await?;
        Ok(follower)
    }

    /// Sends the events of the turn of a message, which runs elsewhere or has a listener already, until its outcome is known.
    pub(super) fn relay(self: &Arc<Self>, session: String, number: MessageNumber, listener: Listener, reply: Reply) {
        let gateway = Arc::clone(self);
        let relaying = async move {
            let mut follower = gateway.follow(&session, None).await?;
            let mut is_its_turn = false;
            loop {
                for item in follower.next().await?.items {
                    let event = match &*item {
                        StreamItem::Begins { messages } => {
                            is_its_turn = messages.contains(&number);
                            continue;
                        }
                        StreamItem::Joins { message } => {
                            is_its_turn |= *message == number;
                            continue;
                        }
                        StreamItem::Event(event) if is_its_turn => event.clone(),
                        StreamItem::Ends(Some(_)) if is_its_turn => return Ok(()),
                        _ => continue,
                    };
                    if listener.send(TurnEvent::Event(event)).await.is_err() {
                        return Ok(());
                    }
                }
            }
        };
        let known = async {
            reply.outcome().await;
            sleep(GRACE).await;
        };
        tokio::spawn(async move {
            let ended: Result<()> = tokio::select! {
                ended = relaying => ended,
                () = known => Ok(()),
            };
            if let Err(error) = ended {
                tracing::warn!("the stream of a turn at another worker is not seen: {error:#}");
            }
        });
    }

    /// Writes the stream of a turn for readers at other workers, until it ends.
    pub(super) fn publish(&self, tape: String, feed: Arc<TurnFeed>) {
        let Some(cluster) = self.cluster.clone().filter(|_| feed.claim_publishing()) else { return };
        tokio::spawn(async move {
            let mut count = 0;
            loop {
                let Chunk { first, items, is_last } = feed.after(count).await;
                match cluster.inbox.write_stream(&tape, &feed.turn, (first, &items), is_last).await {
                    Ok(()) => count = first + items.len() as u64,
                    Err(error) => tracing::warn!("the stream of a turn is not seen at other workers yet: {error:#}"),
                }
                if is_last && count > first {
                    return;
                }
                sleep(INTERVAL).await;
            }
        });
    }
}

impl TurnFollower {
    /// Waits for the next items. Cancel safe.
    ///
    /// # Errors
    ///
    /// The database of the workers cannot be read. The reader can be asked again.
    pub async fn next(&mut self) -> Result<StreamBatch> {
        loop {
            let mut begun = self.gateway.feeds.begun();
            begun.mark_unchanged();
            let here = self.gateway.feeds.of(&self.session).into_iter().find(|feed| !self.read.contains(&feed.turn));
            if let Some(feed) = here {
                let chunk = feed.after(self.count_of(&feed.turn)).await;
                self.is_elsewhere = false;
                if let Some(batch) = self.batch(&feed.turn, chunk) {
                    return Ok(batch);
                }
                continue;
            }
            if let Some(batch) = self.next_elsewhere().await? {
                return Ok(batch);
            }
            let pause = if self.is_elsewhere { INTERVAL } else { IDLE };
            match &self.gateway.cluster {
                None => drop(begun.changed().await),
                Some(_) => tokio::select! {
                    _ = begun.changed() => {}
                    () = sleep(pause) => {}
                },
            }
        }
    }

    /// Begins with the turn that runs at another worker.
    async fn begin_elsewhere(&mut self) -> Result<()> {
        let Some(cluster) = &self.gateway.cluster else { return Ok(()) };
        let ended = cluster.inbox.follow(&self.tape, FOLLOWS.1).await?;
        self.told = Some(Instant::now());
        // Behind a position there may be more of a turn that has ended.
        self.row = if self.at.is_some() { 0 } else { ended };
        if let Some(at) = &self.at {
            let rows = cluster.inbox.stream(&self.tape, 0).await?;
            let is_kept = rows.iter().any(|row| row.turn == at.turn);
            let before = rows.iter().filter(|row| row.turn != at.turn && row.id <= ended);
            self.read.extend(before.map(|row| row.turn.clone()));
            if !is_kept {
                self.row = ended;
            }
        }
        Ok(())
    }

    async fn next_elsewhere(&mut self) -> Result<Option<StreamBatch>> {
        let Some(cluster) = self.gateway.cluster.clone() else { return Ok(None) };
        if self.told.is_none_or(|told| told.elapsed() > FOLLOWS.0) {
            cluster.inbox.follow(&self.tape, FOLLOWS.1).await?;
            self.told = Some(Instant::now());
        }
        for row in cluster.inbox.stream(&self.tape, self.row).await? {
            self.row = row.id;
            if self.read.contains(&row.turn) {
                continue;
            }
            self.is_elsewhere = !row.chunk.is_last;
            if let Some(batch) = self.batch(&row.turn, row.chunk) {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn count_of(&self, turn: &str) -> u64 {
        self.at.as_ref().filter(|at| at.turn == turn).map_or(0, |at| at.count)
    }

    /// The items of a chunk that were not read before. Afterwards they count as read.
    fn batch(&mut self, turn: &str, chunk: Chunk) -> Option<StreamBatch> {
        let count = self.count_of(turn);
        let end = chunk.first + chunk.items.len() as u64;
        let first = chunk.first.max(count);
        let known = usize::try_from(first - chunk.first).unwrap_or(usize::MAX);
        let items: Vec<_> = chunk.items.into_iter().skip(known).collect();
        self.at = Some(StreamPosition { turn: turn.to_owned(), count: end.max(count) });
        if chunk.is_last {
            self.read.push_back(turn.to_owned());
            if self.read.len() > MAX_READ {
                self.read.pop_front();
            }
        }
        let missed = chunk.first.saturating_sub(count);
        (!items.is_empty()).then(|| StreamBatch { turn: turn.to_owned(), first, missed, items })
    }
}
