//! Turns messages into turns and delivers their answers: one turn at a time per session, many sessions concurrently.
//!
//! A message with an id is written to the inbox database before its channel is told that it was accepted, and the answers
//! of a turn before that turn counts as done. A process that crashes loses neither: the next one continues with both.

#![warn(missing_docs, unreachable_pub)]

mod arrivals;
mod channels;
mod charging;
mod debounce;
mod delivery;
mod gateway;
mod gc;
mod inbox_db;
mod live_preview;
mod lock;
mod outbox;
mod outcome;
mod polling;
mod quota;
mod recovery;
mod run;
mod session_queues;
mod sessions;
mod start;
mod submit;
mod task;
mod turn_limiter;
mod webhooks;

pub use gateway::Gateway;
pub use outcome::TurnOutcome;
pub use quota::{QuotaAccount, QuotaExceeded};
pub use run::HTTP;
pub use task::{Lease, Refusal, Reply, Submission};
pub use webhooks::WebhookError;
