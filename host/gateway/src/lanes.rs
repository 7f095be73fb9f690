//! Who runs and who waits, by session.

use super::task::Task;
use bub_runtime::turn::Steering;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All sessions that have something to do.
#[derive(Default)]
pub(super) struct Lanes(Mutex<HashMap<String, Lane>>);

/// What one session has to do. It is there for as long as somebody works through it.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<Task>,
    /// Of the turn that runs, while it can be steered.
    steering: Option<Steering>,
    /// What was said to the turn that runs, in the order of `steering`.
    steered: Vec<Task>,
}

/// What became of a message that was put in a lane.
pub(super) enum Put {
    /// Somebody works through the lane already.
    Waits,
    /// Whoever put it there works through the lane.
    Begins,
    /// The lane takes no more.
    Full,
}

impl Lanes {
    /// Whether a turn of the session runs, and how many messages wait.
    pub fn load(&self, session: &str) -> (bool, usize) {
        self.lanes().get(session).map_or((false, 0), |lane| (true, lane.waiting.len() + lane.steered.len()))
    }

    /// Puts a message behind the others of its session, or into the turn that runs where it `steers` and one does.
    pub fn put(&self, session: &str, task: Task, steers: bool, bound: usize) -> Put {
        let mut lanes = self.lanes();
        let Some(lane) = lanes.get_mut(session) else {
            lanes.insert(session.to_owned(), Lane { waiting: VecDeque::from([task]), ..Lane::default() });
            return Put::Begins;
        };
        if let Some(steering) = lane.steering.as_ref().filter(|_| steers)
            && steering.push(task.said.clone()).is_ok()
        {
            lane.steered.push(task);
            return Put::Waits;
        }
        if lane.waiting.len() >= bound {
            return Put::Full;
        }
        lane.waiting.push_back(task);
        Put::Waits
    }

    /// The next message of the session; none, and then the lane is gone.
    pub fn next(&self, session: &str) -> Option<Task> {
        let mut lanes = self.lanes();
        let next = lanes.get_mut(session)?.waiting.pop_front();
        if next.is_none() {
            lanes.remove(session);
        }
        next
    }

    /// From here on the turn that runs can be steered.
    pub fn steers(&self, session: &str, steering: Steering) {
        if let Some(lane) = self.lanes().get_mut(session) {
            lane.steering = Some(steering);
        }
    }

    /// The turn has ended. What was said to it and heard by it; what it did not hear waits, in front of the others.
    pub fn ends(&self, session: &str) -> Vec<Task> {
        let mut lanes = self.lanes();
        let Some(lane) = lanes.get_mut(session) else { return Vec::new() };
        let mut heard = std::mem::take(&mut lane.steered);
        let unheard = lane.steering.take().map_or(0, |steering| steering.take().len());
        // A turn takes what is said to it in its order.
        let unheard = heard.split_off(heard.len().saturating_sub(unheard));
        unheard.into_iter().rev().for_each(|task| lane.waiting.push_front(task));
        heard
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<String, Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
