//! Resource limits of guest calls.

use bub_types::hook::Deadline;
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
    /// The limits with a turn deadline of at most `turn_deadline_ms`.
    pub(super) fn with_turn_deadline(self, turn_deadline_ms: u64) -> Self {
        let turn_deadline_ms = Some(self.turn_deadline_ms.map_or(turn_deadline_ms, |own| own.min(turn_deadline_ms)));
        Self { turn_deadline_ms, ..self }
    }

    /// Clamps untrusted values to what any machine can provide.
    pub(super) fn clamped(self) -> Self {
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

/// Resource limits of guest calls, turns and compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Fuel of a call, in wasmtime's operator cost: 10,000,000,000 last half a second to several seconds.
    pub fuel: u64,
    /// Depth of nested guest calls.
    pub depth: u32,
    /// CPU seconds for compiling a plugin.
    pub compile_seconds: u64,
    /// Memory for compiling a plugin, in MiB.
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
            // 0 would be unlimited; large values overflow the shift.
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

    /// Bytes of all linear memories and tables of a call together.
    pub fn memory_bytes(&self) -> usize {
        (self.memory_mib as usize) << 20
    }

    /// Bytes that one host call may copy out of the guest.
    pub fn output_bytes(&self) -> usize {
        (self.output_mib as usize) << 20
    }

    /// A hook's deadline in wall-clock time.
    pub fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms)
    }

    /// The turn's deadline; model calls, tool calls and commands have it too.
    pub fn turn_deadline(&self) -> Duration {
        Duration::from_millis(self.turn_deadline_ms)
    }

    /// How long a failing plugin is quarantined first; it doubles each time, up to an hour.
    pub fn quarantine(&self) -> Duration {
        Duration::from_secs(self.quarantine_seconds)
    }

    /// How many host calls a guest may make. A hook that streams a conversation makes two a token, so hooks with the
    /// turn's deadline may make 100 times as many.
    pub fn calls(&self, deadline: Deadline) -> u32 {
        if deadline == Deadline::Turn { self.calls.saturating_mul(STREAMING_FACTOR) } else { self.calls }
    }

    /// The configured number from which [`Self::calls`] computed `calls`.
    pub fn configured_calls(calls: u64, deadline: Deadline) -> u64 {
        if deadline == Deadline::Turn { calls.div_ceil(u64::from(STREAMING_FACTOR)) } else { calls }
    }
}

/// Factor on host calls for hooks that have the turn's deadline.
const STREAMING_FACTOR: u32 = 100;
