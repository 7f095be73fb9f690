//! How a call ends when the guest broke it.

use super::open_circuit::OpenCircuit;
use bub_types::text::one_line;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::Error;

/// Characters that a fault's line shows of what the guest wrote.
const SHOWN: usize = 800;

/// The first line of Python's tracebacks.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// A call that the guest broke. Its instance is gone; the next call gets a new one.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The plugin's name.
    pub plugin: String,
    /// The WIT name of the export that ran.
    pub hook: &'static str,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The end of what it wrote to stdout and stderr in this call, fit to be shown. None, where it wrote nothing.
    pub output: Option<Arc<str>>,
}

/// The way in which a guest broke its call.
#[derive(Debug, Clone)]
pub enum FaultKind {
    /// A trap of WebAssembly, by its name.
    Trap(String),
    /// It panicked, with this message.
    Panic(String),
    /// It used up its fuel.
    OutOfFuel {
        /// How much it had, in units of wasmtime's operator cost.
        units: u64,
        /// The function that ran at last, where the guest has names of its functions.
        place: Option<String>,
    },
    /// All its memories and tables together would exceed this, in bytes.
    OutOfMemory(usize),
    /// It took longer than this, waiting included.
    Deadline(Duration),
    /// Its stack is full.
    StackOverflow,
    /// It handed over more at once than this, in bytes.
    TooMuchOutput(usize),
    /// It made the turn hold more than this, in bytes: what it emitted, set and wrote together.
    TooMuchKept(usize),
    /// It made the turn hold so much, in bytes, that the call of another plugin had no room left.
    FilledTurn {
        /// The bytes that it made the turn hold.
        bytes: usize,
        /// How that call ended.
        broke: Box<Fault>,
    },
    /// It called the host more often than this.
    TooManyCalls(u32),
    /// It held more handles than this.
    TooManyHandles(usize),
    /// Its answer is not what the contract asks for.
    Contract(String),
    /// It could not be opened, for this reason: it does not compile, or it is not what it declares.
    NotLoaded(String),
    /// It was not asked: it has broken too many calls.
    OpenCircuit(Box<OpenCircuit>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            // It is no matter of that hook.
            FaultKind::NotLoaded(_) => write!(f, "plugin `{}` {}", self.plugin, self.kind)?,
            kind => write!(f, "hook `{}` of plugin `{}`: {kind}", self.hook, self.plugin)?,
        }
        // A panic says what matters itself, but for one of an interpreter: that is its guest's doing.
        let is_told = |output: &&str| !matches!(self.kind, FaultKind::Panic(_)) || output.contains(TRACEBACK);
        match self.wrote().filter(is_told) {
            Some(output) => write!(f, "; it wrote: {}", end_of(output)),
            None => Ok(()),
        }
    }
}

impl Fault {
    /// The guest's output beside what its kind says already. None, where that is nothing.
    pub fn wrote(&self) -> Option<&str> {
        let output = self.output.as_deref()?;
        let beside = match (&self.kind, output.rfind("panicked at ")) {
            // A panic stands there too, from the beginning of its line.
            (FaultKind::Panic(_), Some(at)) => &output[..output[..at].rfind('\n').unwrap_or_default()],
            _ => output,
        };
        (!beside.trim().is_empty()).then_some(beside)
    }
}

impl FaultKind {
    /// Its name, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Trap(_) => "trap",
            Self::Panic(_) => "panic",
            Self::OutOfFuel { .. } => "out_of_fuel",
            Self::OutOfMemory(_) => "out_of_memory",
            Self::Deadline(_) => "deadline",
            Self::StackOverflow => "out_of_stack",
            Self::TooMuchOutput(_) => "too_much_output",
            Self::TooMuchKept(_) => "too_much_kept",
            Self::FilledTurn { .. } => "filled_turn",
            Self::TooManyCalls(_) => "too_many_calls",
            Self::TooManyHandles(_) => "too_many_handles",
            Self::Contract(_) => "contract",
            Self::NotLoaded(_) => "not_loaded",
            Self::OpenCircuit(_) => "quarantined",
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trap(trap) => write!(f, "trapped: {trap}"),
            Self::Panic(message) => write!(f, "panicked: {message}"),
            Self::OutOfFuel { units, place: None } => write!(f, "out of fuel after {units} units"),
            Self::OutOfFuel { units, place: Some(place) } => write!(f, "out of fuel after {units} units, in {place}"),
            Self::OutOfMemory(bytes) => write!(f, "out of memory: more than {} MiB", bytes >> 20),
            Self::Deadline(limit) => write!(f, "took longer than {} ms", limit.as_millis()),
            Self::StackOverflow => f.write_str("out of stack"),
            Self::TooMuchOutput(bytes) => write!(f, "handed over more than {} MiB at once", bytes >> 20),
            Self::TooMuchKept(bytes) => write!(f, "made its turn hold more than {} MiB", bytes >> 20),
            Self::FilledTurn { bytes, broke } => {
                write!(f, "made its turn hold {} MiB, which broke another call: {broke}", bytes >> 20)
            }
            Self::TooManyCalls(calls) => write!(f, "called the host more than {calls} times"),
            Self::TooManyHandles(handles) => write!(f, "held more than {handles} handles"),
            Self::NotLoaded(reason) => write!(f, "did not load: {reason}"),
            Self::OpenCircuit(circuit) => circuit.fmt(f),
            Self::Contract(rule) => write!(f, "broke the contract: {rule}"),
        }
    }
}

/// Ends a call from inside the host with a fault that is not wasmtime's.
#[derive(Debug)]
pub(crate) struct Break(pub FaultKind);

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Break {}

/// The error that ends a call whose guest did not keep to the contract.
pub fn contract(rule: impl Into<String>) -> Error {
    Error::new(Break(FaultKind::Contract(rule.into())))
}

/// The error that ends the call of a guest that makes its turn hold too much.
pub fn too_much_held(limit: usize) -> Error {
    Error::new(Break(FaultKind::TooMuchKept(limit)))
}

/// The end of what a guest wrote, in one line: a traceback from where it begins, if that is not too long.
fn end_of(output: &str) -> String {
    let begins = output.rfind(TRACEBACK).unwrap_or_default();
    let line = one_line(&output[begins..]);
    match line.char_indices().rev().nth(SHOWN - 1) {
        Some((cut, _)) if cut > 0 => format!("... {}", &line[cut..]),
        _ => line,
    }
}
