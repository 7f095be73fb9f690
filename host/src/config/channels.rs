//! Who speaks on a channel, and what they may do there.

use serde::Deserialize;

/// `[channels.NAME]`: who speaks there, and what they may do.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Channel {
    /// Senders who are the owner.
    pub owners: Vec<String>,
    /// Senders who are known; everybody else is anonymous.
    pub peers: Vec<String>,
    /// Tools that only read and that others than the owner may use here; none: those that read the conversation, what the
    /// owner wrote for agents, and public pages.
    pub tools: Option<Vec<String>>,
    /// What a line that begins with a comma may be; none: all on `cli`, nothing elsewhere.
    pub commands: Option<Commands>,
    /// The plugin that selects here.
    pub selector: Option<String>,
}

/// What a line that begins with a comma may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Commands {
    /// A tool by its name, and what names none goes to the shell.
    All,
    /// A tool by its name.
    Tools,
    /// Text like any other.
    None,
}

impl Commands {
    /// As it is written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Tools => "tools",
            Self::None => "none",
        }
    }
}
