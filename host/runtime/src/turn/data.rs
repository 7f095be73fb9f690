//! The data of a turn, without the stages that drive it. Each concern has a module of its own: its data, and the methods
//! of [`Turn`] that work on it.

use super::audit::Audit;
use super::choice::SelectorChoice;
use super::memory_charges::MemoryCharges;
use super::message_cache::Sent;
use super::named::Flows;
use super::options::TurnOptions;
use super::outside::Outside;
use super::program_proxies::ProgramProxies;
use super::prompt_cache::{PromptCache, RenderCache};
use super::scope::CallScope;
use super::trail::Trail;
use super::undoing::WorkspaceBefore;
use crate::guest::InstancePool;
use crate::plugin::Caller;
use bub_tape::Tape;
use bub_types::{Envelope, MessageKind, Principal};
use jiff::Zoned;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// One inbound envelope on its way through the pipeline. Guests hold handles to it until the turn ends.
pub struct Turn {
    /// The host and the plugins that the turn began with.
    pub scope: Arc<CallScope>,
    /// Its id, unique in this process.
    pub id: Arc<str>,
    /// The session that the turn belongs to.
    pub session_id: String,
    /// The workspace's absolute path.
    pub workspace: PathBuf,
    /// The inbound message.
    pub message: Arc<Envelope>,
    /// When the turn began.
    pub started: Zoned,
    /// Fuel used by all calls of the turn.
    pub fuel: AtomicU64,
    pub(super) tape: Tape,
    /// Texts that the owner has had erased during the turn: entries of the turn with one of them are erased when it
    /// ends.
    pub(super) forgets: Mutex<Vec<String>>,
    /// Replaces the workspace's tape where the turn must not write to it.
    pub(super) shared: Option<Tape>,
    /// Whether the turn is a preview: its faults are not counted.
    pub(super) is_preview: bool,
    /// Whether the tape is known to have an anchor.
    pub(super) tape_opened: tokio::sync::OnceCell<bool>,
    /// Memory that guests make the turn hold.
    pub(super) memory_charges: Mutex<MemoryCharges>,
    /// The tasks that work for the turn: tools and model calls.
    pub(super) tasks: TaskTracker,
    /// The last id on the tape when the turn began.
    pub(super) first: u64,
    pub(super) progress: Mutex<Progress>,
    pub(super) deadline: Instant,
    pub(super) options: TurnOptions,
    /// Steering messages so far, as prompts.
    pub(super) steered: Mutex<Vec<String>>,
    pub(super) principal: Principal,
    /// The caller that caused the turn.
    pub(super) caller: Caller,
    /// The tools that the turn may use; none: all.
    pub(super) allowed_tools: Option<BTreeSet<String>>,
    /// The turn that this one is nested in.
    pub(super) parent: Option<Arc<Self>>,
    /// Whether a nested turn has written to its tape.
    pub(super) is_shared: AtomicBool,
    /// Limits concurrent nested turns.
    pub(super) inner: Semaphore,
    /// The selector that the session, the channel or the configuration chooses, if one does.
    pub(super) selector: tokio::sync::OnceCell<Option<SelectorChoice>>,
    /// Whether the active selector has failed: the default one replaces it for the rest of the turn.
    pub(super) fell_back: AtomicBool,
    /// The plugins that selected for its model calls.
    pub(super) selected: Mutex<BTreeSet<String>>,
    /// The token calibration of each model, fixed at its first use in the turn.
    pub(super) calibrations: Mutex<BTreeMap<String, bub_estimate::Ratio>>,
    /// Counts changes that can affect the answers of hooks.
    pub(super) changes: AtomicU64,
    /// Entries below this id are tainted by phases that ended before the turn; 0: none are.
    pub(super) tainted_before: AtomicU64,
    pub(super) prompt_cache: Mutex<Option<PromptCache>>,
    pub(super) render_cache: Mutex<RenderCache>,
    pub(super) sent: Mutex<Sent>,
    /// Commands that may run outside of the sandbox.
    pub(super) outside: Mutex<Outside>,
    /// The texts that were read and the addresses that were named, in this turn and in nested ones.
    pub(super) flows: Arc<Mutex<Flows>>,
    /// The workspace as it was before the turn changed it; only of the outermost turn.
    pub(super) workspace_before: tokio::sync::Mutex<WorkspaceBefore>,
    /// The making of its requests, where it is kept.
    pub(super) trail: Mutex<Trail>,
    /// The proxies of its programs.
    pub(super) program_proxies: ProgramProxies,
    /// Instances that the next call of the turn can reuse.
    pub idle: InstancePool,
}

/// The state that changes while the turn runs.
pub(super) struct Progress {
    pub(super) kind: MessageKind,
    /// How often kind, state and prompt have changed.
    pub(super) changes: u64,
    pub(super) state: Arc<Map<String, Value>>,
    pub(super) prompt: Option<Arc<str>>,
    pub(super) run_ids: Vec<String>,
    /// The prefix of all session ids that every sender in the turn can reach.
    pub(super) session_prefix: String,
    pub(super) streamed: StreamedOutput,
    /// Why the latest model call of the agent loop ended.
    pub(super) finish_reason: Option<String>,
    /// Whether the turn's writes are on the tape.
    pub(super) settled: bool,
    /// Events about the turn for the tape, outside of the conversation.
    pub(super) audit: Audit,
}

/// The output of the latest model hook so far.
#[derive(Default)]
pub(super) struct StreamedOutput {
    pub(super) plugin: Option<String>,
    pub(super) text: String,
    pub(super) events: u64,
}

impl Turn {
    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// Accesses the turn's audit record.
    pub(super) fn audit<T>(&self, change: impl FnOnce(&mut Audit) -> T) -> T {
        change(&mut self.progress().audit)
    }

    /// The principal that caused the turn, fixed by the host.
    pub fn principal(&self) -> Principal {
        self.principal
    }

    /// Whether the turn is a preview.
    pub fn is_preview(&self) -> bool {
        self.is_preview
    }

    /// The prefix of all session ids that the turn can reach; empty: all sessions.
    pub fn session_prefix(&self) -> String {
        self.progress().session_prefix.clone()
    }
}
