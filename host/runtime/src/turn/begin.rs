//! How a turn begins: whose it is, on which tape, and when the session is free.

mod caller;

use super::audit::Audit;
use super::data::{Progress, StreamedOutput, Turn};
use super::options::{Identity, TurnOptions};
use super::program_proxies::ProgramProxies;
use super::scope::CallScope;
use super::taint::{Taint, TaintSource};
use crate::channel::foreign;
use crate::error::Failure;
use crate::guest::InstancePool;
use crate::host::Host;
use crate::plugin::Caller;
use bub_config::Commands;
use bub_system::clock;
use bub_tape::Tape;
use bub_types::{Envelope, Principal, is_ephemeral};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Turns inside one turn that run at the same time.
const MAX_INNER: usize = 8;

/// Turns of this process so far.
static TURNS: AtomicU64 = AtomicU64::new(0);

impl Turn {
    /// Opens the session's tape and seeds the state.
    ///
    /// # Errors
    ///
    /// The tape cannot be written: said before a model is paid for an answer that could not be kept.
    pub(super) async fn begin(
        scope: &Arc<CallScope>,
        session_id: String,
        message: Envelope,
        mut options: TurnOptions,
    ) -> Result<Arc<Self>, Failure> {
        let host = &scope.host;
        let name = bub_tape::tape_name(&host.workspace, &session_id);
        let tape = tokio::select! {
            biased;
            () = options.cancelled() => return Err(Failure::Cancelled),
            tape = open(scope, &name, &session_id) => tape?,
        };
        if !options.is_permitted() {
            tape.close();
            return Err(Failure::Cancelled);
        }
        let earlier = options.take_history();
        // A session that is kept knows itself what was said before.
        if !earlier.is_empty() && is_ephemeral(&session_id) {
            tape.bootstrap().await?;
            tape.append(earlier).await?;
        }
        Ok(Arc::new(Self::with_tape(scope, tape, session_id, message, options).await?))
    }

    /// A turn that writes to that tape.
    pub(super) async fn with_tape(
        scope: &Arc<CallScope>,
        tape: Tape,
        session_id: String,
        message: Envelope,
        options: TurnOptions,
    ) -> Result<Self, Failure> {
        let host = &scope.host;
        let first = tape.last_id().await?;
        let workspace = host.workspace.to_string_lossy().into_owned();
        let state = Map::from_iter([
            ("_runtime_workspace".to_owned(), Value::String(workspace)),
            ("session_id".to_owned(), Value::String(session_id.clone())),
            ("_commands".to_owned(), Value::from(commands(host, &message, &options).name())),
        ]);
        let principal =
            options.identity.as_ref().map_or_else(|| principal(host, &message), |identity| identity.principal);
        let caller = Caller::new(principal, &message.channel, message.sender.as_deref());
        let progress = Progress {
            kind: message.kind,
            state: Arc::new(state),
            prompt: None,
            changes: 0,
            run_ids: Vec::new(),
            session_prefix: options
                .identity
                .as_ref()
                .map_or_else(String::new, |identity| identity.session_prefix.clone()),
            streamed: StreamedOutput::default(),
            finish_reason: None,
            settled: false,
            audit: Audit::new(Taint::new(taint(principal, &message, options.identity.as_ref()))),
        };
        Ok(Self {
            scope: scope.clone(),
            id: format!("turn-{}", TURNS.fetch_add(1, Ordering::Relaxed)).into(),
            session_id,
            workspace: host.workspace.clone(),
            message: Arc::new(message),
            started: clock::now(),
            fuel: AtomicU64::new(0),
            tape: tape.without_forgotten(),
            forgets: Mutex::default(),
            shared: None,
            is_preview: false,
            tape_opened: tokio::sync::OnceCell::new(),
            first,
            memory_charges: Mutex::default(),
            tasks: TaskTracker::new(),
            progress: Mutex::new(progress),
            deadline: Instant::now() + host.config.limits().turn_deadline(),
            options,
            steered: Mutex::default(),
            principal,
            caller,
            allowed_tools: None,
            parent: None,
            is_shared: AtomicBool::new(false),
            inner: Semaphore::new(MAX_INNER),
            selector: tokio::sync::OnceCell::new(),
            selected: Mutex::default(),
            outside: Mutex::default(),
            fell_back: AtomicBool::new(false),
            calibrations: Mutex::default(),
            changes: AtomicU64::default(),
            tainted_before: AtomicU64::default(),
            prompt_cache: Mutex::default(),
            render_cache: Mutex::default(),
            sent: Mutex::default(),
            flows: Arc::default(),
            trail: Mutex::default(),
            workspace_before: tokio::sync::Mutex::default(),
            program_proxies: ProgramProxies::default(),
            idle: InstancePool::default(),
        })
    }
}

/// The commands that are allowed in a turn of that message.
fn commands(host: &Host, message: &Envelope, options: &TurnOptions) -> Commands {
    options.identity.as_ref().map_or_else(|| host.config.commands(&message.channel), |identity| identity.commands)
}

/// Why a turn of that message begins tainted: another principal than the owner caused it, a part of it is another
/// author's, or its sender has read such text.
fn taint(principal: Principal, message: &Envelope, identity: Option<&Identity>) -> Option<(TaintSource, String)> {
    let channel = &message.channel;
    let by_other = (principal != Principal::Owner)
        .then(|| format!("a sender other than the owner wrote it, on channel `{channel}`"));
    let why = by_other.or_else(|| foreign(message)).or_else(|| identity?.taint.clone())?;
    Some((TaintSource::outside(format!("channel:{channel}")), why))
}

/// The turn's fork of its tape, when no other turn of the session runs.
pub(super) async fn open(scope: &Arc<CallScope>, name: &str, session_id: &str) -> Result<Tape, Failure> {
    let tapes = scope.host.tapes_of(scope);
    if is_ephemeral(session_id) {
        return Ok(tapes.open(name)?.fork());
    }
    let (tape, recovered) = tapes.begin(name).await?;
    if let Some(recovered) = recovered {
        tracing::warn!(
            "the last turn of session `{session_id}` was interrupted: what it wrote ({} entries) is on the tape now",
            recovered.entries
        );
    }
    Ok(tape)
}

/// The author of a message: at the terminal it is the owner who speaks; elsewhere who the channel's configuration says that
/// it is.
pub fn principal(host: &Host, message: &Envelope) -> Principal {
    let channel = host.config.channel(&message.channel);
    let is_among = |names: &[String]| message.sender.as_ref().is_some_and(|sender| names.contains(sender));
    if message.channel == "cli" || is_among(&channel.owners) {
        Principal::Owner
    } else if is_among(&channel.peers) {
        Principal::Peer
    } else {
        Principal::Anonymous
    }
}
