//! The making of a request, from the parts that the agent loop was given to the body that is sent.

use super::request::Request;
use crate::guest::bindings::exchange;
use crate::guest::bindings::exported::before_llm_call::LlmRequest;
use crate::hooks::{self, LlmVerdict};
use crate::plugin::{Plugin, Tool};
use crate::turn::{TrailContext, Turn, by_plugin};
use bub_blame::{CallTrail, Finer, HOST, Part, PartKind, RequestTrail, Source, SourceKind, Stage};
use bub_types::hook::Hook;
use bub_types::{Error, ToolSpec};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Keeps what each stage makes of a request.
pub(super) struct TrailRecorder {
    trail: RequestTrail,
    /// As the latest stage has left them. Texts that the next one keeps are shared.
    messages: Vec<Arc<str>>,
    tools: Vec<(String, Arc<str>)>,
    settings: Arc<str>,
}

/// The request that an agent loop would send in that turn, with the plugins that can rewrite it. No model is asked.
///
/// # Errors
///
/// The request is invalid, or a gate did not decide.
pub async fn preview(
    turn: &Arc<Turn>,
    depth: u32,
    (messages, context): (Vec<String>, TrailContext),
    (model, tools): (String, &[Arc<ToolSpec>]),
) -> Result<RequestTrail, Error> {
    let tools = tools.iter().map(|tool| ToolSpec::clone(tool)).collect();
    let (purpose, options) = ("turn".to_owned(), None);
    let asked = exchange::Request { model: None, messages, tools, max_tokens: None, purpose, options };
    let mut request = Request::new(turn, model, asked)?;
    let mut recorder = TrailRecorder::new(turn, context);
    recorder.handed_over(turn, None, &request);
    let verdict = hooks::before_llm_call(
        turn,
        depth,
        || request.shown(),
        |plugin, written| {
            recorder.rewrote(turn, plugin, written);
        },
    );
    // What answers in place of the model changes nothing of the request.
    if let LlmVerdict::Rewritten(written) = verdict.await? {
        request.rewrite(turn, written)?;
    }
    Ok(recorder.finish(turn, &request))
}

impl TrailRecorder {
    /// Begins with the messages that the agent loop was given.
    pub(super) fn new(turn: &Turn, context: TrailContext) -> Self {
        let mut trail = RequestTrail::new(&turn.session_id, &turn.id);
        let mut messages = Vec::with_capacity(context.messages.len());
        for message in context.messages {
            let history = message.making.history(&mut trail);
            let Some(first) = history.pieces.first() else { continue };
            messages.push(Arc::clone(history.steps.last().map_or(&first.text, |step| &step.text)));
            let finer = message.content.map(|content| {
                let history = content.history(&mut trail);
                Finer { path: "content".to_owned(), history }
            });
            trail.parts.push(Part {
                entry: message.entry,
                finer: finer.into_iter().collect(),
                steps: history.steps,
                ..Part::new(PartKind::Message, Arc::clone(&first.text), first.source)
            });
        }
        let config = trail.source(Source::new(SourceKind::Configuration));
        let settings: Arc<str> = settings(turn, &usual_model(turn), None, None).into();
        trail.parts.push(Part::new(PartKind::Settings, Arc::clone(&settings), config));
        Self { trail, messages, tools: Vec::new(), settings }
    }

    /// The agent loop hands the request over.
    pub(super) fn handed_over(&mut self, turn: &Turn, by: Option<&Source>, request: &Request) {
        let (purpose, model) = (request.purpose.clone(), request.model.clone());
        (self.trail.purpose, self.trail.model) = (purpose, model);
        let sent: Vec<(String, Arc<str>)> =
            request.tools().map(|(spec, offer)| (spec.name.clone(), offer.written().into())).collect();
        for (name, text) in &sent {
            // As its plugin describes it.
            let known = turn.tool(name).map(|(plugin, tool)| (by_plugin(plugin, Hook::Tools.name()), written(tool)));
            let (source, text) = match known {
                Some((source, known)) => (source, known),
                None => (by.cloned().unwrap_or_default(), Arc::clone(text)),
            };
            let source = self.trail.source(source);
            self.tools.push((name.clone(), Arc::clone(&text)));
            self.trail.parts.push(Part::new(PartKind::Tool, text, source));
        }
        let source = by.map_or(HOST, |by| self.trail.source(by.clone()));
        let messages = request.messages.iter().map(AsRef::as_ref);
        self.stage(source, messages, sent, request.settings(turn).into());
    }

    /// A plugin made another request of it.
    pub(super) fn rewrote(&mut self, turn: &Turn, plugin: &Plugin, written: &LlmRequest) {
        let source = self.trail.source(by_plugin(plugin, Hook::BeforeLlmCall.name()));
        let mut tools = self.tools.clone();
        tools.retain(|(name, _)| written.tool_names.contains(name));
        let settings = settings(turn, &written.model, written.max_tokens, written.options.as_deref());
        self.stage(source, written.messages.iter().map(String::as_str), tools, settings.into());
    }

    /// Keeps what is new behind a stage.
    fn stage<'a>(
        &mut self,
        source: usize,
        messages: impl Iterator<Item = &'a str>,
        tools: Vec<(String, Arc<str>)>,
        settings: Arc<str>,
    ) {
        let known: HashMap<&str, &Arc<str>> = self.messages.iter().map(|text| (&**text, text)).collect();
        let messages: Vec<Arc<str>> =
            messages.map(|text| known.get(text).map_or_else(|| text.into(), |known| Arc::clone(known))).collect();
        let mut stage = Stage::new(source);
        if messages != self.messages {
            stage.messages = Some(messages.clone());
            self.messages = messages;
        }
        if tools != self.tools {
            stage.tools = Some(tools.iter().map(|(_, text)| Arc::clone(text)).collect());
            self.tools = tools;
        }
        if settings != self.settings {
            stage.settings = Some(Arc::clone(&settings));
            self.settings = settings;
        }
        if stage != Stage::new(source) {
            self.trail.stages.push(stage);
        }
    }

    /// The trail of the request as it is sent.
    pub(super) fn finish(mut self, turn: &Turn, request: &Request) -> RequestTrail {
        self.trail.request = turn.next_request();
        self.trail.run_id = turn.last_run_id();
        self.trail.model.clone_from(&request.model);
        self.trail.purpose.clone_from(&request.purpose);
        for call in turn.changed_calls() {
            let [arguments, result] = [&call.arguments, &call.result].map(|making| making.history(&mut self.trail));
            self.trail.calls.push(CallTrail { tool: call.tool, id: call.id, arguments, result });
        }
        self.trail.body = body(turn, request).into();
        self.trail
    }
}

/// The body that a server gets, with marks in place of media; of a provider that is a plugin, the same as a server of chat
/// completions would get it.
fn body(turn: &Turn, request: &Request) -> String {
    let model = &request.model;
    let is_plugin = model.split_once(':').is_some_and(|(provider, _)| turn.scope.provider(provider).is_some());
    let sent = (!is_plugin).then(|| turn.scope.host.model.body(&request.with_marks(model)).ok()).flatten();
    sent.unwrap_or_else(|| {
        let messages: Vec<&str> = request.messages.iter().map(AsRef::as_ref).collect();
        let tools: Vec<&str> = request.tools().map(|(_, offer)| offer.written()).collect();
        let settings = request.settings(turn);
        let settings = settings.trim_start_matches('{');
        format!(r#"{{"messages":[{}],"tools":[{}],{settings}"#, messages.join(","), tools.join(","))
    })
}

fn written(tool: &Tool) -> Arc<str> {
    tool.offer().spec.written().into()
}

/// The model that is asked unless another is named.
fn usual_model(turn: &Turn) -> String {
    let session = turn.get("model").and_then(|model| model.as_str().map(str::to_owned));
    session.unwrap_or_else(|| turn.scope.host.config.model.model.clone())
}

/// Model, limits and options as members of a body. The limit has two names.
pub(super) fn settings(turn: &Turn, model: &str, max_tokens: Option<u32>, options: Option<&str>) -> String {
    let usual = &turn.scope.host.config.model;
    let mut settings: Map<String, Value> = Map::new();
    settings.insert("model".to_owned(), model.into());
    let options = options.and_then(|options| serde_json::from_str::<Map<String, Value>>(options).ok());
    settings.extend(usual.completion_args.clone());
    settings.extend(options.unwrap_or_default());
    let named = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| settings.get(*name).cloned());
    let limit = max_tokens.map(Value::from).or(named).unwrap_or_else(|| usual.max_tokens.into());
    for name in ["max_tokens", "max_completion_tokens"] {
        settings.insert(name.to_owned(), limit.clone());
    }
    Value::Object(settings).to_string()
}
