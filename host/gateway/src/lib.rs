//! Turns messages into turns and delivers their answers: one turn at a time per session, many sessions concurrently.
//!
//! A message with an id is written to the inbox database before its channel is told that it was accepted, and the answers
//! of a turn before that turn counts as done. A process that crashes loses neither: the next one continues with both.

#![warn(missing_docs, unreachable_pub)]

mod arrivals;
mod channels;
mod charging;
mod chat_approvals;
mod cluster;
mod debounce;
mod delivery;
mod event_log;
mod follow;
mod gateway;
mod gc;
mod inbox;
mod kept_words;
mod live_preview;
mod local_inbox;
mod lock;
mod neighbours;
mod outbox;
mod outcome;
mod polling;
mod quota;
mod recovery;
mod run;
mod session_queues;
mod shared_inbox;
mod start;
mod submit;
mod task;
mod turn_feed;
mod turn_limiter;
mod webhooks;

pub use cluster::ClusterStatus;
pub use event_log::{Batch, EventReader, LoggedEvent};
pub use follow::{StreamBatch, StreamPosition, TurnFollower};
pub use gateway::{Gateway, RunningTurn};
pub use kept_words::{KeptRow, KeptWords, Whose};
pub use lock::is_served;
pub use outcome::TurnOutcome;
pub use quota::{QuotaAccount, QuotaExceeded};
pub use run::HTTP;
pub use shared_inbox::ElsewhereTurn;
pub use task::{Lease, Refusal, Reply, Submission};
pub use turn_feed::{Stage, StreamItem};
pub use webhooks::WebhookError;
