//! How a call ends when the guest broke it.

use super::quarantine::OpenCircuit;
use super::store::State;
use bub_types::text::one_line;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::{Error, FrameInfo, Trap, WasmBacktrace};

/// Characters that a fault's line shows of what the guest wrote.
const SHOWN: usize = 800;

/// What Python's tracebacks begin with.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// Callers that are shown of the function that ran at last, and the longest name of one, in characters.
const CALLERS: usize = 2;
const MAX_NAME: usize = 120;

/// A call that the guest broke. Its instance is gone; the next call gets a new one.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The plugin's name.
    pub plugin: String,
    /// The WIT name of the export that ran.
    pub hook: &'static str,
    /// What it did.
    pub kind: FaultKind,
    /// The end of what it wrote to stdout and stderr in this call, fit to be shown. None, where it wrote nothing.
    pub output: Option<Arc<str>>,
}

/// What a guest did to end its call.
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
        /// What ran at last, where the guest has names of its functions.
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
        /// What it made the turn hold, in bytes.
        bytes: usize,
        /// How that call ended.
        broke: Box<Fault>,
    },
    /// It called the host more often than this.
    TooManyCalls(u32),
    /// It held more handles than this.
    TooManyHandles(usize),
    /// What it answered is not what the contract asks for.
    Contract(String),
    /// It was not asked: it has broken too many calls.
    OpenCircuit(Box<OpenCircuit>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hook `{}` of plugin `{}`: {}", self.hook, self.plugin, self.kind)?;
        // A panic says what matters itself, but for one of an interpreter: that is its guest's doing.
        let is_told = |output: &&str| !matches!(self.kind, FaultKind::Panic(_)) || output.contains(TRACEBACK);
        match self.wrote().filter(is_told) {
            Some(output) => write!(f, "; it wrote: {}", end_of(output)),
            None => Ok(()),
        }
    }
}

impl Fault {
    /// What the guest wrote beside what its kind says already. None, where that is nothing.
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
            Self::OpenCircuit(circuit) => circuit.fmt(f),
            Self::Contract(rule) => write!(f, "broke the contract: {rule}"),
        }
    }
}

/// Ends a call from inside the host with a fault that is not wasmtime's.
#[derive(Debug)]
pub(super) struct Break(pub FaultKind);

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

/// Names what ended a call. wasmtime gives a type to traps only; what else its limits say is known by its text, all
/// of which stands here, so that an update that rewords it has one place to be mended (and a test that says so).
pub(super) fn classify(error: &Error, state: &State) -> FaultKind {
    if let Some(Break(kind)) = error.downcast_ref::<Break>() {
        return kind.clone();
    }
    if let Some(limit) = state.limiter.exceeded() {
        return FaultKind::OutOfMemory(limit);
    }
    let limits = &state.plugin.limits;
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return FaultKind::OutOfFuel { units: limits.fuel, place: place(error) },
        Some(Trap::StackOverflow) => return FaultKind::StackOverflow,
        Some(trap) => {
            return match panic_message(&state.output.tail()) {
                Some(message) => FaultKind::Panic(message),
                None => FaultKind::Trap(match place(error) {
                    Some(place) => format!("{trap}, in {place}"),
                    None => trap.to_string(),
                }),
            };
        }
        None => {}
    }
    let text = error.root_cause().to_string();
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        FaultKind::TooMuchOutput(limits.output_bytes())
    } else if text.contains("handle limit exceeded") || text.contains("resource table has no free keys") {
        FaultKind::TooManyHandles(super::store::MAX_HANDLES)
    } else {
        FaultKind::Trap(one_line(&text))
    }
}

/// The functions of the guest that ran, the innermost first, by the names that it gives them. None, where it gives none.
fn place(error: &Error) -> Option<String> {
    let trace = error.downcast_ref::<WasmBacktrace>()?;
    let mut names: Vec<String> = Vec::new();
    for name in trace.frames().iter().filter_map(FrameInfo::func_name) {
        let name = one_line(&format!("{:#}", rustc_demangle::demangle(name)));
        let name: String = name.chars().take(MAX_NAME).collect();
        // A function that calls itself is one.
        if !name.is_empty() && names.last() != Some(&name) {
            names.push(name);
        }
    }
    let (innermost, callers) = names.split_first()?;
    let callers: Vec<String> = callers.iter().take(CALLERS).map(|name| format!("`{name}`")).collect();
    Some(match callers.is_empty() {
        true => format!("`{innermost}`"),
        false => format!("`{innermost}`, called from {}", callers.join(", from ")),
    })
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

/// A Rust guest that panics says so on its stderr and then runs into `unreachable`.
fn panic_message(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let at = text.rfind("panicked at ")?;
    let message = text[at..].trim_end();
    let message = message.split("\nnote: run with").next().unwrap_or(message);
    Some(one_line(message.trim_start_matches("panicked at ")))
}
