//! How a turn fails. An error that a guest may handle (`bub:types/error`) and one that ends its call (a [`Fault`]) are
//! different types: only the first was said by the plugin.

use crate::plugin::{Fault, FaultKind, is_embedded, parse_json};
use bub_types::hook::{Call, Hook};
use bub_types::text::one_line;
use bub_types::{Error, ErrorKind};
use std::fmt;
use std::time::Duration;

/// The longest wait that a guest can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Why a stage did not give what was asked of it.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The plugin answered with an error of its own.
    Hook {
        /// The call that failed.
        hook: Call,
        /// The plugin that answered.
        plugin: String,
        /// The error.
        error: Error,
    },
    /// The plugin broke its contract or a limit.
    Fault(Fault),
    /// The tape could not be read or written. A tape that is busy, or storage that refused, is a
    /// [`Temporary`](ErrorKind::Temporary) error.
    Tape(Error),
    /// The envelope could not be handed to its channel.
    Channel(String),
    /// No plugin answered the prompt.
    NoModel,
    /// The turn was cancelled.
    Cancelled,
    /// Another worker may have claimed the session's lease: the turn is cancelled, and nothing more of it is written.
    LeaseLost,
    /// The turn ran longer than it may.
    Deadline(Duration),
    /// The request is not allowed, or makes no sense.
    Refused(Error),
}

impl Failure {
    /// Whether the plugin was not asked at all, because it is in quarantine.
    pub fn is_circuit_open(&self) -> bool {
        matches!(self, Self::Fault(Fault { kind: FaultKind::OpenCircuit(_), .. }))
    }

    /// How long to wait at least before it is tried again; none, where that does not help. A guest says so by its error's
    /// kind, `temporary`, and how long by `retry_after` in the details, in seconds.
    pub fn retry_after(&self) -> Option<Duration> {
        let wait = match self {
            Self::Hook { error, .. } | Self::Refused(error) | Self::Tape(error)
                if error.kind == ErrorKind::Temporary =>
            {
                let details = error.details.as_deref().and_then(|details| parse_json(details).ok());
                let seconds = details.and_then(|details| details.get("retry_after")?.as_f64()).unwrap_or_default();
                Duration::try_from_secs_f64(seconds).unwrap_or_default()
            }
            Self::Fault(Fault { kind: FaultKind::OpenCircuit(circuit), .. }) => circuit.left,
            // Another component was slow; a fault that a guest causes itself recurs.
            Self::Fault(Fault { kind: FaultKind::Deadline(_), .. }) | Self::Deadline(_) => Duration::ZERO,
            _ => return None,
        };
        Some(wait.min(LONGEST_WAIT))
    }

    /// The message for a person: the error, and its remedy. The path through the program's own hooks and plugins
    /// is for the log, which has the [`Display`](fmt::Display).
    pub fn user_message(&self) -> String {
        match self {
            Self::Hook { plugin, error, .. } if is_embedded(plugin) => one_line(&error.message),
            Self::Hook { hook, plugin, error } => {
                let message = one_line(&error.message);
                let remedy = match (*hook, error.kind) {
                    // It is for another moment, or another question.
                    (_, ErrorKind::Temporary | ErrorKind::InvalidInput | ErrorKind::Cancelled) => String::new(),
                    (Call::Hook(Hook::Selector), _) => {
                        "; to select without it: `selector = \"builtin\"` in config.toml".to_owned()
                    }
                    _ => format!("; to go on without it: `bub-wasm plugin remove {plugin}`"),
                };
                format!("{message} (said by plugin `{plugin}`, hook `{hook}`){remedy}")
            }
            Self::Fault(fault) => format!("{fault}{}", remedy(fault)),
            Self::NoModel => format!("{self}; `bub-wasm hooks` shows which plugins answer `run-model`"),
            Self::Deadline(_) => {
                format!("{self}; to allow more, raise `turn_deadline_ms` of `[limits]` in config.toml")
            }
            Self::Cancelled => "the turn was ended before it was done".to_owned(),
            Self::LeaseLost | Self::Tape(_) | Self::Channel(_) | Self::Refused(_) => self.to_string(),
        }
    }

    /// The failure as a plugin or HTTP reports it to a person.
    pub fn to_user_error(&self) -> Error {
        Error { message: self.user_message(), ..self.to_error() }
    }

    /// The failure as tapes and logs record it, with the hook and plugin in which it began.
    pub fn to_error(&self) -> Error {
        let kind = match self {
            Self::Hook { error, .. } => {
                return Error { kind: error.kind, message: self.to_string(), details: error.details.clone() };
            }
            Self::Refused(error) | Self::Tape(error) => return error.clone(),
            Self::Cancelled | Self::LeaseLost => ErrorKind::Cancelled,
            Self::Deadline(_) => ErrorKind::Temporary,
            Self::NoModel => ErrorKind::Config,
            Self::Fault(_) | Self::Channel(_) => ErrorKind::Unknown,
        };
        Error::new(kind, self.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook { hook, plugin, error } => {
                write!(f, "hook `{hook}` of plugin `{plugin}`: {}", one_line(&error.message))
            }
            Self::Fault(fault) => fault.fmt(f),
            Self::Channel(message) => f.write_str(message),
            Self::Tape(error) => f.write_str(&error.message),
            Self::Refused(error) => f.write_str(&one_line(&error.message)),
            Self::NoModel => f.write_str("no plugin answered the prompt"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::LeaseLost => f.write_str(
                "the turn lost its lease to another worker: the next turn of the session continues from its journal",
            ),
            Self::Deadline(limit) => write!(f, "the turn ran longer than {} ms", limit.as_millis()),
        }
    }
}

/// The remedy that the user has for a plugin that broke.
fn remedy(fault: &Fault) -> String {
    let plugin = &fault.plugin;
    let raise = |limit: &str| format!("; to allow more, raise `{limit}` of `[plugins.{plugin}.limits]` in config.toml");
    match &fault.kind {
        FaultKind::OutOfFuel { .. } => raise("fuel"),
        FaultKind::OutOfMemory(_) => raise("memory_mib"),
        FaultKind::Deadline(_) => raise("deadline_ms"),
        FaultKind::TooMuchOutput(_) => raise("output_mib"),
        FaultKind::TooManyCalls(_) => raise("calls"),
        // It says so itself.
        FaultKind::OpenCircuit(_) => String::new(),
        _ if is_embedded(plugin) => String::new(),
        _ => format!(
            "; to look closer: `bub-wasm plugin check {plugin}`; to go on without it: `bub-wasm plugin remove {plugin}`"
        ),
    }
}

impl std::error::Error for Failure {}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<bub_tape::Error> for Failure {
    fn from(error: bub_tape::Error) -> Self {
        match error {
            bub_tape::Error::LeaseLost { .. } => Self::LeaseLost,
            error => Self::Tape(error.into()),
        }
    }
}
