//! Calls of models, and models that a plugin provides.

use crate::grant::{Model, Usage};
use crate::{Result, Turn, backend};

pub use crate::wit::bub::model::exchange::{Event, Request};
pub use crate::wit::bub::model::usage::Row;

/// A running call. Dropping it cancels the call.
#[derive(Debug)]
pub struct Completion(backend::chat::Completion);

impl Model {
    /// Calls a model.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant or over budget; the provider's.
    pub fn complete(&self, turn: &Turn, request: &Request) -> Result<Completion> {
        backend::chat::complete(&turn.0, request).map(Completion)
    }

    /// Asks a model one question, and returns the text of its answer.
    ///
    /// # Errors
    ///
    /// As [`complete`](Self::complete).
    pub fn ask(&self, turn: &Turn, request: &Request) -> Result<String> {
        let completion = self.complete(turn, request)?;
        let mut answer = String::new();
        while let Some(event) = completion.next()? {
            if let Event::Text(text) = event {
                answer.push_str(&text);
            }
        }
        Ok(answer)
    }
}

impl Completion {
    /// The next event; none at the end.
    ///
    /// # Errors
    ///
    /// The provider's.
    pub fn next(&self) -> Result<Option<Event>> {
        self.0.next()
    }
}

impl Default for Request {
    /// No messages and no tools, for the session's model.
    fn default() -> Self {
        Self {
            model: None,
            messages: Vec::new(),
            tools: Vec::new(),
            max_tokens: None,
            purpose: "plugin".to_owned(),
            options: None,
        }
    }
}

impl Request {
    /// One message of the user, for a purpose that hooks and usage reports show.
    pub fn question(purpose: &str, text: &str) -> Self {
        // A text always has a JSON.
        let text = serde_json::to_string(text).unwrap_or_default();
        let message = format!(r#"{{"role":"user","content":{text}}}"#);
        Self { messages: vec![message], purpose: purpose.to_owned(), ..Self::default() }
    }
}

/// The context window of a model in tokens, if it is known.
pub fn window(model: &str) -> Option<u32> {
    backend::chat::window(model)
}

/// The tokens that a request should stay within.
pub fn input_budget(model: &str) -> Option<u32> {
    backend::chat::input_budget(model)
}

/// The factor between the provider's token counts and the host's estimates.
pub fn token_calibration(model: &str) -> f64 {
    backend::chat::token_calibration(model)
}

impl Usage {
    /// The usage of this session in the last days, today included.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn session(&self, turn: &Turn, days: u32) -> Result<Vec<Row>> {
        backend::usage::session(&turn.0, days)
    }

    /// The usage of all sessions since midnight.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn today(&self) -> Result<Vec<Row>> {
        backend::usage::today()
    }

    /// The token limit of a day.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn daily_limit(&self) -> Result<Option<u64>> {
        backend::usage::daily_limit()
    }
}

/// The stream that a provider sends its answer to.
#[derive(Debug)]
pub struct Sink(pub(crate) backend::Sink);

impl From<backend::Sink> for Sink {
    fn from(sink: backend::Sink) -> Self {
        Self(sink)
    }
}

impl Sink {
    /// Sends an event.
    ///
    /// # Errors
    ///
    /// `cancelled`, once the reader has disconnected.
    pub fn send(&self, event: &Event) -> Result<()> {
        self.0.send(event)
    }
}
