//! The sources of texts.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// Digits of a digest that are shown.
const DIGITS: usize = 8;

/// The place of the host in the list of sources of a trail.
pub const HOST: usize = 0;

/// What a source is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// The program itself.
    #[default]
    Host,
    /// A plugin, in a hook.
    Plugin,
    /// An entry of the tape, written in this turn or before.
    Entry,
    /// The sender of the message.
    Sender,
    /// The model, in an earlier answer.
    Model,
    /// The configuration, or the session's choice of a model.
    Configuration,
}

/// A source of text. Names are strangers' texts: the code that shows them escapes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    /// What it is.
    pub kind: SourceKind,
    /// The plugin's name. Of an entry: the plugin that wrote it, where its meta says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The digest of the plugin's bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The hook in which it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// A finer name: the part of a system prompt, the tool that answered, the channel of a sender, the kind of an entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The entry's id on the tape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// The model call that wrote an entry, as its meta says (`run_id`); of anything else the turn in which it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
}

/// In words, with names as they are: `memory@5f3a01c2 system-prompt (notes)`.
impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let known = |text: &Option<String>| text.clone().unwrap_or_default();
        match self.kind {
            SourceKind::Host => f.write_str("host"),
            SourceKind::Sender => return write!(f, "sender on channel {}", known(&self.name)),
            SourceKind::Model => f.write_str("model"),
            SourceKind::Configuration => f.write_str("configuration"),
            SourceKind::Plugin => {
                let digest: String = known(&self.digest).chars().take(DIGITS).collect();
                write!(f, "{}@{digest} {}", known(&self.plugin), known(&self.hook))
            }
            SourceKind::Entry => {
                write!(f, "entry {} ({})", self.entry.unwrap_or_default(), known(&self.name))?;
                self.plugin.iter().try_for_each(|plugin| write!(f, " by {plugin}"))?;
                return self.turn.iter().try_for_each(|turn| write!(f, " {turn}"));
            }
        }?;
        self.name.iter().try_for_each(|name| write!(f, " ({name})"))
    }
}

impl Source {
    /// The host.
    pub fn host() -> Self {
        Self::default()
    }

    /// A plugin in a hook.
    pub fn plugin(name: &str, digest: &str, hook: &str) -> Self {
        let [plugin, digest, hook] = [name, digest, hook].map(|text| Some(text.to_owned()));
        Self { kind: SourceKind::Plugin, plugin, digest, hook, ..Self::default() }
    }

    /// An entry of the tape.
    pub fn entry(id: u64) -> Self {
        Self { kind: SourceKind::Entry, entry: Some(id), ..Self::default() }
    }

    /// Another kind of source.
    pub fn new(kind: SourceKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// The same source with a finer name.
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// The same source, in that turn.
    pub fn in_turn(self, turn: &str) -> Self {
        Self { turn: Some(turn.to_owned()), ..self }
    }
}
