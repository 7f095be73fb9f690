//! The selector of a turn: the session's choice precedes the channel's, which precedes the configuration's default.

use bub_config::Config;
use bub_tape::{Lookup, Tape, json};

/// The event that stores a session's choice.
pub(super) const SWITCH: &str = "selector_switch";

/// Resets the session's choice.
const DEFAULT: &str = "default";

/// Where a selector was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChosenBy {
    /// On the session's tape, by a command.
    Session,
    /// In the configuration, for that channel.
    Channel(String),
    /// In the configuration, for all channels.
    Configuration,
}

impl ChosenBy {
    /// A short description for messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Session => "`,selector` in this session".to_owned(),
            Self::Channel(channel) => format!("`selector` in `[channels.{channel}]`"),
            Self::Configuration => "`selector` in the configuration".to_owned(),
        }
    }
}

/// The chosen selector, and where it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorChoice {
    /// The selector's name.
    pub name: String,
    /// Where it was chosen.
    pub by: ChosenBy,
}

impl SelectorChoice {
    /// The configuration's choice for a channel, if there is one.
    pub fn configured(config: &Config, channel: &str) -> Option<Self> {
        let (name, is_channels) = config.selector(channel)?;
        let by = if is_channels { ChosenBy::Channel(channel.to_owned()) } else { ChosenBy::Configuration };
        (name != DEFAULT).then(|| Self { name: name.to_owned(), by })
    }

    /// The choice that holds for the session of that tape. An event with a plugin's name in its meta was not written by
    /// the agent itself, and chooses nothing; and `default` lifts what the session has chosen before.
    pub async fn of_session(config: &Config, channel: &str, tape: &Tape) -> bub_tape::Result<Option<Self>> {
        let newest = tape.newest(&Lookup::event(SWITCH)).await?;
        let own = newest.filter(|entry| json::get(&entry.meta, "plugin").is_none());
        let name = own.and_then(|entry| json::string(json::get(json::get(&entry.payload, "data")?, "selector")?));
        let chosen = name.filter(|name| !name.is_empty() && name != DEFAULT);
        let session = chosen.map(|name| Self { name, by: ChosenBy::Session });
        Ok(session.or_else(|| Self::configured(config, channel)))
    }
}
