//! Messages become turns, and turns' answers reach their channels: one turn at a time a session, many sessions at once.
//!
//! A message that its channel knows by an id is written down before the channel hears that it was taken, and what is to be
//! delivered of its turn before that turn counts as ended. So a process that dies loses neither: the next one goes on where
//! it stopped.

mod answer;
mod channels;
mod debounce;
mod draft;
mod evidence;
mod lanes;
mod lock;
mod places;
mod post;
mod quota;
mod records;
mod run;
mod sessions;
mod start;
mod task;
mod tidy;

use bub_runtime::hooks;
use bub_runtime::hooks::Admission;
use bub_runtime::host::{Host, RuntimeEvent};
use bub_runtime::turn::{AttributedMessage, CallScope, EPHEMERAL_PREFIX};
use bub_types::MessageKind;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::watch;

pub use answer::Answer;
use channels::Channels;
pub use channels::Unreceived;
use debounce::Debounce;
use lanes::{Lanes, Put};
use lock::ServeLock;
use places::Places;
use post::Post;
use quota::RecordCounts;
pub use quota::{Counted, Exceeded};
use records::{Arriving, Number, Records, Taken};
pub use run::HTTP;
use sessions::Sessions;
pub use task::{Lease, Letter, Refusal, Reply};
use task::{Task, Teller};

/// How long a channel is left alone that fails, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// The gateway of one home.
pub struct Gateway {
    /// Of this moment: a turn, a poll or a delivery takes it once, where it begins.
    host: RwLock<Arc<Host>>,
    records: Records,
    sessions: Sessions,
    lanes: Lanes,
    post: Post,
    record_counts: RecordCounts,
    channels: Channels,
    debounce: Debounce,
    /// Messages with an id whose turns have not ended: for whoever delivers one again meanwhile.
    open: Mutex<HashMap<Number, Reply>>,
    /// Turns that may run at once.
    places: Places,
    /// Messages that wait for their turns.
    waiting: AtomicUsize,
    stopping: watch::Sender<bool>,
    _lock: ServeLock,
}

impl Gateway {
    /// Takes a message, whose turn begins when its session is free.
    ///
    /// # Errors
    ///
    /// Why it was not taken: then nothing of it is kept.
    pub async fn take(self: &Arc<Self>, letter: Letter) -> Result<Reply, Refusal> {
        if letter.message.id.is_none() {
            return Arc::clone(self).taken(letter).await;
        }
        // Once it is written down it has its turn, also when whoever brought it has left by then.
        let taken = tokio::spawn(Arc::clone(self).taken(letter)).await;
        taken.unwrap_or_else(|error| Err(Refusal::Records(error.into())))
    }

    async fn taken(self: Arc<Self>, letter: Letter) -> Result<Reply, Refusal> {
        self.check_open()?;
        let Letter { message, speaker, listener, reach, leave, earlier, lease, counted } = letter;
        // Before anything is written down: a key that is refused today can be used again tomorrow.
        if let (Some(counted), Some(session)) = (&counted, message.session_id.as_deref())
            && !session.starts_with(EPHEMERAL_PREFIX)
        {
            self.count(session, counted, &message).await.map_err(Refusal::Quota)?;
        }
        let said = AttributedMessage { message, speaker: speaker.clone() };
        let (teller, reply) = Teller::new();
        let leases = lease.into_iter().collect();
        let mut task =
            Task { numbers: Vec::new(), said, listener, leave, reach, earlier, teller, leases, counted, since: None };
        if task.said.message.id.is_some() {
            let arriving = Arriving { message: task.said.message.clone(), speaker, is_active: true };
            let taken = self.records.take(vec![arriving], None).await.map_err(Refusal::Records)?.pop();
            match taken {
                Some(Taken::New(number)) => {
                    task.numbers.push(number);
                    self.open().insert(number, reply.clone());
                }
                Some(Taken::Open(number)) => return self.open().get(&number).cloned().ok_or(Refusal::Busy),
                Some(Taken::Done(answer)) => return answer.map(Reply::known).ok_or(Refusal::Other),
                Some(Taken::Other) | None => return Err(Refusal::Other),
            }
        }
        self.admit(task).await?;
        Ok(reply)
    }

    /// Whether messages are taken at this moment: asked before a body is read, and again when a message is handed over.
    ///
    /// # Errors
    ///
    /// Why none is.
    pub fn check_open(&self) -> Result<(), Refusal> {
        if self.is_stopping() {
            return Err(Refusal::Stopping);
        }
        if self.waiting.load(Ordering::Relaxed) >= self.host().config.serve.max_waiting {
            return Err(Refusal::Busy);
        }
        Ok(())
    }

    /// Turns that run now, and messages that wait for theirs.
    pub fn load(&self) -> (usize, usize) {
        let waiting = self.waiting.load(Ordering::Relaxed) + self.debounce.len();
        (self.places.taken(), waiting)
    }

    /// Answers that wait for their channels.
    pub fn undelivered(&self) -> usize {
        self.post.len()
    }

    /// The host that turns run in which begin now.
    pub fn host(&self) -> Arc<Host> {
        self.host.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets that host have the turns, polls and deliveries that begin from here on. Turns that run end with the one that
    /// they began with; polls begin anew, because they may wait for hours.
    pub async fn renew(self: &Arc<Self>, host: Arc<Host>) {
        self.places.resize(host.config.serve.max_turns);
        *self.host.write().unwrap_or_else(PoisonError::into_inner) = host;
        self.find_again().await;
    }

    /// Whether nothing new is taken any more.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Finds the message's session, asks the plugins what is to be done with it, and puts it there.
    async fn admit(self: &Arc<Self>, mut task: Task) -> Result<(), Refusal> {
        let host = self.host();
        let calls = CallScope::spoken_by(&host, task.said.speaker.clone());
        let message = &mut task.said.message;
        let session = match bub_runtime::turn::resolve_session(&calls, message).await {
            Ok(session) => session,
            Err(failure) => {
                hooks::notify_observers(&calls, None, "resolve_session", &failure.to_error(), Some(message)).await;
                let answer = Answer::failed(message.session_id.clone().unwrap_or_default(), &failure);
                self.end(vec![task], answer, Vec::new()).await;
                return Ok(());
            }
        };
        // A plugin may have moved the message; what the token says stands above it.
        if !session.starts_with(&task.reach) {
            self.end(vec![task], Answer::silent(session), Vec::new()).await;
            return Err(Refusal::Elsewhere);
        }
        message.session_id = Some(session.clone());
        self.remember(&session).await;
        let taken = RuntimeEvent::Taken { channel: message.channel.clone() };
        let load = self.lanes.load(&session);
        let admission = match message.kind {
            // A command is a turn of its own, and no part of a conversation.
            MessageKind::Command => None,
            _ => hooks::admit_message(&calls, message, load).await,
        };
        let bound = match task.numbers.is_empty() {
            true => host.config.serve.max_waiting_per_session,
            // It was written down, so it must not be lost.
            false => usize::MAX,
        };
        if admission == Some(Admission::Drop) {
            host.news.tell(taken, &session);
            self.end(vec![task], Answer::silent(session), Vec::new()).await;
            return Ok(());
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        match self.lanes.put(&session, task, admission == Some(Admission::Steer), bound) {
            Put::Waits => host.news.tell(taken, &session),
            Put::Begins => {
                host.news.tell(taken, &session);
                drop(tokio::spawn(Arc::clone(self).lane(session)));
            }
            Put::Full => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                return Err(Refusal::Busy);
            }
        }
        Ok(())
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<Number, Reply>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
