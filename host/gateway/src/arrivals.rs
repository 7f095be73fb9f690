//! Accepts the messages of channels: stores them, and debounces them by chat.

use super::TurnOutcome;
use super::debounce::{DebounceDecision, Delays};
use super::gateway::Gateway;
use super::inbox::{Accepted, NewMessage, ReadCursor};
use super::task::Task;
use anyhow::Result;
use bub_runtime::hooks::Arrival;
use bub_tape::failpoint;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep_until;

/// The defaults, which are those of Bub.
const ACTIVE_DELAY: Duration = Duration::from_secs(1);
const PASSIVE_DELAY: Duration = Duration::from_secs(10);
const ACTIVE_WINDOW: Duration = Duration::from_secs(60);

impl Gateway {
    /// Accepts the messages of a channel in order, and stores its new cursor with them.
    ///
    /// Cancel safe: messages that are stored are processed even if the caller drops the future.
    pub(super) async fn receive_arrivals(
        self: &Arc<Self>,
        arrivals: Vec<Arrival>,
        cursor: Option<ReadCursor>,
    ) -> Result<()> {
        if arrivals.is_empty() && cursor.is_none() {
            return Ok(());
        }
        self.message_tasks.spawn(Arc::clone(self).accept_arrivals(arrivals, cursor)).await?
    }

    async fn accept_arrivals(self: Arc<Self>, arrivals: Vec<Arrival>, cursor: Option<ReadCursor>) -> Result<()> {
        let new =
            |Arrival { message, active }| NewMessage { message, identity: None, is_active: active, session: None };
        let messages: Vec<NewMessage> = arrivals.into_iter().map(new).collect();
        let accepting = self.accepting().await;
        let accepted = self.inbox.accept(messages.clone(), cursor).await?;
        failpoint::point("gateway.taken");
        let mut tasks = Vec::new();
        for (NewMessage { message, is_active, .. }, accepted) in messages.into_iter().zip(accepted) {
            let Accepted::New { number, .. } = accepted else {
                tracing::debug!("a duplicate message on channel `{}` is ignored", message.channel);
                continue;
            };
            let (task, reply) = Task::from_stored(number, message.into());
            self.pending_replies.lock().insert(number, reply);
            tasks.push((task, is_active));
        }
        drop(accepting);
        for (task, is_active) in tasks {
            self.debounce(task, is_active).await;
        }
        Ok(())
    }

    /// Queues a message, or lets it wait for others where its channel is debounced. The owner's answer to a question is no
    /// message of the conversation.
    pub(super) async fn debounce(self: &Arc<Self>, task: Task, is_active: bool) {
        if let Some(answer) = self.approval_answer(&task) {
            return self.answer_question(task, answer).await;
        }
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
                self.finish(vec![task], outcome, Vec::new(), None).await;
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
