//! What one call of a guest may use up.

use serde::Deserialize;
use std::time::Duration;

/// `[limits]` and `[plugins.NAME.limits]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsTable {
    fuel: Option<u64>,
    memory_mib: Option<u32>,
    deadline_ms: Option<u64>,
    turn_deadline_ms: Option<u64>,
    output_mib: Option<u32>,
    calls: Option<u32>,
    depth: Option<u32>,
    compile_seconds: Option<u64>,
    compile_mib: Option<u64>,
    quarantine_seconds: Option<u64>,
}

impl LimitsTable {
    /// The same, with turns that end soon: nobody waits for one of a trial.
    pub(super) fn hurried(self, turn_deadline_ms: u64) -> Self {
        let turn_deadline_ms = Some(self.turn_deadline_ms.map_or(turn_deadline_ms, |own| own.min(turn_deadline_ms)));
        Self { turn_deadline_ms, ..self }
    }

    /// The same, where a stranger may have written it: within what any machine can bear.
    pub(super) fn bearable(self) -> Self {
        Self {
            fuel: self.fuel.map(|fuel| fuel.min(1_000_000_000_000)),
            memory_mib: self.memory_mib.map(|memory| memory.min(1_024)),
            deadline_ms: self.deadline_ms.map(|deadline| deadline.min(60_000)),
            output_mib: self.output_mib.map(|output| output.min(256)),
            calls: self.calls.map(|calls| calls.min(10_000_000)),
            ..self
        }
    }
}

/// What one call of a guest may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Units of wasmtime's operator cost: 10,000,000,000 are half a second to several seconds.
    pub fuel: u64,
    /// Calls inside calls.
    pub depth: u32,
    /// Seconds of a processor that compiling it may take.
    pub compile_seconds: u64,
    /// Memory that compiling it may take, in MiB.
    pub compile_mib: u64,
    quarantine_seconds: u64,
    memory_mib: u32,
    deadline_ms: u64,
    turn_deadline_ms: u64,
    output_mib: u32,
    calls: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 10_000_000_000,
            depth: 5,
            compile_seconds: 30,
            compile_mib: 2_048,
            quarantine_seconds: 60,
            memory_mib: 64,
            deadline_ms: 5_000,
            turn_deadline_ms: 1_800_000,
            output_mib: 16,
            calls: 10_000,
        }
    }
}

impl Limits {
    pub(super) fn with(self, table: LimitsTable) -> Self {
        Self {
            fuel: table.fuel.unwrap_or(self.fuel),
            depth: table.depth.unwrap_or(self.depth),
            // None at all would be no bound at all, or a shift that overflows.
            compile_seconds: table.compile_seconds.unwrap_or(self.compile_seconds).clamp(1, 3_600),
            compile_mib: table.compile_mib.unwrap_or(self.compile_mib).clamp(1, 1 << 20),
            quarantine_seconds: table.quarantine_seconds.unwrap_or(self.quarantine_seconds).clamp(1, 3_600),
            memory_mib: table.memory_mib.unwrap_or(self.memory_mib),
            deadline_ms: table.deadline_ms.unwrap_or(self.deadline_ms),
            turn_deadline_ms: table.turn_deadline_ms.unwrap_or(self.turn_deadline_ms),
            output_mib: table.output_mib.unwrap_or(self.output_mib),
            calls: table.calls.unwrap_or(self.calls),
        }
    }

    /// All memories and tables of a call together.
    pub fn memory_bytes(&self) -> usize {
        (self.memory_mib as usize) << 20
    }

    /// What crosses from guest to host in one call of the host.
    pub fn output_bytes(&self) -> usize {
        (self.output_mib as usize) << 20
    }

    /// A hook's deadline, waiting included.
    pub fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms)
    }

    /// The whole turn's deadline, which is also that of the calls that wait for a model or a tool, and of a command.
    pub fn turn_deadline(&self) -> Duration {
        Duration::from_millis(self.turn_deadline_ms)
    }

    /// The first pause of a plugin that keeps breaking; the next is twice as long, up to an hour.
    pub fn quarantine(&self) -> Duration {
        Duration::from_secs(self.quarantine_seconds)
    }

    /// How often a guest may call the host. A hook that streams a whole conversation calls it twice a token, so the
    /// calls that have the turn's deadline have a hundred times the number.
    pub fn calls(&self, hook: &str) -> u32 {
        if streams(hook) { self.calls.saturating_mul(MORE) } else { self.calls }
    }

    /// The number of which [`Self::calls`] made that one.
    pub fn base_of(calls: u64, hook: &str) -> u64 {
        if streams(hook) { calls.div_ceil(u64::from(MORE)) } else { calls }
    }
}

/// How many times as often those may call the host that have the turn's deadline.
const MORE: u32 = 100;

fn streams(hook: &str) -> bool {
    matches!(hook, "run-model" | "run-model-stream" | "call-tool" | "complete" | "poll" | "run-command")
}
