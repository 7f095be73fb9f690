//! Whether text from outside is in a conversation, where it comes from, and when that ends.
//!
//! The rule: a turn that text from outside has reached is tainted until it ends, and its conversation stays tainted until
//! an anchor whose state the owner wrote in a clean act, which is a typed command (`,tape.handoff`, `,tape.reset`). An
//! anchor that a model or a plugin writes in a tainted turn carries the taint behind it. Taint that comes from nothing but
//! the files of a workspace ends for the turns that begin once the workspace is trusted. An earlier, tainted phase of
//! the tape taints the turn that reads it.

use bub_types::text::one_line;
use std::path::Path;

/// The event that says that text from outside is in a conversation. It taints each turn that reads the conversation.
pub const TAINTED: &str = "turn.tainted";

/// Sources that a turn keeps apart.
const MAX_SOURCES: usize = 16;

/// The source of what an entry itself says to be tainted.
pub(super) const ENTRY: &str = "entry";

/// In front of a workspace's path in what an event says.
const WORKSPACE: &str = "workspace:";

/// Characters of a tool's or a channel's name that are told.
const MAX_NAME: usize = 64;

/// Where text of another author comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaintSource {
    /// The files of the workspace at that path: it ends once the owner trusts the workspace.
    Workspace(String),
    /// Anything else, by kind and name, as in `tool:web.fetch` and `channel:telegram`: it ends with the conversation's phase.
    Outside(String),
}

impl TaintSource {
    /// A file of the workspace.
    pub fn workspace(path: &Path) -> Self {
        Self::Workspace(path.to_string_lossy().into_owned())
    }

    /// A source outside of this machine and its workspace.
    pub fn outside(what: impl Into<String>) -> Self {
        Self::Outside(what.into())
    }

    pub(super) fn parse(text: String) -> Self {
        match text.strip_prefix(WORKSPACE) {
            Some(path) => Self::Workspace(path.to_owned()),
            None => Self::Outside(text),
        }
    }

    /// Why a turn is tainted by what an earlier one of its conversation read, in words that do not depend on the tape beyond
    /// a name.
    pub(super) fn earlier(&self) -> String {
        let name = |name: &str| one_line(name).chars().filter(|c| *c != '`').take(MAX_NAME).collect::<String>();
        match self {
            Self::Workspace(_) => "files of this untrusted workspace were read earlier in the conversation".to_owned(),
            Self::Outside(what) => match what.split_once(':') {
                Some(("tool", tool)) => {
                    format!("what `{}` read earlier is text from outside, and is in the conversation", name(tool))
                }
                Some(("channel", channel)) => {
                    format!(
                        "an earlier message of another sender on channel `{}` is in the conversation",
                        name(channel)
                    )
                }
                _ => "text from outside was read earlier in the conversation".to_owned(),
            },
        }
    }

    pub(super) fn written(&self) -> String {
        match self {
            Self::Workspace(path) => format!("{WORKSPACE}{path}"),
            Self::Outside(what) => what.clone(),
        }
    }
}

/// Where a source of taint is on the tape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaintOrigin {
    /// The entry that was read, or the event of an earlier turn that says that it was tainted.
    pub entry: Option<u64>,
    /// The call of a tool whose result it is, by the id that the model gave it.
    pub call: Option<String>,
}

impl TaintOrigin {
    /// An entry of the tape.
    pub fn entry(id: u64) -> Self {
        Self { entry: Some(id), call: None }
    }

    /// The result of a call.
    pub fn call(id: Option<&String>) -> Self {
        Self { entry: None, call: id.cloned() }
    }

    /// As it stands in events.
    pub(super) fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let entry = self.entry.map(|entry| ("entry".to_owned(), entry.into()));
        let call = self.call.as_deref().map(|call| ("call".to_owned(), call.into()));
        entry.into_iter().chain(call).collect()
    }

    pub(super) fn parse(data: &serde_json::Value) -> Self {
        Self { entry: data["entry"].as_u64(), call: data["call"].as_str().map(str::to_owned) }
    }
}

/// The taint of one turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Taint {
    /// Each source once, with the reason that was given first, in the order of their arrival.
    pub(super) sources: Vec<(TaintSource, String)>,
    /// Where each of them is on the tape.
    pub(super) origins: Vec<TaintOrigin>,
    /// How many of them the tape says behind its newest anchor.
    pub(super) written: usize,
}

impl Taint {
    /// The taint that a turn begins with.
    pub(super) fn new(source: Option<(TaintSource, String)>) -> Self {
        let sources: Vec<_> = source.into_iter().collect();
        Self { origins: vec![TaintOrigin::default(); sources.len()], sources, written: 0 }
    }

    pub(super) fn add(&mut self, source: TaintSource, origin: TaintOrigin, why: impl FnOnce() -> String) {
        let is_known = self.sources.iter().any(|(known, _)| *known == source);
        let has_outside = || self.sources.iter().any(|(known, _)| matches!(known, TaintSource::Outside(_)));
        // Beyond the bound only what would end later than all the others is of interest.
        let is_told = self.sources.len() < MAX_SOURCES
            || (matches!(source, TaintSource::Outside(_)) && !has_outside() && self.sources.len() < 2 * MAX_SOURCES);
        if !is_known && is_told {
            self.sources.push((source, why()));
            self.origins.push(origin);
        }
    }

    /// The data of the taint's event on the tape; none while the turn is clean.
    pub(super) fn event(&self) -> Option<serde_json::Value> {
        let (_, why) = self.sources.first()?;
        let sources: Vec<String> = self.sources.iter().map(|(source, _)| source.written()).collect();
        let mut event = serde_json::json!({ "why": why, "sources": sources });
        if self.origins.iter().any(|origin| *origin != TaintOrigin::default()) {
            event["origins"] = self.origins.iter().map(|origin| serde_json::Value::Object(origin.data())).collect();
        }
        Some(event)
    }
}
