//! What the host keeps of the making of a request.

use crate::difference::{History, Step};
use crate::source::{HOST, Source};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The version of the format of trails.
pub const FORMAT: u32 = 1;

/// How a request was made: its parts, and what each stage made of them. Shared texts are not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTrail {
    /// The version of this format.
    pub format: u32,
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: String,
    /// Which request of its turn it is, from 1.
    pub request: u32,
    /// The id of the model call, as in the meta of the entries that it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What the caller says that it is for.
    pub purpose: String,
    /// The model that was asked.
    pub model: String,
    /// All sources; the first one is the host.
    pub sources: Vec<Source>,
    /// The messages, tools and settings before the first stage.
    pub parts: Vec<Part>,
    /// The stages, in their order.
    pub stages: Vec<Stage>,
    /// The tool calls of the turn before this request.
    pub calls: Vec<CallTrail>,
    /// The body that was sent. Media stand in it as marks.
    pub body: Arc<str>,
    #[serde(skip)]
    places: Places,
}

/// Where sources stand in the list, which a trail of a long conversation has many of. It says nothing that the list does not
/// say, so all are equal.
#[derive(Debug, Clone, Default)]
struct Places(HashMap<Source, usize>);

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Places {}

/// Takes each trail when its request is sent.
pub type TrailSink = Arc<dyn Fn(RequestTrail) + Send + Sync>;

/// What a part of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// A chat message.
    Message,
    /// A tool that the model may call.
    Tool,
    /// Model, limits and options: one JSON object.
    Settings,
}

/// A message, a tool or the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// A JSON object.
    pub text: Arc<str>,
    /// The source of all of it that nothing finer is known about.
    pub source: usize,
    /// The entry of the tape that it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// Texts in it whose making is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finer: Vec<Finer>,
    /// The object after each stage that changed it before the request was put together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// The making of one text of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finer {
    /// The names that lead to it, joined by dots: `content`.
    pub path: String,
    /// Its history.
    pub history: History,
}

/// What a stage made of a request. What is `None` it did not touch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The source.
    pub source: usize,
    /// All messages after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Arc<str>>>,
    /// All tools after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Arc<str>>>,
    /// The settings after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Arc<str>>,
}

/// The making of the arguments and the result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTrail {
    /// The tool's name.
    pub tool: String,
    /// The id that the model gave the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The arguments: those that the model wrote, and what plugins made of them.
    pub arguments: History,
    /// The result: the tool's, and what plugins made of it.
    pub result: History,
}

impl RequestTrail {
    /// An empty trail.
    pub fn new(session: &str, turn: &str) -> Self {
        Self {
            format: FORMAT,
            session: session.to_owned(),
            turn: turn.to_owned(),
            request: 1,
            run_id: None,
            purpose: String::new(),
            model: String::new(),
            sources: vec![Source::host()],
            parts: Vec::new(),
            stages: Vec::new(),
            calls: Vec::new(),
            body: "".into(),
            places: Places::default(),
        }
    }

    /// The place of a source in the list, where it is added if it is new.
    pub fn source(&mut self, source: Source) -> usize {
        if self.places.0.len() != self.sources.len() {
            self.places.0 = self.sources.iter().cloned().zip(0..).collect();
        }
        let next = self.sources.len();
        let place = *self.places.0.entry(source.clone()).or_insert(next);
        if place == next {
            self.sources.push(source);
        }
        place
    }

    /// Reads a trail that was kept.
    ///
    /// # Errors
    ///
    /// It is not one, or one of a later version. The error is one line.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = serde_json::from_str(text).map_err(|error| format!("it is no trail: {error}"))?;
        if version.format != FORMAT {
            return Err(format!("its format is {}, and this program reads {FORMAT}; use a newer one", version.format));
        }
        let trail: Self = serde_json::from_str(text).map_err(|error| format!("it is no trail: {error}"))?;
        trail.check()?;
        Ok(trail)
    }

    /// Checks that every source that it names is there.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.sources.get(HOST) != Some(&Source::host()) {
            return Err("its first source is not the host".to_owned());
        }
        let histories = self.calls.iter().flat_map(|call| [&call.arguments, &call.result]);
        let finer = self.parts.iter().flat_map(|part| part.finer.iter().map(|finer| &finer.history));
        let steps = self.parts.iter().flat_map(|part| part.steps.iter().map(|step| step.source));
        let named = self.parts.iter().map(|part| part.source).chain(self.stages.iter().map(|stage| stage.source));
        let named = named.chain(steps).chain(histories.chain(finer).flat_map(History::sources));
        match named.into_iter().find(|source| *source >= self.sources.len()) {
            Some(source) => Err(format!("it names source {source} of {}", self.sources.len())),
            None => Ok(()),
        }
    }
}

impl Part {
    /// A part of that source.
    pub fn new(kind: PartKind, text: impl Into<Arc<str>>, source: usize) -> Self {
        Self { kind, text: text.into(), source, entry: None, finer: Vec::new(), steps: Vec::new() }
    }
}

impl Stage {
    /// A stage that changed nothing yet.
    pub fn new(source: usize) -> Self {
        Self { source, ..Self::default() }
    }

    /// The same with these messages.
    pub fn with_messages<T: Into<Arc<str>>>(self, messages: impl IntoIterator<Item = T>) -> Self {
        Self { messages: Some(messages.into_iter().map(Into::into).collect()), ..self }
    }
}
