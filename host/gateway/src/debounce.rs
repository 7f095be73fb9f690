//! Merges several messages of a chat into one turn: the turn starts when the chat pauses. A message that is not addressed
//! to the agent counts only in a chat that has addressed it recently, and waits longer.

use super::task::Task;
use bub_types::MessageKind;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// Chats without a waiting message that are remembered.
const MAX_IDLE_CHATS: usize = 4096;

/// Chats with a waiting message, or that have addressed the agent recently, by session.
#[derive(Default)]
pub(crate) struct Debounce(Mutex<HashMap<String, Chat>>);

#[derive(Default)]
struct Chat {
    waiting: Option<Task>,
    /// When the waiting message becomes a turn.
    due: Option<Instant>,
    /// When the agent was last addressed.
    addressed: Option<Instant>,
}

/// The delays of a channel.
#[derive(Clone, Copy)]
pub(crate) struct Delays {
    /// After a message that is addressed to the agent.
    pub(crate) active: Duration,
    /// After one that is not.
    pub(crate) passive: Duration,
    /// How long after a message to the agent the others count.
    pub(crate) window: Duration,
}

/// The decision about a message from a channel.
pub(crate) enum DebounceDecision {
    /// It starts a turn now.
    Run(Task),
    /// It was merged into a waiting message, whose task runs already.
    Merged,
    /// It waits for others: the caller has to start a task that runs it.
    Wait,
    /// The agent was not addressed.
    Ignore(Task),
}

impl Debounce {
    /// The number of chats with a waiting message.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().values().filter(|chat| chat.waiting.is_some()).count()
    }

    pub(crate) fn decide(&self, session: &str, task: Task, is_active: bool, delays: Delays) -> DebounceDecision {
        // A command is a single message.
        if task.said.message.kind == MessageKind::Command {
            return DebounceDecision::Run(task);
        }
        let now = Instant::now();
        let is_recent = |chat: &Chat| chat.addressed.is_some_and(|addressed| addressed + delays.window >= now);
        let mut chats = self.0.lock();
        if chats.len() > MAX_IDLE_CHATS {
            chats.retain(|_, chat| chat.waiting.is_some() || is_recent(chat));
        }
        let chat = chats.entry(session.to_owned()).or_default();
        if is_active {
            chat.addressed = Some(now);
        } else if !is_recent(chat) {
            return DebounceDecision::Ignore(task);
        }
        let due = now + if is_active { delays.active } else { delays.passive };
        if chat.waiting.is_none() && due == now {
            return DebounceDecision::Run(task);
        }
        match &mut chat.waiting {
            Some(waiting) => {
                waiting.merge(task);
                // Only a message to the agent extends the wait.
                if is_active {
                    chat.due = Some(due);
                }
                DebounceDecision::Merged
            }
            None => {
                chat.waiting = Some(task);
                chat.due = Some(due);
                DebounceDecision::Wait
            }
        }
    }

    pub(crate) fn due(&self, session: &str) -> Option<Instant> {
        self.0.lock().get(session).filter(|chat| chat.waiting.is_some()).and_then(|chat| chat.due)
    }

    /// The waiting message of a chat, if it is due.
    pub(crate) fn take_due(&self, session: &str) -> Option<Task> {
        let mut chats = self.0.lock();
        let chat = chats.get_mut(session).filter(|chat| chat.due.is_some_and(|due| due <= Instant::now()))?;
        chat.due = None;
        chat.waiting.take()
    }
}
