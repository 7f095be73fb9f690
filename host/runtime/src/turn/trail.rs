//! The making of a turn's model requests, stage by stage, for those who ask who wrote what of them. It is kept where the
//! turn's options want it, and costs nothing otherwise.

use bub_blame::{History, RequestTrail, Source, Step};
use bub_types::Prompt;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is kept of a turn so far.
#[derive(Default)]
pub(super) struct Trail {
    /// What plugins made of the message, in their order.
    pub(super) prompt: Vec<(Source, Prompt)>,
    /// The context that each plugin was given last, by the plugin's name.
    pub(super) contexts: BTreeMap<String, TrailContext>,
    pub(super) calls: Vec<TrailCall>,
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

/// The messages that an agent loop was given.
#[derive(Debug, Clone, Default)]
pub struct TrailContext {
    /// The messages, in their order.
    pub messages: Vec<TrailMessage>,
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
