//! The events of a turn as updates of its session.

use super::calls::{self, Calls};
use super::client::Client;
use super::wording;
use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, SessionUpdate, TextContent, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, UsageUpdate,
};
use bub_model::usage::Tokens;
use bub_runtime::host::Host;
use bub_runtime::turn::TurnEvent;
use bub_types::StreamEvent;
use bub_types::text::{clipped, one_line, shown};
use serde_json::Value;
use std::sync::Arc;

/// The most text of one update, in bytes.
const MAX_TEXT: usize = 16 << 10;

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Thought,
}

/// Sends the updates of one prompt.
pub(crate) struct Updates {
    client: Client,
    session: String,
    host: Arc<Host>,
    calls: Arc<Calls>,
    /// Text that has gathered.
    text: String,
    kind: Kind,
    /// All text of the answer so far.
    said: String,
}

impl Updates {
    pub(crate) fn new(client: &Client, session: &str, host: &Arc<Host>, calls: &Arc<Calls>) -> Self {
        Self {
            client: client.clone(),
            session: session.to_owned(),
            host: Arc::clone(host),
            calls: Arc::clone(calls),
            text: String::new(),
            kind: Kind::Message,
            said: String::new(),
        }
    }

    /// An event. Text gathers until [`flush`](Self::flush).
    pub(crate) async fn event(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Event(StreamEvent::Text(text)) => {
                self.said.push_str(&text);
                self.push(Kind::Message, &text).await;
            }
            TurnEvent::Event(StreamEvent::Reasoning(text)) => self.push(Kind::Thought, &text).await,
            TurnEvent::Event(StreamEvent::Usage(usage)) => self.usage(&usage).await,
            TurnEvent::Event(_) => {}
            TurnEvent::Retry { why, pause } => {
                let why = clipped(&one_line(&why), 300);
                let line = format!("The model is asked again in {:.1} s: {why}\n", pause.as_secs_f64());
                self.push(Kind::Thought, &line).await;
            }
            TurnEvent::ToolBegins { call, name, arguments, .. } => {
                let announcement = self.calls.announcement(call, &name, &arguments);
                self.send(SessionUpdate::ToolCall(announcement)).await;
                self.calls.announced(call);
            }
            TurnEvent::ToolEnds { call, outcome, .. } => self.ended(call, &outcome).await,
        }
    }

    /// Sends the text that has gathered.
    pub(crate) async fn flush(&mut self) {
        while !self.text.is_empty() {
            let rest = self.text.split_off(self.text.floor_char_boundary(MAX_TEXT));
            let text = std::mem::replace(&mut self.text, rest);
            let update = chunk(self.kind == Kind::Thought, &text);
            self.client.update(&self.session, update).await;
        }
    }

    /// A message that the turn delivered, unless it was streamed.
    pub(crate) async fn message(&mut self, text: &str) {
        if text.trim().is_empty() || text.trim() == self.said.trim() {
            return;
        }
        let text = if self.said.is_empty() { text.to_owned() } else { format!("\n\n{text}") };
        self.said.push_str(&text);
        self.push(Kind::Message, &text).await;
        self.flush().await;
    }

    async fn push(&mut self, kind: Kind, text: &str) {
        if self.kind != kind {
            self.flush().await;
            self.kind = kind;
        }
        self.text.push_str(text);
        if self.text.len() >= MAX_TEXT {
            self.flush().await;
        }
    }

    /// How much of the model's window the conversation takes.
    async fn usage(&mut self, usage: &str) {
        let used = Tokens::reported(usage).map(|tokens| tokens.total);
        let size = self.host.config.window(&self.host.config.model.model);
        if let (Some(used), Some(size)) = (used, size) {
            self.send(SessionUpdate::UsageUpdate(UsageUpdate::new(used, u64::from(size)))).await;
        }
    }

    async fn ended(&mut self, call: u64, outcome: &Result<String, String>) {
        let change = self.calls.ended(call);
        let status = if outcome.is_ok() { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let mut content: Vec<ToolCallContent> = change.map(ToolCallContent::from).into_iter().collect();
        let (text, raw) = match outcome {
            Ok(result) => (wording::result(result), wording::raw(result)),
            Err(error) => (Some(wording::block(error)), Value::from(clipped(error, 4000))),
        };
        // Where a difference shows what was done, the tool's own words add nothing.
        if content.is_empty() || outcome.is_err() {
            content.extend(text.map(ToolCallContent::from));
        }
        let fields = ToolCallUpdateFields::new().status(status).content(content).raw_output(raw);
        self.send(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(calls::id(call), fields))).await;
    }

    async fn send(&mut self, update: SessionUpdate) {
        self.flush().await;
        self.client.update(&self.session, update).await;
    }
}

/// A piece of the agent's text.
pub(crate) fn chunk(is_thought: bool, text: &str) -> SessionUpdate {
    let chunk = text_chunk(text);
    match is_thought {
        true => SessionUpdate::AgentThoughtChunk(chunk),
        false => SessionUpdate::AgentMessageChunk(chunk),
    }
}

/// A piece of text, without what a terminal would obey.
pub(crate) fn text_chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(shown(text))))
}
