//! State of one process that all its turns share.

mod approvals;
mod budget;
mod chain;
mod data;
mod event_bus;
mod gc;
pub mod grant_edit;
pub mod introspection;
mod post_turn_tasks;
mod protection;
mod rule_book;
mod sandboxes;
mod sessions;
mod start;
mod tapes;
mod watch;

pub(crate) use approvals::ApprovalKey;
pub use approvals::Approvals;
pub use budget::{Allowance, Budget, Demand, Usage};
pub use chain::{HeadDelivery, chained, witness_list};
pub use data::Host;
pub use event_bus::{Counters, EventBus, EventRecord, RuntimeEvent, Subscriber};
pub use gc::{Compacted, compact_memories, cutoff, garbage};
pub use post_turn_tasks::PostTurnTasks;
pub use protection::ProtectionCache;
pub use rule_book::RuleBook;
pub use sandboxes::{Confined, Sandboxes, Unreached, runs_later};
pub use sessions::{ListedSession, newest_sessions};
pub use start::StartOptions;
pub use watch::Watch;
