//! Keeps how the requests of a turn are made, where it is wanted.

use super::data::Turn;
use super::prompt_cache::SystemPrompt;
use super::trail::{Making, TrailCall, TrailContext, TrailFacts, said};
use crate::plugin::Plugin;
use bub_blame::{RequestTrail, Source, SourceKind, TrailSink};
use bub_types::hook::Hook;
use bub_types::{Prompt, ToolCall};
use std::sync::Arc;

/// Tool calls of a turn whose making is kept, and the bytes of their texts.
const MAX_CALLS: usize = 256;
const MAX_CALL_BYTES: usize = 16 << 20;

/// What the names of trails in recordings begin with.
pub const TRAILS: &str = "request/";

/// The name of a trail in the recording of its turn.
fn trail_name(turn: &str, request: u32) -> String {
    format!("{TRAILS}{turn}/{request:05}")
}

/// A plugin in a hook, as a source.
pub fn by_plugin(plugin: &Plugin, hook: &str) -> Source {
    Source::plugin(&plugin.name, &plugin.digest, hook)
}

impl Turn {
    /// Whether the making of its requests is kept.
    pub fn keeps_trail(&self) -> bool {
        self.trails().is_some() || self.is_collected()
    }

    /// Who wants them: what asks for a preview, or all of the host's turns.
    fn trails(&self) -> Option<&TrailSink> {
        let of_host = self.scope.host.trails.as_ref().filter(|_| !self.is_preview);
        self.options.trails.as_ref().or(of_host)
    }

    /// Hands a trail over that `make` makes, of that number and about that many bytes.
    pub fn hand_over(&self, request: u32, bytes: usize, make: impl FnOnce() -> RequestTrail + Send + 'static) {
        let name = trail_name(&self.id, request);
        let shown = |trail: RequestTrail| serde_json::to_value(trail).unwrap_or_default();
        let Some(sink) = self.trails() else { return self.record_object(name, bytes, move || shown(make())) };
        let trail = make();
        sink(trail.clone());
        self.record_object(name, bytes, move || shown(trail));
    }

    /// The number of the next request, from 1.
    pub fn next_request(&self) -> u32 {
        let mut trail = self.trail.lock();
        trail.requests = trail.requests.saturating_add(1);
        trail.requests
    }

    /// A plugin made this of the message.
    pub fn trail_prompt(&self, plugin: &Plugin, prompt: &Prompt) {
        if self.keeps_trail() {
            self.trail.lock().prompt.push((by_plugin(plugin, Hook::BuildPrompt.name()), prompt.clone()));
        }
    }

    /// What is known of the making of its messages so far.
    pub fn trail_facts(&self) -> TrailFacts {
        let (prompt, calls, sent) = {
            let mut trail = self.trail.lock();
            let sent =
                trail.sent.get_or_insert_with(|| said(&Prompt::Text(crate::channel::shown(&self.message))).into());
            let sent = sent.clone();
            (trail.prompt.clone(), trail.calls.clone(), sent)
        };
        let (channel, steered) = (self.message.channel.clone(), self.steered.lock().clone());
        TrailFacts { prompt, sent, channel, steered, calls, began: self.began() }
    }

    /// The context that a plugin gets.
    pub fn trail_context(&self, plugin: &str, context: TrailContext) {
        self.trail.lock().contexts.insert(plugin.to_owned(), context);
    }

    /// The context that a plugin got last.
    pub fn context_of(&self, plugin: &str) -> TrailContext {
        self.trail.lock().contexts.get(plugin).cloned().unwrap_or_default()
    }

    /// A call of a tool begins.
    pub fn trail_call(&self, call: &ToolCall) {
        if !self.keeps_trail() {
            return;
        }
        let mut trail = self.trail.lock();
        if trail.calls.len() < MAX_CALLS {
            let arguments = Making::new(Source::new(SourceKind::Model), call.arguments.as_str());
            let result = Making::default();
            let call = TrailCall { tool: call.name.clone(), id: call.id.clone(), arguments, result };
            trail.calls.push(Arc::new(call));
        }
    }

    /// A plugin wants other arguments.
    pub fn trail_arguments(&self, call: &ToolCall, plugin: &Plugin, arguments: &str) {
        let source = by_plugin(plugin, Hook::BeforeToolCall.name());
        self.change_call(call, arguments.len(), |known| known.arguments.step(source, arguments));
    }

    /// The call has this result: the first one, or what a source made of the one before.
    pub fn trail_result(&self, call: &ToolCall, source: impl FnOnce() -> Source, result: &str) {
        self.change_call(call, result.len(), |known| match known.result.pieces.is_empty() {
            true => known.result = Making::new(source(), result),
            false => known.result.step(source(), result),
        });
    }

    fn change_call(&self, call: &ToolCall, bytes: usize, change: impl FnOnce(&mut TrailCall)) {
        if !self.keeps_trail() {
            return;
        }
        let mut trail = self.trail.lock();
        trail.call_bytes = trail.call_bytes.saturating_add(bytes);
        if trail.call_bytes > MAX_CALL_BYTES {
            return;
        }
        // A model may give two calls one id: the latest one is running.
        if let Some(known) = trail.calls.iter_mut().rev().find(|known| known.id == call.id) {
            change(Arc::make_mut(known));
        }
    }

    /// The calls of which plugins changed something.
    pub fn changed_calls(&self) -> Vec<Arc<TrailCall>> {
        let trail = self.trail.lock();
        let changed = trail.calls.iter().filter(|call| call.arguments.is_changed() || call.result.is_changed());
        changed.cloned().collect()
    }

    /// The parts of the system prompt that plugins answered last, however the agent loop sends it.
    pub fn answered_system_prompt(&self) -> Option<SystemPrompt> {
        self.prompt_cache.lock().as_ref().map(|cache| cache.prompt.clone())
    }
}
