//! Merges several messages of a chat into one turn: the turn starts when the chat pauses. A message that is not addressed
//! to the agent counts only in a chat that has addressed it recently, and waits longer.

use super::Gateway;
use super::TurnOutcome;
use super::inbox_db::{Accepted, NewMessage};
use super::task::Task;
use anyhow::Result;
use bub_runtime::hooks::Arrival;
use bub_tape::failpoint;
use bub_types::MessageKind;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The defaults, which are those of Bub.
const ACTIVE_DELAY: Duration = Duration::from_secs(1);
const PASSIVE_DELAY: Duration = Duration::from_secs(10);
const ACTIVE_WINDOW: Duration = Duration::from_secs(60);

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
struct Delays {
    /// After a message that is addressed to the agent.
    active: Duration,
    /// After one that is not.
    passive: Duration,
    /// How long after a message to the agent the others count.
    window: Duration,
}

/// What to do with a message from a channel.
enum DebounceDecision {
    /// It starts a turn now.
    Run(Task),
    /// It was merged into a waiting message, whose task runs already.
    Merged,
    /// It waits for others: the caller has to start a task that runs it.
    Wait,
    /// The agent was not addressed.
    Ignore(Task),
}

impl Gateway {
    /// Accepts the messages of a channel in order, and stores its new cursor with them.
    ///
    /// Cancel safe: messages that are stored are processed even if the caller drops the future.
    pub(super) async fn receive_arrivals(
        self: &Arc<Self>,
        arrivals: Vec<Arrival>,
        cursor: Option<(String, String)>,
    ) -> Result<()> {
        if arrivals.is_empty() && cursor.is_none() {
            return Ok(());
        }
        self.message_tasks.spawn(Arc::clone(self).accept_arrivals(arrivals, cursor)).await?
    }

    async fn accept_arrivals(self: Arc<Self>, arrivals: Vec<Arrival>, cursor: Option<(String, String)>) -> Result<()> {
        let new = |Arrival { message, active }| NewMessage { message, identity: None, is_active: active };
        let messages: Vec<NewMessage> = arrivals.into_iter().map(new).collect();
        let accepted = self.inbox_db.accept(messages.clone(), cursor).await?;
        failpoint::point("gateway.taken");
        for (NewMessage { message, is_active, .. }, accepted) in messages.into_iter().zip(accepted) {
            let Accepted::New(number) = accepted else {
                tracing::debug!("a duplicate message on channel `{}` is ignored", message.channel);
                continue;
            };
            let (task, reply) = Task::from_stored(number, message.into());
            self.pending_replies.lock().insert(number, reply);
            self.debounce(task, is_active).await;
        }
        Ok(())
    }

    /// Queues a message, or lets it wait for others where its channel is debounced.
    pub(super) async fn debounce(self: &Arc<Self>, task: Task, is_active: bool) {
        let delays = self.delays(&task.said.message.channel);
        let session = task.said.message.session_id.clone().unwrap_or_default();
        match self.debounce.decide(&session, task, is_active, delays) {
            DebounceDecision::Run(task) => self.admit_stored(task).await,
            DebounceDecision::Merged => {}
            DebounceDecision::Wait => {
                drop(self.message_tasks.spawn(Arc::clone(self).run_when_due(session)));
            }
            DebounceDecision::Ignore(task) => {
                let outcome = TurnOutcome::silent(session);
                self.finish(vec![task], outcome, Vec::new()).await;
            }
        }
    }

    async fn run_when_due(self: Arc<Self>, session: String) {
        while let Some(due) = self.debounce.due(&session) {
            sleep_until(due).await;
            if let Some(task) = self.debounce.take_due(&session) {
                return self.admit_stored(task).await;
            }
        }
    }

    async fn admit_stored(self: &Arc<Self>, task: Task) {
        let channel = task.said.message.channel.clone();
        if let Err(refusal) = self.admit(task).await {
            // It stays in the inbox database for the next process.
            tracing::error!("a message on channel `{channel}` waits for the next start: {refusal:?}");
        }
    }

    fn delays(&self, channel: &str) -> Delays {
        let host = self.host();
        let (settings, unset) = (host.config.channel(channel), host.config.debounce_defaults);
        let given = |seconds: Option<f64>, otherwise: Duration| {
            seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(otherwise)
        };
        let is_debounced = self.channels.get(channel).is_some_and(|channel| channel.needs_debounce);
        let delay = |set: Option<f64>, unset: Duration| given(set, if is_debounced { unset } else { Duration::ZERO });
        Delays {
            active: delay(settings.debounce_seconds, given(unset.debounce_seconds, ACTIVE_DELAY)),
            passive: delay(settings.max_wait_seconds, given(unset.max_wait_seconds, PASSIVE_DELAY)),
            window: given(settings.active_time_window, given(unset.active_time_window, ACTIVE_WINDOW)),
        }
    }
}

impl Debounce {
    /// The number of chats with a waiting message.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().values().filter(|chat| chat.waiting.is_some()).count()
    }

    fn decide(&self, session: &str, task: Task, is_active: bool, delays: Delays) -> DebounceDecision {
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

    fn due(&self, session: &str) -> Option<Instant> {
        self.0.lock().get(session).filter(|chat| chat.waiting.is_some()).and_then(|chat| chat.due)
    }

    /// The waiting message of a chat, if it is due.
    fn take_due(&self, session: &str) -> Option<Task> {
        let mut chats = self.0.lock();
        let chat = chats.get_mut(session).filter(|chat| chat.due.is_some_and(|due| due <= Instant::now()))?;
        chat.due = None;
        chat.waiting.take()
    }
}
