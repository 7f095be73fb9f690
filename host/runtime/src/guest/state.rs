//! The data of a store: everything that one call of one guest holds, gone when the call ends.

use super::context::CallContext;
use super::determinism;
use super::limiter::Limiter;
use super::output::Output;
use super::wasi::{directories, egress::Http, file_guard::FileGuard, guarded_files::Listings};
use crate::host::Host;
use crate::plugin::quarantine::CallRecorder;
use crate::plugin::recording::CallRecording;
use crate::plugin::{Break, FaultKind, Plugin, Source};
use crate::turn::{Denial, DenialReason, Turn};
use bub_permissions::{Grant, GrantKind};
use bub_types::Error;
use bub_types::hook::{Call, Hook};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::Result;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// The hook whose answer depends on what it is shown and on nothing else.
const SELECTOR: Call = Call::Hook(Hook::Selector);

/// Handles that a guest may hold at once, of all kinds together.
pub(super) const MAX_HANDLES: usize = 1_000;

/// Memory of a guest that waits for its next call, at most, in bytes.
const MAX_RESTING: usize = 4 << 20;

/// Random bytes that a guest gets at once. They are made without a yield.
const MAX_RANDOM: u64 = 1 << 20;

/// The state of one call.
pub struct State {
    /// The host.
    pub host: Arc<Host>,
    /// The plugin whose code runs: grants and limits are looked up here and nowhere else.
    pub plugin: Arc<Plugin>,
    /// The call that runs.
    pub call: Call,
    /// On whose behalf; none while a plugin is loaded, and in hooks that have no turn.
    pub turn: Option<Arc<Turn>>,
    /// How many calls this one sits in. It lives here and not in the turn: tools run side by side.
    pub depth: u32,
    /// Resources of the instance.
    pub table: ResourceTable,
    /// Limits memory and tables.
    pub limiter: Limiter,
    /// The guest's stdout and stderr.
    pub output: Output,
    /// Records the arguments of the call.
    pub recorder: CallRecorder,
    /// Records or answers its calls of imports.
    pub recording: CallRecording,
    /// The guard over the directories that the guest is given; none where it is given none.
    pub file_guard: Option<FileGuard>,
    /// Whether the call was given text of a tape, a model or a tool: what it writes may say the same.
    pub has_read: bool,
    /// What is left of listed directories, where a call is recorded.
    pub listings: Listings,
    /// The number of the instance in the recording of the turn, if it is recorded.
    pub number: Option<u64>,
    /// The recording that clocks and random numbers are of.
    ambient: determinism::Ambient,
    wasi: WasiCtx,
    http: Http,
    http_ctx: WasiHttpCtx,
    calls: u32,
    /// When it last let others have the thread, as far as its calls of the host know.
    gave_way: Instant,
}

impl State {
    /// The state of a fresh instance for that call.
    pub fn new(host: Arc<Host>, plugin: Arc<Plugin>, context: &CallContext) -> Self {
        let CallContext { call, turn, depth, recording, .. } = context.clone();
        let output = Output::new(&host, &plugin);
        let mut table = ResourceTable::new();
        table.set_max_capacity(10 * MAX_HANDLES);
        let limiter = Limiter::new(plugin.limits.memory_bytes());
        let file_guard = file_guard(&host, &plugin, call, turn.as_ref());
        let ambient = determinism::Ambient::new(&recording);
        let during = During { call, turn: turn.as_deref(), recording: &recording, ambient: &ambient };
        let wasi = wasi(&host, &plugin, &during, file_guard.as_ref(), &output);
        let http = Http {
            host: host.clone(),
            plugin: plugin.clone(),
            turn: turn.clone(),
            is_loading: call == Call::Load,
            keeps_tapes: call == Hook::Store,
            recording: recording.clone(),
        };
        Self {
            host,
            plugin,
            call,
            turn,
            depth,
            table,
            limiter,
            output,
            recorder: CallRecorder::for_call(recording.clone()),
            recording,
            file_guard,
            has_read: false,
            listings: Listings::default(),
            number: None,
            ambient,
            wasi,
            http,
            http_ctx: WasiHttpCtx::new(),
            calls: 0,
            gave_way: Instant::now(),
        }
    }

    /// Lets go of all that belongs to the call that has ended. Whether another may follow in the same store: not where the guest
    /// holds on to something.
    pub fn rest(&mut self) -> bool {
        self.turn = None;
        self.http.turn = None;
        self.file_guard = None;
        self.recorder = CallRecorder::default();
        self.recording = CallRecording::default();
        self.http.recording = CallRecording::default();
        self.ambient.set(&self.recording);
        self.table.is_empty() && self.limiter.used() <= MAX_RESTING
    }

    /// The next call in the same store.
    pub fn resume(&mut self, context: &CallContext) {
        let CallContext { call, turn, depth, recording, .. } = context.clone();
        self.ambient.set(&recording);
        self.http.recording.clone_from(&recording);
        self.recorder = CallRecorder::for_call(recording.clone());
        self.recording = recording;
        // Only a selector's clocks stand; and where a directory is, and whether it is granted, may have changed.
        // The previous context is dropped: an instance that holds a handle of it is not reused.
        if (call == SELECTOR) != (self.call == SELECTOR) || self.plugin.opens_files() {
            self.file_guard = file_guard(&self.host, &self.plugin, call, turn.as_ref());
            let (recording, ambient) = (&self.recording, &self.ambient);
            let during = During { call, turn: turn.as_deref(), recording, ambient };
            self.wasi = wasi(&self.host, &self.plugin, &during, self.file_guard.as_ref(), &self.output);
        }
        self.http.turn.clone_from(&turn);
        (self.call, self.turn, self.depth) = (call, turn, depth);
        (self.calls, self.gave_way, self.has_read) = (0, Instant::now(), false);
        self.output.begin();
    }

    /// One more call of the host by the guest: the state is asked for once in each.
    pub fn counted(&mut self) -> &mut Self {
        self.calls = self.calls.saturating_add(1);
        self
    }

    /// Ends the call of a guest that has called the host too often. Asked on the way back into the guest: counting there
    /// would not do, because wasmtime's own steps (a yield, a growing memory) go the same way.
    pub fn check_calls(&self) -> Result<()> {
        let limit = self.plugin.limits.calls(self.call.deadline());
        if self.calls <= limit { Ok(()) } else { Err(wasmtime::Error::new(Break(FaultKind::TooManyCalls(limit)))) }
    }

    /// Whether it has kept the thread for so long and should let others have it; it has from then on.
    pub fn gives_way(&mut self, keeps: Duration) -> bool {
        let is_long = self.gave_way.elapsed() >= keeps;
        if is_long {
            self.gave_way = Instant::now();
        }
        is_long
    }

    /// Refuses unless the plugin holds that grant.
    pub fn granted(&self, grant: &Grant) -> std::result::Result<(), Error> {
        if self.holds(grant) {
            // Uses of the program's own guests by their table are what the tape is about anyway, but for what leaves
            // it.
            let reaches_outside = matches!(grant.kind(), GrantKind::Process | GrantKind::Secret);
            if let Some(turn) = self.turn.as_ref().filter(|_| reaches_outside || self.plugin.source != Source::Embedded)
            {
                turn.used(&self.plugin, grant);
            }
            return Ok(());
        }
        if let Some(turn) = &self.turn {
            turn.refused(&self.plugin, grant);
        }
        Err(self.plugin.refusal(grant))
    }

    /// Writes down that the call was denied something with that error, which it returns.
    pub fn denied(&self, reason: DenialReason, what: &str, error: Error) -> Error {
        if let Some(turn) = &self.turn {
            let (plugin, message) = (&self.plugin.name, &error.message);
            turn.denied(Denial { reason, plugin, tool: "", grant: what, host: "", message });
        }
        error
    }

    /// How deep a call inside this one is.
    ///
    /// # Errors
    ///
    /// Too deep.
    pub fn check_depth(&self) -> std::result::Result<u32, Error> {
        check_depth(self.depth, self.plugin.limits.depth).map_err(|error| self.denied(DenialReason::Limit, "", error))
    }

    /// Whether the plugin holds that grant, at this moment.
    pub fn holds(&self, grant: &Grant) -> bool {
        self.call != Call::Load && self.host.grants.allows(&self.plugin, grant)
    }
}

/// The guard over the files of a guest that is given directories.
fn file_guard(host: &Host, plugin: &Arc<Plugin>, call: Call, turn: Option<&Arc<Turn>>) -> Option<FileGuard> {
    // A plugin holds no grants while it is loaded.
    (call != Call::Load && plugin.opens_files()).then(|| FileGuard {
        files: host.protection.files(&host.config),
        plugin: plugin.clone(),
        turn: turn.cloned(),
    })
}

/// The call that WASI is made for.
pub(crate) struct During<'a> {
    call: Call,
    /// Its turn, if it has one.
    pub turn: Option<&'a Turn>,
    /// Its recording.
    pub recording: &'a CallRecording,
    ambient: &'a determinism::Ambient,
}

/// Of WASI what that call gets.
fn wasi(host: &Host, plugin: &Plugin, during: &During<'_>, guard: Option<&FileGuard>, output: &Output) -> WasiCtx {
    let mut wasi = WasiCtx::builder();
    wasi.stdout(output.clone());
    wasi.stderr(output.clone());
    wasi.max_random_size(MAX_RANDOM);
    // The program's own guests look at what they open, and open nothing that they could wait for. Another thread for each
    // step would be dearer than the step; strangers get one, because a pipe would hold this one for ever.
    wasi.allow_blocking_current_thread(plugin.source == Source::Embedded);
    if let Some(guard) = guard {
        directories::open(&mut wasi, host, plugin, during, &guard.files);
    }
    // A selection is the same whenever it is made of the same view.
    if let (SELECTOR, Some(turn)) = (during.call, during.turn) {
        determinism::hold(&mut wasi, &turn.started);
    } else if during.recording.is_on() {
        determinism::record(&mut wasi, during.ambient);
    }
    wasi.build()
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.counted();
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.counted();
        WasiHttpCtxView { hooks: &mut self.http, table: &mut self.table, ctx: &mut self.http_ctx }
    }
}

/// Calls inside calls, whatever leads to them (tools, model, stages): refused with an error that the guest can read.
fn check_depth(depth: u32, limit: u32) -> std::result::Result<u32, Error> {
    if depth < limit {
        Ok(depth + 1)
    } else {
        Err(Error::denied(format!("calls inside calls may go {limit} deep, no deeper")))
    }
}
