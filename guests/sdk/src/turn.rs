//! The turn in progress.

use crate::grant::{TapeRead, TapeWorkspace};
use crate::{Context, Result, Tape, backend};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::wit::bub::types::types::{
    CutOrder, Envelope, MediaItem, MediaKind, MessageKind, Passage, Principal, Prompt, Provenance, StreamEvent,
    SystemPart, ToolCall,
};

/// A handle to the turn in progress.
#[derive(Debug)]
pub struct Turn(pub(crate) backend::Turn);

impl From<backend::Turn> for Turn {
    fn from(turn: backend::Turn) -> Self {
        Self(turn)
    }
}

impl Turn {
    /// A new id for one model call and its entries.
    pub fn new_run_id(&self) -> String {
        self.0.new_run_id()
    }

    /// The session's id.
    pub fn session_id(&self) -> String {
        self.0.session_id()
    }

    /// The path of the workspace.
    pub fn workspace(&self) -> String {
        self.0.workspace()
    }

    /// The workspace's instructions for agents, `AGENTS.md`. They are untrusted, and reading them taints the turn unless the
    /// user trusts the workspace.
    pub fn workspace_instructions(&self, name: &str) -> Option<String> {
        self.0.workspace_instructions(name)
    }

    /// The message that started the turn.
    pub fn message(&self) -> Envelope {
        self.0.message()
    }

    /// Sets the kind of the message.
    pub fn set_message_kind(&self, kind: MessageKind) {
        self.0.set_message_kind(kind);
    }

    /// The principal that caused the turn.
    pub fn principal(&self) -> Principal {
        self.0.principal()
    }

    /// Whether text by other authors is in the context of the turn.
    pub fn tainted(&self) -> bool {
        self.0.tainted()
    }

    /// When the turn began, RFC 3339 with the user's offset.
    pub fn started(&self) -> String {
        self.0.started()
    }

    /// A value of the turn's state, which later hooks see too.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if it is of another type.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.0
            .get(key)
            .map(|json| serde_json::from_str(&json).context(format!("`{key}` of the turn's state")))
            .transpose()
    }

    /// The JSON of a value of the turn's state.
    pub fn get_json(&self, key: &str) -> Option<String> {
        self.0.get(key)
    }

    /// Sets a value of the turn's state.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if it is too large.
    pub fn set<T: Serialize>(&self, key: &str, value: &T) -> Result<()> {
        self.0.set(key, &serde_json::to_string(value)?)
    }

    /// Sets a value of the turn's state from its JSON.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if it is too large or not JSON.
    pub fn set_json(&self, key: &str, json: &str) -> Result<()> {
        self.0.set(key, json)
    }

    /// The whole state, a JSON object.
    pub fn state(&self) -> String {
        self.0.state()
    }

    /// Opens the session's tape.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn tape(&self, _: TapeRead) -> Result<Tape> {
        self.0.tape().map(Tape)
    }

    /// Opens the tape that the sessions of the workspace share.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn workspace_tape(&self, _: TapeWorkspace) -> Result<Tape> {
        self.0.workspace_tape().map(Tape)
    }

    /// Sends an event to the listener of the turn, from the hook `run_model_stream`.
    ///
    /// # Errors
    ///
    /// `cancelled`, once the listener has disconnected.
    pub fn emit(&self, event: &StreamEvent) -> Result<()> {
        self.0.emit(event)
    }
}

impl SystemPart {
    /// A part of the system prompt that is cut neither first nor last.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), cut: CutOrder::Normal }
    }

    /// The same part, cut in that order where the prompt is too long.
    #[must_use]
    pub fn cut(self, cut: CutOrder) -> Self {
        Self { cut, ..self }
    }
}
