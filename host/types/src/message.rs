//! Messages: what comes in from a channel and what goes out to one.

use crate::Json;
use serde::{Deserialize, Serialize};
#[cfg(feature = "component")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// The kind of a message. The host identifies commands once, from the configuration of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(enum), repr(u8))]
pub enum MessageKind {
    /// Text for the model.
    #[cfg_attr(feature = "component", component(name = "normal"))]
    Normal,
    /// A comma command.
    #[cfg_attr(feature = "component", component(name = "command"))]
    Command,
    /// An error message.
    #[cfg_attr(feature = "component", component(name = "error"))]
    Error,
}

/// The principal of a turn. The host derives it from the channel and the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(enum), repr(u8))]
pub enum Principal {
    /// The user who runs the agent.
    #[cfg_attr(feature = "component", component(name = "owner"))]
    Owner,
    /// A person whom the owner has named.
    #[cfg_attr(feature = "component", component(name = "peer"))]
    Peer,
    /// Any other sender.
    #[cfg_attr(feature = "component", component(name = "anonymous"))]
    Anonymous,
    /// The clock, by a schedule of the owner.
    #[cfg_attr(feature = "component", component(name = "schedule"))]
    Schedule,
}

impl Principal {
    /// Its name in the contracts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Peer => "peer",
            Self::Anonymous => "anonymous",
            Self::Schedule => "schedule",
        }
    }
}

/// The kind of an attached file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(enum), repr(u8))]
pub enum MediaKind {
    /// A picture.
    #[cfg_attr(feature = "component", component(name = "image"))]
    Image,
    /// Audio.
    #[cfg_attr(feature = "component", component(name = "audio"))]
    Audio,
    /// Video.
    #[cfg_attr(feature = "component", component(name = "video"))]
    Video,
    /// Any other file.
    #[cfg_attr(feature = "component", component(name = "document"))]
    Document,
}

/// When a part of the system prompt is cut from a request that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(enum), repr(u8))]
pub enum CutOrder {
    /// Before the others: long text, and text that the model can read elsewhere.
    #[cfg_attr(feature = "component", component(name = "first"))]
    First,
    /// Between the two.
    #[cfg_attr(feature = "component", component(name = "normal"))]
    Normal,
    /// After all others: text without which the model answers wrongly.
    #[cfg_attr(feature = "component", component(name = "last"))]
    Last,
}

/// A part of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct SystemPart {
    /// A name for people: `memory`, `date`. One to 64 lower-case ASCII letters, digits and `-`.
    pub name: String,
    /// The text.
    pub text: String,
    /// When it is cut.
    pub cut: CutOrder,
}

/// Where a part of a message comes from. The host taints a turn by each part that is not [`Written`](Self::Written).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(enum), repr(u8))]
pub enum Provenance {
    /// Made by the sender.
    #[cfg_attr(feature = "component", component(name = "written"))]
    Written,
    /// From the message that this one answers or quotes.
    #[cfg_attr(feature = "component", component(name = "quoted"))]
    Quoted,
    /// Forwarded by the sender.
    #[cfg_attr(feature = "component", component(name = "forwarded"))]
    Forwarded,
    /// Attached by another author.
    #[cfg_attr(feature = "component", component(name = "attached"))]
    Attached,
}

/// A file that belongs to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct MediaItem {
    /// The kind, which decides how it is shown to a model.
    pub kind: MediaKind,
    /// The media type, such as `image/png`.
    #[cfg_attr(feature = "component", component(name = "mime-type"))]
    pub mime_type: String,
    /// The name that the sender gave it.
    pub filename: Option<String>,
    /// An `https:` or `data:` URL.
    pub url: String,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Text of a message besides what the sender wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct Passage {
    /// Where it comes from.
    pub provenance: Provenance,
    /// The author's name or handle, if the channel knows it.
    pub author: Option<String>,
    /// The text.
    pub text: String,
}

/// A message: what comes in from a channel and what goes out to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(record))]
pub struct Envelope {
    /// The channel's own id of the message, by which it is deduplicated.
    pub id: Option<String>,
    /// The session that it belongs to, if the channel says so.
    #[cfg_attr(feature = "component", component(name = "session-id"))]
    pub session_id: Option<String>,
    /// The channel that it came from or goes to.
    pub channel: String,
    /// The chat of that channel.
    #[cfg_attr(feature = "component", component(name = "chat-id"))]
    pub chat_id: String,
    /// The channel's id of the sender.
    pub sender: Option<String>,
    /// Only the sender's own text.
    pub content: String,
    /// All other text of the message, in order.
    pub passages: Vec<Passage>,
    /// The kind.
    pub kind: MessageKind,
    /// Facts about the message, in order; keys that begin with `_` never reach the prompt.
    pub context: Vec<(String, Json)>,
    /// Attached files.
    pub media: Vec<MediaItem>,
    /// Where replies go, if not to `channel`.
    #[cfg_attr(feature = "component", component(name = "output-channel"))]
    pub output_channel: Option<String>,
}

/// The prompt of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "component", derive(ComponentType, Lift, Lower), component(variant))]
pub enum Prompt {
    /// Plain text.
    #[cfg_attr(feature = "component", component(name = "text"))]
    Text(String),
    /// Content parts as in chat completions, a JSON array.
    #[cfg_attr(feature = "component", component(name = "parts"))]
    Parts(Json),
}

impl Envelope {
    /// A message of a person, without an id, attached files or text of others.
    pub fn new(channel: impl Into<String>, chat_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            id: None,
            session_id: None,
            channel: channel.into(),
            chat_id: chat_id.into(),
            sender: None,
            content: content.into(),
            passages: Vec::new(),
            kind: MessageKind::Normal,
            context: Vec::new(),
            media: Vec::new(),
            output_channel: None,
        }
    }
}

impl Prompt {
    /// The prompt as text; of content parts, the text parts, one per line.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let parts: Vec<serde_json::Value> = serde_json::from_str(parts).unwrap_or_default();
                let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
                texts.join("\n")
            }
        }
    }
}
