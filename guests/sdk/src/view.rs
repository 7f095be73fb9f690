//! The view of a selector, and its answer.

use crate::grant::MayWrite;
use crate::tape::{Entry, Hit, Info, Query};
use crate::tool::ToolSpec;
use crate::turn::Prompt;
use crate::{Result, Tape, backend};
use serde::Serialize;

pub use crate::wit::bub::context::view::WrittenPart;
pub use crate::wit::selector::exports::bub::context::selector::{Part, Selected};

/// The tape as a selector sees it, and the model call that the selection is for.
#[derive(Debug)]
pub struct View(pub(crate) backend::View);

impl From<backend::View> for View {
    fn from(view: backend::View) -> Self {
        Self(view)
    }
}

impl View {
    /// The next entries since the latest anchor; none at the end.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn next(&self, max: u32) -> Result<Vec<Entry>> {
        self.0.next(max)
    }

    /// The ids of the next entries.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn next_ids(&self, max: u32) -> Result<Vec<u64>> {
        self.0.next_ids(max)
    }

    /// The last entries before an id, in the order in which they were written.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn tail(&self, before: Option<u64>, max: u32) -> Result<Vec<Entry>> {
        self.0.tail(before, max)
    }

    /// The entries of the tape in which words stand.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn search(&self, text: &str, max: u32, timeout_ms: u32) -> Result<Vec<Hit>> {
        self.0.search(text, max, timeout_ms)
    }

    /// The entries of the tape, or of a sidecar of the plugin's own, that meet a condition.
    ///
    /// # Errors
    ///
    /// The store's.
    pub fn query(&self, sidecar: Option<&str>, query: &Query, max: u32, timeout_ms: u32) -> Result<Vec<Entry>> {
        self.0.query(sidecar, query, max, timeout_ms)
    }

    /// Opens a tape of the plugin's own beside the session's.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant or with another name.
    pub fn sidecar(&self, _: impl MayWrite, name: &str) -> Result<Tape> {
        self.0.sidecar(name).map(Tape)
    }

    /// The tape's length and anchors.
    pub fn info(&self) -> Info {
        self.0.info()
    }

    /// The prompt of this step.
    pub fn prompt(&self) -> Prompt {
        self.0.prompt()
    }

    /// The joined system prompt.
    pub fn system_prompt(&self) -> String {
        self.0.system_prompt()
    }

    /// The parts of the system prompt, each with its plugin.
    pub fn system_parts(&self) -> Vec<WrittenPart> {
        self.0.system_parts()
    }

    /// The model, `provider:model`.
    pub fn model(&self) -> String {
        self.0.model()
    }

    /// The tokens that the request should stay within, if they are known.
    pub fn budget(&self) -> Option<u32> {
        self.0.budget()
    }

    /// The factor between the provider's token counts and the host's estimates.
    pub fn token_calibration(&self) -> f64 {
        self.0.token_calibration()
    }

    /// The id of the entry before the turn's first.
    pub fn turn_start_id(&self) -> u64 {
        self.0.turn_start_id()
    }

    /// The messages of this turn, OpenAI chat messages in JSON.
    pub fn new_messages(&self) -> Vec<String> {
        self.0.new_messages()
    }

    /// Replaces the messages of this turn by shorter ones.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if they are not the same messages.
    pub fn replace_new_messages(&self, messages: &[String]) -> Result<()> {
        self.0.replace_new_messages(messages)
    }

    /// The tools that the model is offered.
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.0.tools()
    }

    /// The JSON of a value of the turn's state.
    pub fn state(&self, key: &str) -> Option<String> {
        self.0.state(key)
    }
}

impl Default for Selected {
    /// No entries of earlier turns.
    fn default() -> Self {
        Self { system_prompt: None, before: Vec::new(), history: Vec::new(), after: Vec::new(), notes: "{}".to_owned() }
    }
}

impl Selected {
    /// These entries, and nothing else of earlier turns.
    pub fn entries(ids: impl IntoIterator<Item = u64>) -> Self {
        Self { history: ids.into_iter().map(Part::Entry).collect(), ..Self::default() }
    }

    /// The same selection with notes for people, which serialize to a JSON object.
    #[must_use]
    pub fn with_notes<T: Serialize>(self, notes: &T) -> Self {
        Self { notes: serde_json::to_string(notes).unwrap_or_else(|_| "{}".to_owned()), ..self }
    }
}
