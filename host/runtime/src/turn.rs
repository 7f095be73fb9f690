//! Turns: the stages from an inbound envelope to delivery (`pipeline`), the data of a turn (`data`, one module for each
//! concern), how it begins and ends, turns inside turns, previews and replays.

mod after_answer;
mod approval;
mod audit;
mod auditing;
mod begin;
mod caching;
mod charging;
mod choice;
mod data;
mod deciding;
mod decision;
mod denial;
mod denying;
mod direct;
mod events;
mod finalize;
mod flows;
mod lifetime;
mod lookups;
mod memory_charges;
mod message_cache;
mod named;
mod options;
mod outside;
mod pipeline;
mod preview;
mod program_proxies;
mod progress;
mod prompt_cache;
mod receipts;
mod recording;
mod replay;
mod scope;
mod selection_report;
mod selector;
mod spans;
mod steering;
mod subturn;
mod taint;
mod tainting;
mod tapes;
mod tools;
mod trail;
mod trailing;
mod undo_command;
mod undoing;

pub use begin::principal;
pub use choice::SelectorChoice;
pub use data::Turn;
pub use decision::{DECIDED, Decision, OwnersWord};
pub use denial::{DENIED, Denial, DenialReason};
pub use direct::{DirectFuture, DirectStage, run_direct};
pub use lookups::lookups;
pub use message_cache::Message;
pub use options::{
    ApprovalRules, AttributedMessage, CallObserver, Cancel, Identity, Listener, Permit, Steering, TurnEvent,
    TurnOptions,
};
pub use outside::{OUTSIDE, OutsidePermit, asks_outside};
pub use pipeline::{TurnResult, resolve_session, run_turn};
pub use preview::{Preview, Requester};
pub use program_proxies::ProgramProxy;
pub use prompt_cache::{SystemPrompt, WrittenPart};
pub use replay::TurnSnapshot;
pub use scope::CallScope;
pub use selection_report::SelectionReport;
pub use subturn::Inner;
pub use taint::{TAINTED, TaintOrigin, TaintSource};
pub(crate) use tainting::TAINTED_MARK;
pub use tainting::session_taint;
pub use tools::TurnTools;
pub use trail::{Making, TrailCall, TrailContext, TrailFacts, TrailMessage, by_entry};
pub use trailing::{TRAILS, by_plugin};
pub use undo_command::{UndoCommand, undone_event};
pub use undoing::undo;
