//! A message on its way through the gateway, and whoever waits for what comes of it.

use super::Answer;
use super::quota::{Counted, Exceeded};
use super::records::Number;
use bub_config::Commands;
use bub_runtime::turn::{AttributedMessage, Cancel, Identity, Listener};
use bub_tape::Draft;
use bub_types::{Envelope, Principal};
use std::sync::Arc;
use tokio::sync::watch;

/// A message for the gateway.
pub struct Letter {
    /// The message. Where it has an id, a message that comes twice is one turn.
    pub message: Envelope,
    /// Who says it, where the channel's configuration does not know better.
    pub speaker: Option<Identity>,
    /// Who hears the turn as it goes.
    pub listener: Option<Listener>,
    /// What the session's id has to begin with.
    pub reach: String,
    /// Ends the turn when whoever wanted it leaves.
    pub leave: Option<Cancel>,
    /// What was said before, where the session is one of which nothing is kept.
    pub earlier: Vec<Draft>,
    /// Returned to its owner once the message has had its turn.
    pub lease: Option<Lease>,
    /// Whose quotas it counts for; none: it counts for none.
    pub counted: Option<Counted>,
}

/// What a message holds until it has had its turn, such as its part of a budget: dropped then.
pub type Lease = Box<dyn std::any::Any + Send + Sync>;

/// Why a message was not taken.
#[derive(Debug)]
pub enum Refusal {
    /// Too many wait. Trying again later helps.
    Busy,
    /// The program ends.
    Stopping,
    /// The message belongs to a session that whoever says it does not reach.
    Elsewhere,
    /// Another message was taken under this id.
    Other,
    /// Whoever says it has used up a quota.
    Quota(Exceeded),
    /// It could not be written down.
    Records(anyhow::Error),
}

/// What will come of a message.
#[derive(Clone)]
pub struct Reply(watch::Receiver<Option<Arc<Answer>>>);

impl Reply {
    /// What has come of it already.
    pub(super) fn known(answer: Answer) -> Self {
        Self(watch::channel(Some(Arc::new(answer))).1)
    }

    /// Waits for the turn's end. None: the program ends before the turn does.
    pub async fn answer(mut self) -> Option<Arc<Answer>> {
        let told = self.0.wait_for(Option::is_some).await.ok()?;
        told.clone()
    }
}

/// Tells whoever waits.
pub(super) struct Teller(watch::Sender<Option<Arc<Answer>>>);

impl Teller {
    pub fn new() -> (Self, Reply) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), Reply(receiver))
    }

    pub fn tell(&self, answer: &Arc<Answer>) {
        // Nobody may have waited.
        let _ = self.0.send(Some(Arc::clone(answer)));
    }
}

/// A message that waits for its turn.
pub(super) struct Task {
    /// As it stands in the records; several that are one turn, in their order; none that its channel does not know again.
    pub numbers: Vec<Number>,
    pub said: AttributedMessage,
    pub listener: Option<Listener>,
    pub leave: Option<Cancel>,
    /// What the session's id has to begin with.
    pub reach: String,
    /// What was said before, where the session is one of which nothing is kept.
    pub earlier: Vec<Draft>,
    pub teller: Teller,
    /// What each of its messages holds until the turn has ended.
    pub leases: Vec<Lease>,
    /// Whose quotas it counts for.
    pub counted: Option<Counted>,
    /// A process that is gone had begun its turn: when the message was taken.
    pub since: Option<String>,
}

impl Task {
    /// A message that stands in the records, and what will come of it. Nobody attends its turn.
    pub fn recorded(number: Number, said: AttributedMessage) -> (Self, Reply) {
        let (teller, reply) = Teller::new();
        let task = Self {
            numbers: vec![number],
            said,
            listener: None,
            leave: None,
            reach: String::new(),
            earlier: Vec::new(),
            teller,
            leases: Vec::new(),
            counted: None,
            since: None,
        };
        (task, reply)
    }

    /// Makes one message of two of the same chat, as somebody who has not finished speaking says them.
    pub fn joins(&mut self, later: Self) {
        let before = std::mem::replace(self, later);
        let message = &mut self.said.message;
        // Several people have said it: none of them lends the others what they may do.
        if before.said.message.sender != message.sender {
            message.sender = None;
            message.context.retain(|(key, _)| key != "sender_id");
        }
        if before.said.speaker != self.said.speaker {
            let session_prefix = message.session_id.clone().unwrap_or_default();
            let (principal, commands) = (Principal::Anonymous, Commands::None);
            self.said.speaker = Some(Identity { principal, commands, session_prefix });
        }
        message.content = format!("{}\n{}", before.said.message.content, message.content);
        message.passages.splice(0..0, before.said.message.passages);
        message.media.splice(0..0, before.said.message.media);
        self.numbers.splice(0..0, before.numbers);
        self.leases.extend(before.leases);
        self.since = before.since.or(self.since.take());
    }
}
