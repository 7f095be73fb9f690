//! Who speaks on a channel, and what they may do there.

use serde::{Deserialize, Serialize};

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
    /// How long the next message of a chat is waited for before a turn begins, where the channel asks for that.
    pub debounce_seconds: Option<f64>,
    /// How long a message that is not meant for the agent waits for others, in a chat that it listens to.
    pub max_wait_seconds: Option<f64>,
    /// How long a chat is listened to behind a message that was meant for the agent.
    pub active_time_window: Option<f64>,
    /// What becomes of an answer of which nobody knows whether it was delivered, where the channel delivers it twice.
    pub resend: Resend,
}

/// What becomes of an answer whose delivery was interrupted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resend {
    /// It is sent again, and says so.
    #[default]
    Mark,
    /// It is not sent again.
    Never,
}

/// What a line that begins with a comma may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
