//! A queue of messages per session, and the steering of its running turn.

use super::task::Task;
use bub_runtime::turn::Steering;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use tokio::sync::watch;

/// The queues of all sessions with a task.
#[derive(Default)]
pub(crate) struct SessionQueues(Mutex<HashMap<String, SessionQueue>>);

/// The queue of one session. It exists for as long as a task runs its messages.
#[derive(Default)]
struct SessionQueue {
    waiting: VecDeque<Task>,
    /// Of the running turn, while it can be steered.
    steering: Option<Steering>,
    /// Messages given to the running turn, in the order of `steering`.
    steered: Vec<Task>,
    /// Stops the running turn.
    stop: Option<watch::Sender<bool>>,
}

impl SessionQueue {
    /// Adds a message behind those with an earlier place in their session.
    fn insert(&mut self, task: Task) {
        let behind = |waiting: &Task| waiting.place.is_none() || task.place.is_none() || waiting.place <= task.place;
        let at = self.waiting.iter().rposition(behind).map_or(0, |before| before + 1);
        self.waiting.insert(at, task);
    }
}

/// The result of queueing a message.
pub(crate) enum Enqueued {
    /// It waits; another task runs the queue.
    Waiting,
    /// The running turn got it.
    Steered,
    /// The queue is new: the caller has to run it.
    Started,
    /// The queue is full; the message was dropped.
    Full,
}

impl SessionQueues {
    /// Whether a turn of the session runs, and how many messages wait.
    pub(crate) fn load(&self, session: &str) -> (bool, usize) {
        self.0.lock().get(session).map_or((false, 0), |queue| (true, queue.waiting.len() + queue.steered.len()))
    }

    /// Appends a message to the queue of its session, or gives it to the running turn where it `steers` and one runs.
    pub(crate) fn push(&self, session: &str, task: Task, steers: bool, bound: usize) -> Enqueued {
        let mut queues = self.0.lock();
        let Some(queue) = queues.get_mut(session) else {
            queues.insert(
                session.to_owned(),
                SessionQueue { waiting: VecDeque::from([task]), ..SessionQueue::default() },
            );
            return Enqueued::Started;
        };
        if let Some(steering) = queue.steering.as_ref().filter(|_| steers)
            && steering.push(task.said.clone()).is_ok()
        {
            queue.steered.push(task);
            return Enqueued::Steered;
        }
        if queue.waiting.len() >= bound {
            return Enqueued::Full;
        }
        queue.insert(task);
        Enqueued::Waiting
    }

    /// Puts a message back whose turn cannot begin yet.
    pub(crate) fn put_back(&self, session: &str, task: Task) {
        if let Some(queue) = self.0.lock().get_mut(session) {
            queue.insert(task);
        }
    }

    /// Lets the running turn be stopped from now on.
    pub(crate) fn enable_stop(&self, session: &str, stop: watch::Sender<bool>) {
        if let Some(queue) = self.0.lock().get_mut(session) {
            queue.stop = Some(stop);
        }
    }

    /// Stops the running turn. Returns whether one runs.
    pub(crate) fn stop(&self, session: &str) -> bool {
        let queues = self.0.lock();
        let stop = queues.get(session).and_then(|queue| queue.stop.as_ref());
        stop.is_some_and(|stop| {
            stop.send_replace(true);
            true
        })
    }

    /// The sessions whose turns run.
    pub(crate) fn running(&self) -> Vec<String> {
        let queues = self.0.lock();
        queues.iter().filter(|(_, queue)| queue.stop.is_some()).map(|(session, _)| session.clone()).collect()
    }

    /// The next message of the session. `None`: the queue was empty and is removed.
    pub(crate) fn pop(&self, session: &str) -> Option<Task> {
        let mut queues = self.0.lock();
        let next = queues.get_mut(session)?.waiting.pop_front();
        if next.is_none() {
            queues.remove(session);
        }
        next
    }

    /// Lets messages steer the running turn from now on.
    pub(crate) fn enable_steering(&self, session: &str, steering: Steering) {
        if let Some(queue) = self.0.lock().get_mut(session) {
            queue.steering = Some(steering);
        }
    }

    /// Ends the steering of a turn and returns the messages that it read. Those that it did not read go to the front of
    /// the queue.
    pub(crate) fn end_steering(&self, session: &str) -> Vec<Task> {
        let mut queues = self.0.lock();
        let Some(queue) = queues.get_mut(session) else { return Vec::new() };
        queue.stop = None;
        let mut read = std::mem::take(&mut queue.steered);
        let unread = queue.steering.take().map_or(0, |steering| steering.take().len());
        // A turn reads its steering in order.
        let unread = read.split_off(read.len().saturating_sub(unread));
        unread.into_iter().rev().for_each(|task| queue.waiting.push_front(task));
        read
    }
}
