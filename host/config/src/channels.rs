//! Principals of a channel and their permissions.

use serde::{Deserialize, Serialize};

/// `[channels.NAME]`: principals, permissions and timing of a channel.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Channel {
    /// Senders with the principal `owner`.
    pub owners: Vec<String>,
    /// Senders with the principal `peer`; all others are anonymous.
    pub peers: Vec<String>,
    /// Read-only tools that peers and anonymous senders may use here. Default: those that read the conversation, skills
    /// and public pages.
    pub tools: Option<Vec<String>>,
    /// Which comma commands are allowed. Default: all on `cli`, none elsewhere.
    pub commands: Option<Commands>,
    /// The selector plugin of this channel.
    pub selector: Option<String>,
    /// Debounce time: how long a chat must be quiet before a turn starts, on channels that ask for debouncing.
    pub debounce_seconds: Option<f64>,
    /// How long a message that does not address the agent is debounced at most, in a chat with an open active window.
    pub max_wait_seconds: Option<f64>,
    /// How long after a message to the agent the other messages of the chat are accepted too.
    pub active_time_window: Option<f64>,
    /// Whether an answer with uncertain delivery is sent again, on channels that do not deduplicate.
    pub resend: Resend,
}

/// The handling of an answer whose delivery was interrupted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resend {
    /// Send it again, marked as repeated.
    #[default]
    Mark,
    /// Do not send it again.
    Never,
}

/// Which comma commands are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Commands {
    /// Tools by name; anything else goes to the shell.
    All,
    /// Tools by name.
    Tools,
    /// None: such lines are text.
    None,
}

impl Commands {
    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Tools => "tools",
            Self::None => "none",
        }
    }
}
