//! The state that changes while a turn runs: the message's kind, the state that hooks share, model calls and streamed
//! output.

use super::data::{StreamedOutput, Turn};
use crate::host::Host;
use bub_recordings::{Mark, Packed};
use bub_types::{Envelope, MessageKind, Principal, StreamEvent};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

impl Turn {
    /// The message's kind, as hooks have left it.
    pub fn kind(&self) -> MessageKind {
        self.progress().kind
    }

    /// Changes the message's kind.
    pub fn set_kind(&self, kind: MessageKind) {
        let mut progress = self.progress();
        progress.changes += u64::from(progress.kind != kind);
        progress.kind = kind;
    }

    /// The message, with its current kind.
    pub fn envelope(&self) -> Envelope {
        Envelope { kind: self.kind(), ..Envelope::clone(&self.message) }
    }

    /// The state that hooks share, as it is now.
    pub fn state(&self) -> Arc<Map<String, Value>> {
        self.progress().state.clone()
    }

    pub(super) fn replace_state(&self, state: Arc<Map<String, Value>>) {
        let mut progress = self.progress();
        progress.changes += 1;
        progress.state = state;
    }

    /// One value of the state.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.progress().state.get(key).cloned()
    }

    /// Sets one value of the state.
    pub fn set(&self, key: String, value: Value) {
        let mut progress = self.progress();
        progress.changes += u64::from(progress.state.get(&key) != Some(&value));
        Arc::make_mut(&mut progress.state).insert(key, value);
    }

    /// Sets the prompt as hooks see it.
    pub(super) fn set_prompt(&self, prompt: String) {
        let mut progress = self.progress();
        progress.changes += 1;
        progress.prompt = Some(prompt.into());
    }

    /// A new id for the entries of one model call.
    pub fn new_run_id(&self) -> String {
        let id = bub_tape::run_id();
        self.progress().run_ids.push(id.clone());
        id
    }

    /// The id of the latest model call.
    pub fn last_run_id(&self) -> Option<String> {
        self.progress().run_ids.last().cloned()
    }

    /// The ids of all model calls so far.
    pub(super) fn run_ids(&self) -> Vec<String> {
        self.progress().run_ids.clone()
    }

    /// Whether that id is one of this turn's model calls.
    pub fn gave_run_id(&self, id: &str) -> bool {
        self.progress().run_ids.iter().any(|given| given == id)
    }

    /// Resets the streamed output: from now on that plugin's events count.
    pub fn start_stream(&self, plugin: &str) {
        self.progress().streamed = StreamedOutput { plugin: Some(plugin.to_owned()), ..StreamedOutput::default() };
    }

    /// Whether that plugin's model hook is running.
    pub fn is_streaming(&self, plugin: &str) -> bool {
        self.progress().streamed.plugin.as_deref() == Some(plugin)
    }

    /// Records one event of the running model hook; its text is part of the output.
    pub fn record_stream_event(&self, event: &StreamEvent) {
        let mut progress = self.progress();
        progress.streamed.events += 1;
        if let StreamEvent::Text(text) = event {
            progress.streamed.text.push_str(text);
        }
    }

    /// The output of the running model hook, and its number of events.
    pub fn streamed(&self) -> (String, u64) {
        let progress = self.progress();
        (progress.streamed.text.clone(), progress.streamed.events)
    }

    /// Records why a model call of the agent loop ended.
    pub fn note_finish_reason(&self, reason: &str) {
        self.progress().finish_reason = Some(reason.to_owned());
    }

    /// Why the latest model call of the agent loop ended, as its provider said: `stop`, `length`, `content_filter`.
    pub fn finish_reason(&self) -> Option<String> {
        self.progress().finish_reason.clone()
    }

    /// The turn as hooks see it, as JSON, for crash reports.
    pub fn snapshot(&self) -> Value {
        self.view().shown(&self.state())
    }

    /// The same, to be made later from copies, which hold about that many bytes.
    pub fn late_snapshot(&self) -> (usize, Box<dyn FnOnce() -> Value + Send>) {
        let view = self.view();
        // In one block of memory. If the state were shared, each change of it would copy all of its values.
        let mut state = Packed::default();
        state.map(&self.progress().state);
        // The context of a message is small beside the texts.
        let texts = view.message.content.len() + view.prompt.as_ref().map_or(0, |prompt| prompt.len());
        let weight = 1024 + texts + state.since(Mark::default());
        let made = move || view.shown(&state.read(Mark::default()).value());
        (weight, Box::new(made))
    }

    /// The turn as hooks see it now, without the state.
    fn view(&self) -> View {
        let is_tainted = self.tainted().is_some();
        let progress = self.progress();
        View {
            message: self.message.clone(),
            kind: progress.kind,
            session: self.session_id.clone(),
            host: self.scope.host.clone(),
            started: self.started.timestamp(),
            principal: self.principal,
            is_tainted,
            prompt: progress.prompt.clone(),
        }
    }

    /// A number that is another one when [`Self::snapshot`] is.
    pub fn snapshot_key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.id, self.tainted().is_some(), self.progress().changes).hash(&mut hasher);
        hasher.finish()
    }

    /// Restricts the turn to the sessions that another sender can reach, too.
    pub(super) fn narrow_to(&self, prefix: String) {
        let mut progress = self.progress();
        // Both reach the turn's own session, so one of the two begins with the other.
        if prefix.len() > progress.session_prefix.len() {
            progress.session_prefix = prefix;
        }
    }
}

/// A turn as hooks saw it, without its state.
struct View {
    message: Arc<Envelope>,
    kind: MessageKind,
    session: String,
    /// Of whose workspace it is.
    host: Arc<Host>,
    started: Timestamp,
    principal: Principal,
    is_tainted: bool,
    prompt: Option<Arc<str>>,
}

impl View {
    /// The turn as JSON, with that state.
    fn shown(&self, state: &impl Serialize) -> Value {
        serde_json::json!({
            "message": Envelope { kind: self.kind, ..Envelope::clone(&self.message) },
            "session": self.session,
            "workspace": self.host.workspace,
            "started": self.started.to_string(),
            "principal": self.principal,
            "tainted": self.is_tainted,
            "prompt": self.prompt.as_deref(),
            "state": state,
        })
    }
}
