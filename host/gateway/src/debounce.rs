//! What people say in several messages becomes one turn: a chat is waited for until it pauses. What is not meant for the
//! agent is heard only in a chat that has just spoken to it, and waits longer.

use super::Answer;
use super::Gateway;
use super::records::{Arriving, Taken};
use super::task::Task;
use anyhow::Result;
use bub_runtime::hooks::Arrival;
use bub_tape::failpoint;
use bub_types::MessageKind;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How long a chat is waited for, unless the configuration says otherwise: Bub's own settings.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_OF_OTHERS: Duration = Duration::from_secs(10);
const WINDOW: Duration = Duration::from_secs(60);

/// Chats that are remembered without anything waiting in them.
const REMEMBERED: usize = 4096;

/// Chats in which something waits, or that have just spoken to the agent, by session.
#[derive(Default)]
pub(super) struct Debounce(Mutex<HashMap<String, Chat>>);

#[derive(Default)]
struct Chat {
    waiting: Option<Task>,
    /// When what waits becomes a turn.
    due: Option<Instant>,
    /// When somebody last spoke to the agent.
    spoken: Option<Instant>,
}

/// How long a channel's chats are waited for.
#[derive(Clone, Copy)]
struct Patience {
    pause: Duration,
    pause_of_others: Duration,
    window: Duration,
}

impl Debounce {
    fn chats(&self) -> MutexGuard<'_, HashMap<String, Chat>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Messages that wait.
    pub fn len(&self) -> usize {
        self.chats().values().filter(|chat| chat.waiting.is_some()).count()
    }
}

/// What becomes of a message from a channel.
enum Fate {
    /// It is a turn now.
    Runs(Task),
    /// It waits for others; whether somebody waits with it already.
    Waits(bool),
    /// Nobody spoke to the agent.
    Ignored(Task),
}

impl Gateway {
    /// Takes what a channel brings, in its order, and with it how far the channel was read. Whoever brings it may leave at
    /// any moment: what was written down by then is heard all the same.
    pub(super) async fn arrive(
        self: &Arc<Self>,
        arrivals: Vec<Arrival>,
        cursor: Option<(String, String)>,
    ) -> Result<()> {
        if arrivals.is_empty() && cursor.is_none() {
            return Ok(());
        }
        tokio::spawn(Arc::clone(self).hear_all(arrivals, cursor)).await?
    }

    async fn hear_all(self: Arc<Self>, arrivals: Vec<Arrival>, cursor: Option<(String, String)>) -> Result<()> {
        let arriving = |Arrival { message, active }| Arriving { message, speaker: None, is_active: active };
        let arriving: Vec<Arriving> = arrivals.into_iter().map(arriving).collect();
        let taken = self.records.take(arriving.clone(), cursor).await?;
        failpoint::point("gateway.taken");
        for (Arriving { message, is_active, .. }, taken) in arriving.into_iter().zip(taken) {
            let Taken::New(number) = taken else {
                tracing::debug!("a message on channel `{}` came twice", message.channel);
                continue;
            };
            let (task, reply) = Task::recorded(number, message.into());
            self.open().insert(number, reply);
            self.hear(task, is_active).await;
        }
        Ok(())
    }

    /// Lets a message wait for those that belong to it, where its channel's people speak so.
    pub(super) async fn hear(self: &Arc<Self>, task: Task, is_active: bool) {
        let patience = self.patience(&task.said.message.channel);
        let session = task.said.message.session_id.clone().unwrap_or_default();
        match self.debounce.hear(&session, task, is_active, patience) {
            Fate::Runs(task) => self.runs(task).await,
            Fate::Waits(true) => {}
            Fate::Waits(false) => drop(tokio::spawn(Arc::clone(self).wait_for(session))),
            Fate::Ignored(task) => {
                let answer = Answer::silent(session);
                self.end(vec![task], answer, Vec::new()).await;
            }
        }
    }

    async fn wait_for(self: Arc<Self>, session: String) {
        while let Some(due) = self.debounce.due(&session) {
            sleep_until(due).await;
            if let Some(task) = self.debounce.take(&session) {
                return self.runs(task).await;
            }
        }
    }

    async fn runs(self: &Arc<Self>, task: Task) {
        let channel = task.said.message.channel.clone();
        if let Err(refusal) = self.admit(task).await {
            // It is written down: the next process finds it.
            tracing::error!("a message on channel `{channel}` waits for the next start: {refusal:?}");
        }
    }

    fn patience(&self, channel: &str) -> Patience {
        let host = self.host();
        let (settings, unset) = (host.config.channel(channel), host.config.debounce_defaults);
        let given = |seconds: Option<f64>, otherwise: Duration| {
            seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(otherwise)
        };
        let waits = self.channels.get(channel).is_some_and(|channel| channel.needs_debounce);
        let seconds = |set: Option<f64>, unset: Duration| {
            let set = set.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            set.unwrap_or(if waits { unset } else { Duration::ZERO })
        };
        Patience {
            pause: seconds(settings.debounce_seconds, given(unset.debounce_seconds, PAUSE)),
            pause_of_others: seconds(settings.max_wait_seconds, given(unset.max_wait_seconds, PAUSE_OF_OTHERS)),
            window: given(settings.active_time_window, given(unset.active_time_window, WINDOW)),
        }
    }
}

impl Debounce {
    fn hear(&self, session: &str, task: Task, is_active: bool, patience: Patience) -> Fate {
        // A command is said in one message.
        if task.said.message.kind == MessageKind::Command {
            return Fate::Runs(task);
        }
        let now = Instant::now();
        let mut chats = self.chats();
        if chats.len() > REMEMBERED {
            chats.retain(|_, chat| {
                chat.waiting.is_some() || chat.spoken.is_some_and(|spoken| spoken + patience.window > now)
            });
        }
        let chat = chats.entry(session.to_owned()).or_default();
        if is_active {
            chat.spoken = Some(now);
        } else if chat.spoken.is_none_or(|spoken| spoken + patience.window < now) {
            return Fate::Ignored(task);
        }
        let due = now + if is_active { patience.pause } else { patience.pause_of_others };
        let is_awaited = chat.waiting.is_some();
        if !is_awaited && due == now {
            return Fate::Runs(task);
        }
        // Whoever speaks to the agent again is waited for again; what others say moves nothing.
        chat.due = Some(if is_active { due } else { chat.due.filter(|_| is_awaited).unwrap_or(due) });
        match &mut chat.waiting {
            Some(waiting) => waiting.joins(task),
            None => chat.waiting = Some(task),
        }
        Fate::Waits(is_awaited)
    }

    fn due(&self, session: &str) -> Option<Instant> {
        self.chats().get(session).filter(|chat| chat.waiting.is_some()).and_then(|chat| chat.due)
    }

    /// What waits, when its time has come.
    fn take(&self, session: &str) -> Option<Task> {
        let mut chats = self.chats();
        let chat = chats.get_mut(session).filter(|chat| chat.due.is_some_and(|due| due <= Instant::now()))?;
        chat.due = None;
        chat.waiting.take()
    }
}
