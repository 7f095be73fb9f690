//! The state of a turn in progress.

mod call_scope;
mod memory_charges;
mod prompt_cache;

use super::TurnOptions;
use super::audit::Audit;
use super::choice::SelectorChoice;
use super::flows::Flows;
use super::message_cache::Sent;
use crate::channel::shown;
use crate::error::Failure;
use crate::plugin::{Caller, InstancePool, model_name};
use bub_tape::Tape;
use bub_types::{Envelope, MessageKind, Principal, Prompt, StreamEvent, ToolCall};
use jiff::Zoned;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub use call_scope::CallScope;
use memory_charges::MemoryCharges;
pub use prompt_cache::SystemPrompt;
use prompt_cache::{PromptCache, RenderCache};

/// How long a turn that no turn may be inside of waits for its tasks at its end.
const TASK_TIMEOUT: Duration = Duration::from_secs(1);

/// One inbound envelope on its way through the pipeline. Guests hold handles to it until the turn ends.
pub struct Turn {
    /// The host and the plugins that the turn began with.
    pub scope: Arc<CallScope>,
    /// Its id, unique in this process.
    pub id: String,
    /// The session that the turn belongs to.
    pub session_id: String,
    /// The workspace's absolute path.
    pub workspace: PathBuf,
    /// The inbound message.
    pub message: Envelope,
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
    /// What was read and which addresses were named, in this turn and in nested ones.
    pub(super) flows: Arc<Mutex<Flows>>,
    /// Instances that the next call of the turn can reuse.
    pub idle: InstancePool,
}

/// What changes while the turn runs.
pub(super) struct Progress {
    pub(super) kind: MessageKind,
    pub(super) state: Map<String, Value>,
    pub(super) prompt: Option<String>,
    pub(super) run_ids: Vec<String>,
    /// The prefix of all session ids that every sender in the turn can reach.
    pub(super) session_prefix: String,
    pub(super) streamed: StreamedOutput,
    /// Whether the turn's writes are on the tape.
    pub(super) settled: bool,
    /// Events about the turn for the tape, outside of the conversation.
    pub(super) audit: Audit,
}

/// The output of the latest model hook so far.
#[derive(Default)]
pub(super) struct StreamedOutput {
    plugin: Option<String>,
    text: String,
    events: u64,
}

impl Turn {
    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// Accesses the turn's audit record.
    pub(super) fn audit<T>(&self, change: impl FnOnce(&mut Audit) -> T) -> T {
        change(&mut self.progress().audit)
    }

    /// The time until the turn's deadline.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The stage's answer, unless the turn is cancelled or its time is over first. What the stage was doing is dropped
    /// where it stands: guests' instances, their requests and their tools.
    pub(super) async fn or_cancelled<T>(&self, stage: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let ended = tokio::select! {
            biased;
            () = self.options.cancelled() => Err(Failure::Cancelled),
            answer = stage => return answer,
            () = tokio::time::sleep_until(self.deadline) => {
                Err(Failure::Deadline(self.scope.host.config.limits().turn_deadline()))
            }
        };
        self.wait_for_tasks().await;
        ended
    }

    /// Waits for the tasks that worked for the turn to be gone: they are told to stop when the stage is dropped, and must
    /// not write behind its back.
    pub(super) async fn wait_for_tasks(&self) {
        // A turn inside this one waits for its own tasks first.
        let timeout = TASK_TIMEOUT * (super::subturn::MAX_NESTED.saturating_sub(self.nesting()) as u32 + 1);
        self.tasks.close();
        // A task that ignores its end is left behind.
        let _ = tokio::time::timeout(timeout, self.tasks.wait()).await;
    }

    /// Fuel that the turn's calls have used so far.
    pub fn fuel(&self) -> u64 {
        self.fuel.load(Ordering::Relaxed)
    }

    /// The name of the tape that the turn writes to.
    pub fn tape_name(&self) -> &str {
        self.tape.name()
    }

    /// Held by a task for as long as it works for the turn.
    pub fn task_token(&self) -> TaskTrackerToken {
        self.tasks.token()
    }

    /// The tape, with its first anchor. A turn that never uses the tape does not create one.
    pub async fn tape(&self) -> bub_tape::Result<Tape> {
        let begin = async || {
            // A finalized turn that did not use the tape does not create it.
            if self.is_settled() {
                return Ok(false);
            }
            let is_new = self.tape.begin_session(self.session_mark().as_ref()).await?;
            // Whoever has the tape in hand can read what it says. Looked for from the end: a long phase is not read for it.
            self.inherit_taint().await?;
            bub_tape::Result::Ok(is_new)
        };
        self.tape_opened.get_or_try_init(begin).await?;
        Ok(self.tape.clone())
    }

    /// Whether the turn is a preview.
    pub fn is_preview(&self) -> bool {
        self.is_preview
    }

    /// The workspace's own tape, shared by its sessions.
    pub fn workspace_tape(&self) -> bub_tape::Result<Tape> {
        match &self.shared {
            Some(tape) => Ok(tape.clone().without_forgotten()),
            None => {
                let tapes = self.scope.host.tapes_of(&self.scope);
                Ok(tapes.open(&bub_tape::workspace_tape_name(&self.workspace))?.without_forgotten())
            }
        }
    }

    /// The message's kind, as hooks have left it.
    pub fn kind(&self) -> MessageKind {
        self.progress().kind
    }

    /// Changes the message's kind.
    pub fn set_kind(&self, kind: MessageKind) {
        self.progress().kind = kind;
    }

    /// The message, with its current kind.
    pub fn envelope(&self) -> Envelope {
        Envelope { kind: self.kind(), ..self.message.clone() }
    }

    /// The prompt is made. From here on a crash does not lose what the user said.
    pub(super) async fn record_prompt(&self, prompt: &Prompt) -> bub_tape::Result<()> {
        // Should the turn fail, the words are kept and not the media: they may be why it did.
        let (text, media) = match prompt {
            Prompt::Text(text) => (text.clone(), 0),
            Prompt::Parts(parts) => (self.scope.media.told(parts), self.scope.media.weight(parts)),
        };
        self.progress().prompt = Some(text.clone());
        self.tape.check_media(media)?;
        if self.kind() == MessageKind::Command {
            return Ok(());
        }
        // A recovery after a crash puts the words on the tape; what they taint must not read them as the owner's.
        if self.tainted().is_some() {
            self.write_taint().await?;
        }
        self.tape.keep_prompt(&text)
    }

    /// Records that a tool with an irreversible effect starts.
    pub async fn tool_begins(&self, call: &ToolCall) -> bub_tape::Result<()> {
        self.tape.keep_tool(&recorded(call)).await
    }

    /// A tool that a person called by a command has answered, well or not: its turn says what came of it.
    pub fn typed_tool_ends(&self, call: &ToolCall) {
        self.tape.end_tool(&recorded(call));
    }

    pub(super) fn prompt_text(&self) -> String {
        self.progress().prompt.clone().unwrap_or_else(|| shown(&self.message))
    }

    /// The state that hooks share.
    pub fn state(&self) -> Map<String, Value> {
        self.progress().state.clone()
    }

    pub(super) fn replace_state(&self, state: Map<String, Value>) {
        self.progress().state = state;
    }

    /// One value of the state.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.progress().state.get(key).cloned()
    }

    /// Sets one value of the state.
    pub fn set(&self, key: String, value: Value) {
        self.progress().state.insert(key, value);
    }

    /// A new id for the entries of one model call.
    pub fn new_run_id(&self) -> String {
        let id = bub_tape::run_id();
        self.progress().run_ids.push(id.clone());
        id
    }

    /// The id of the latest model call.
    pub fn last_run_id(&self) -> Option<String> {
        self.progress().run_ids.last().cloned()
    }

    /// The ids of all model calls so far.
    pub(super) fn run_ids(&self) -> Vec<String> {
        self.progress().run_ids.clone()
    }

    /// Whether that id is one of this turn's model calls.
    pub fn gave_run_id(&self, id: &str) -> bool {
        self.progress().run_ids.iter().any(|given| given == id)
    }

    /// Resets the streamed output: from now on that plugin's events count.
    pub fn start_stream(&self, plugin: &str) {
        self.progress().streamed = StreamedOutput { plugin: Some(plugin.to_owned()), ..StreamedOutput::default() };
    }

    /// Whether that plugin's model hook is running.
    pub fn is_streaming(&self, plugin: &str) -> bool {
        self.progress().streamed.plugin.as_deref() == Some(plugin)
    }

    /// Records one event of the running model hook; its text is part of the output.
    pub fn record_stream_event(&self, event: &StreamEvent) {
        let mut progress = self.progress();
        progress.streamed.events += 1;
        if let StreamEvent::Text(text) = event {
            progress.streamed.text.push_str(text);
        }
    }

    /// What hooks see of the turn, as JSON, for crash reports.
    pub fn snapshot(&self) -> Value {
        serde_json::json!({
            "message": self.envelope(),
            "session": self.session_id,
            "workspace": self.workspace,
            "started": self.started.timestamp().to_string(),
            "principal": self.principal,
            "tainted": self.tainted().is_some(),
            "prompt": self.progress().prompt,
            "state": self.state(),
        })
    }

    /// The principal that caused the turn, fixed by the host.
    pub fn principal(&self) -> Principal {
        self.principal
    }

    /// The prefix of all session ids that the turn can reach; empty: all sessions.
    pub fn session_prefix(&self) -> String {
        self.progress().session_prefix.clone()
    }

    /// Restricts the turn to the sessions that another sender can reach, too.
    pub(super) fn narrow_to(&self, prefix: String) {
        let mut progress = self.progress();
        // Both reach the turn's own session, so one of the two begins with the other.
        if prefix.len() > progress.session_prefix.len() {
            progress.session_prefix = prefix;
        }
    }

    /// Whether that is the turn's own tape.
    pub fn owns(&self, tape: &Tape) -> bool {
        self.tape.is_same(tape)
    }

    /// The last id on the tape when the turn began.
    pub fn began(&self) -> u64 {
        self.first
    }

    /// Whether the tape is in use.
    pub(super) fn has_opened_tape(&self) -> bool {
        self.tape_opened.initialized()
    }

    pub(super) fn is_settled(&self) -> bool {
        self.progress().settled
    }

    pub(super) fn mark_settled(&self) {
        self.progress().settled = true;
    }

    /// The output of the running model hook, and its number of events.
    pub fn streamed(&self) -> (String, u64) {
        let progress = self.progress();
        (progress.streamed.text.clone(), progress.streamed.events)
    }
}

/// A call as a tape has it.
fn recorded(call: &ToolCall) -> String {
    let function = serde_json::json!({ "arguments": call.arguments, "name": model_name(&call.name) });
    serde_json::json!({ "id": call.id, "function": function, "type": "function" }).to_string()
}
