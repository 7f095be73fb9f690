//! The making of a turn's model requests, stage by stage, for those who ask who wrote what of them. It is kept where the
//! turn's options want it, and costs nothing otherwise.

use bub_blame::{History, RequestTrail, Source, SourceKind, Step};
use bub_types::Prompt;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// What is kept of a turn so far.
#[derive(Default)]
pub(super) struct Trail {
    /// What plugins made of the message, in their order.
    pub(super) prompt: Vec<(Source, Prompt)>,
    /// The context that each plugin was given last, by the plugin's name.
    pub(super) contexts: BTreeMap<String, TrailContext>,
    pub(super) calls: Vec<Arc<TrailCall>>,
    /// The sender's message as a chat message.
    pub(super) sent: Option<Arc<str>>,
    pub(super) call_bytes: usize,
    pub(super) requests: u32,
}

/// A text with its sources, before a trail numbers them.
#[derive(Debug, Clone, Default)]
pub struct Making {
    /// The pieces that it was joined of.
    pub pieces: Vec<(Source, Arc<str>)>,
    /// The whole after each change.
    pub steps: Vec<(Source, Arc<str>)>,
}

/// The messages that an agent loop was given, in their order. How they were made is found out when it is asked for: of a turn
/// that is recorded, behind its answer.
#[derive(Clone)]
pub struct TrailContext(Arc<LazyLock<Vec<TrailMessage>, MakeMessages>>);

/// What makes them.
type MakeMessages = Box<dyn FnOnce() -> Vec<TrailMessage> + Send>;

impl TrailContext {
    /// Those that `make` returns.
    pub fn new(make: impl FnOnce() -> Vec<TrailMessage> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }

    /// The messages.
    pub fn messages(&self) -> &[TrailMessage] {
        &self.0
    }
}

impl Default for TrailContext {
    fn default() -> Self {
        Self::new(Vec::new)
    }
}

/// What a turn knows of the making of its own messages at one moment.
#[derive(Clone)]
pub struct TrailFacts {
    /// The message of this turn as the agent loop gets it: the sender's text, and what plugins made of it.
    pub(super) prompt: Vec<(Source, Prompt)>,
    pub(super) sent: Arc<str>,
    pub(super) channel: String,
    /// Messages that arrived while it ran.
    pub(super) steered: Vec<String>,
    pub(super) calls: Vec<Arc<TrailCall>>,
    /// The last entry before the turn.
    pub began: u64,
}

impl TrailFacts {
    /// The sender of messages of this turn.
    pub fn sender(&self) -> Source {
        Source::new(SourceKind::Sender).named(&self.channel)
    }

    /// The user's message of this turn as the agent loop gets it: the sender's text, and what plugins made of it.
    pub fn prompt_making(&self) -> Making {
        let mut making = Making::new(self.sender(), self.sent.clone());
        for (source, prompt) in &self.prompt {
            making.step(source.clone(), said(prompt));
        }
        making
    }

    /// Whether a message with that text arrived while the turn ran.
    pub fn has_steered(&self, text: &str) -> bool {
        self.steered.iter().any(|steered| steered.trim() == text.trim())
    }

    /// The making of the result of the call with that id.
    pub fn result_making(&self, id: &str) -> Option<Making> {
        let call = self.calls.iter().rev().find(|call| call.id.as_deref() == Some(id))?;
        (!call.result.pieces.is_empty()).then(|| call.result.clone())
    }
}

/// The source of a message that the tape has.
pub fn by_entry(id: u64, kind: &str, meta: &str) -> Source {
    let text = |key| bub_tape::json::get(meta, key).and_then(bub_tape::json::string);
    Source { plugin: text("plugin"), turn: text("run_id"), ..Source::entry(id).named(kind) }
}

/// A prompt as a user message.
pub(super) fn said(prompt: &Prompt) -> String {
    let content = match prompt {
        Prompt::Text(text) => serde_json::Value::from(text.as_str()),
        Prompt::Parts(parts) => serde_json::from_str(parts).unwrap_or_default(),
    };
    serde_json::json!({ "role": "user", "content": content }).to_string()
}

/// A message with its making.
#[derive(Debug, Clone)]
pub struct TrailMessage {
    /// What was there first, and what it became: JSON objects.
    pub making: Making,
    /// The making of its text alone.
    pub content: Option<Making>,
    /// The entry of the tape that it stands for.
    pub entry: Option<u64>,
}

/// The making of a tool call.
#[derive(Debug, Clone)]
pub struct TrailCall {
    /// The tool.
    pub tool: String,
    /// The id that the model gave it.
    pub id: Option<String>,
    /// Its arguments.
    pub arguments: Making,
    /// Its result.
    pub result: Making,
}

impl Making {
    /// A text of one source.
    pub fn new(source: Source, text: impl Into<Arc<str>>) -> Self {
        Self { pieces: vec![(source, text.into())], steps: Vec::new() }
    }

    /// The source makes this of it.
    pub fn step(&mut self, source: Source, text: impl Into<Arc<str>>) {
        let text = text.into();
        let is_same = match (self.steps.last(), &self.pieces[..]) {
            (Some((_, latest)), _) => *latest == text,
            (None, [(_, only)]) => *only == text,
            (None, pieces) => pieces.iter().map(|(_, piece)| &**piece).collect::<String>() == *text,
        };
        if !is_same {
            self.steps.push((source, text));
        }
    }

    /// As it stands in a trail.
    pub fn history(&self, trail: &mut RequestTrail) -> History {
        let mut numbered = |steps: &[(Source, Arc<str>)]| -> Vec<Step> {
            let steps = steps.iter();
            steps.map(|(source, text)| Step::new(trail.source(source.clone()), Arc::clone(text))).collect()
        };
        History { pieces: numbered(&self.pieces), steps: numbered(&self.steps) }
    }

    /// The text at its end, where it was not joined of pieces.
    pub fn latest(&self) -> Option<&str> {
        let first = || self.pieces.first().map(|(_, text)| text);
        self.steps.last().map(|(_, text)| text).or_else(first).map(|text| &**text)
    }

    pub(super) fn is_changed(&self) -> bool {
        !self.steps.is_empty()
    }
}
