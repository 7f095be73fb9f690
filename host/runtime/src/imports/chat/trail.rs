//! The making of a request, from the parts that the agent loop was given to the body that is sent.

use super::request::Request;
use crate::guest::bindings::exchange;
use crate::guest::bindings::exported::before_llm_call::LlmRequest;
use crate::hooks::{self, LlmVerdict};
use crate::host::Host;
use crate::plugin::Plugin;
use crate::turn::{Message, TrailCall, TrailContext, TrailMessage, Turn, TurnTools, by_plugin};
use bub_blame::{CallTrail, Finer, HOST, Part, PartKind, RequestTrail, Source, SourceKind, Stage};
use bub_recordings::Texts;
use bub_types::hook::Hook;
use bub_types::{Error, ToolSpec};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Keeps what happens to a request on its way; what of it each stage made is found out from that later.
pub(super) struct TrailRecorder {
    origin: Origin,
    request: Request,
}

/// What a request is made of, and by whom.
struct Origin {
    context: TrailContext,
    /// The model that is asked unless another is named.
    usual_model: String,
    /// The plugin that hands the request over; none: the host.
    by: Option<Source>,
    /// The tools of the turn.
    tools: TurnTools,
    rewritten: Vec<(Source, LlmRequest)>,
}

/// A request that is being sent, with all that its trail is made of.
pub(super) struct SentTrail {
    origin: Origin,
    host: Arc<Host>,
    trail: RequestTrail,
    /// As the agent loop handed it over, if that is another one.
    first: Option<PackedRequest>,
    request: PackedRequest,
    changed: Vec<Arc<TrailCall>>,
    /// Whether a plugin is its provider.
    is_to_plugin: bool,
}

/// A request with its messages in one block of memory: it is held until another thread makes the trail.
struct PackedRequest {
    messages: Texts,
    rest: Request,
}

impl PackedRequest {
    fn new(request: &Request) -> Self {
        let messages = Texts::shared(request.messages.iter().map(AsRef::as_ref));
        Self { messages, rest: request.clone_without_messages() }
    }

    fn request(self) -> Request {
        // They were messages before.
        let messages = self.messages.iter().filter_map(|text| Message::new(text).ok()).collect();
        let mut request = self.rest;
        request.messages = messages;
        request
    }
}

/// A trail that is being made.
struct Stages {
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
    let mut recorder = TrailRecorder::new(turn, context, None, &request);
    let verdict = hooks::before_llm_call(
        turn,
        depth,
        || request.shown(),
        |plugin, written| {
            recorder.rewrote(plugin, written);
        },
    );
    // What answers in place of the model changes nothing of the request.
    if let LlmVerdict::Rewritten(written) = verdict.await? {
        request.rewrite(turn, written)?;
    }
    Ok(recorder.finish(turn, &request).make())
}

impl TrailRecorder {
    /// Begins with the messages that the agent loop was given, and the request that it hands over.
    pub(super) fn new(turn: &Turn, context: TrailContext, by: Option<Source>, request: &Request) -> Self {
        let (usual_model, tools, rewritten) = (usual_model(turn), turn.tools(), Vec::new());
        Self { origin: Origin { context, usual_model, by, tools, rewritten }, request: request.clone() }
    }

    /// A plugin made another request of it.
    pub(super) fn rewrote(&mut self, plugin: &Plugin, written: &LlmRequest) {
        self.origin.rewritten.push((by_plugin(plugin, Hook::BeforeLlmCall.name()), written.clone()));
    }

    /// The request is sent.
    pub(super) fn finish(self, turn: &Turn, request: &Request) -> SentTrail {
        let mut trail = RequestTrail::new(&turn.session_id, &turn.id);
        (trail.request, trail.run_id) = (turn.next_request(), turn.last_run_id());
        let provider = request.model.split_once(':').map(|(provider, _)| provider);
        SentTrail {
            origin: self.origin,
            host: turn.scope.host.clone(),
            trail,
            first: (!self.request.is(request)).then(|| PackedRequest::new(&self.request)),
            request: PackedRequest::new(request),
            changed: turn.changed_calls(),
            is_to_plugin: provider.is_some_and(|provider| turn.scope.provider(provider).is_some()),
        }
    }
}

impl SentTrail {
    /// The number of the request in its turn.
    pub(super) fn number(&self) -> u32 {
        self.trail.request
    }

    /// About how many bytes it holds: the texts of messages, where no other holds them.
    pub(super) fn weight(&self) -> usize {
        let written = self.origin.rewritten.iter().flat_map(|(_, written)| &written.messages).map(String::len);
        let first = self.first.as_ref().map_or(0, |first| first.messages.bytes());
        written.sum::<usize>() + first + self.request.messages.bytes()
    }

    /// The trail of the request as it is sent.
    pub(super) fn make(self) -> RequestTrail {
        let Self { origin, host, trail, first, request, changed, is_to_plugin, .. } = self;
        let Origin { context, usual_model, by, tools, rewritten } = origin;
        let request = request.request();
        let first = first.map_or_else(|| request.clone(), PackedRequest::request);
        let usual = &host.config.model;
        let mut stages = Stages::new(trail, context.messages(), settings(usual, &usual_model, None, None));
        stages.handed_over(by.as_ref(), &first, &tools, first.settings(usual));
        for (source, written) in &rewritten {
            let settings = settings(usual, &written.model, written.max_tokens, written.options.as_deref());
            stages.rewrote(source, written, settings);
        }
        let mut trail = stages.trail;
        trail.model.clone_from(&request.model);
        trail.purpose.clone_from(&request.purpose);
        for call in changed {
            let [arguments, result] = [&call.arguments, &call.result].map(|making| making.history(&mut trail));
            trail.calls.push(CallTrail { tool: call.tool.clone(), id: call.id.clone(), arguments, result });
        }
        trail.body = body(&host, is_to_plugin, &request).into();
        trail
    }
}

impl Stages {
    fn new(mut trail: RequestTrail, given: &[TrailMessage], settings: String) -> Self {
        let mut messages = Vec::with_capacity(given.len());
        for message in given {
            let history = message.making.history(&mut trail);
            let Some(first) = history.pieces.first() else { continue };
            messages.push(Arc::clone(history.steps.last().map_or(&first.text, |step| &step.text)));
            let finer = message.content.as_ref().map(|content| {
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
        let settings: Arc<str> = settings.into();
        trail.parts.push(Part::new(PartKind::Settings, Arc::clone(&settings), config));
        Self { trail, messages, tools: Vec::new(), settings }
    }

    /// The agent loop hands the request over.
    fn handed_over(&mut self, by: Option<&Source>, request: &Request, tools: &TurnTools, settings: String) {
        let sent: Vec<(String, Arc<str>)> =
            request.tools().map(|(spec, offer)| (spec.name.clone(), offer.written().into())).collect();
        for (name, text) in &sent {
            // As its plugin describes it.
            let (source, text) = match tools.find(name) {
                Some((plugin, tool)) => (by_plugin(plugin, Hook::Tools.name()), tool.offer().spec.written().into()),
                None => (by.cloned().unwrap_or_default(), Arc::clone(text)),
            };
            let source = self.trail.source(source);
            self.tools.push((name.clone(), Arc::clone(&text)));
            self.trail.parts.push(Part::new(PartKind::Tool, text, source));
        }
        let source = by.map_or(HOST, |by| self.trail.source(by.clone()));
        let messages = request.messages.iter().map(AsRef::as_ref);
        self.stage(source, messages, sent, settings.into());
    }

    /// A plugin made another request of it.
    fn rewrote(&mut self, source: &Source, written: &LlmRequest, settings: String) {
        let source = self.trail.source(source.clone());
        let mut tools = self.tools.clone();
        tools.retain(|(name, _)| written.tool_names.contains(name));
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
}

/// The body that a server gets, with marks in place of media; of a provider that is a plugin, the same as a server of chat
/// completions would get it.
fn body(host: &Host, is_to_plugin: bool, request: &Request) -> String {
    let asked = || host.model.body(&request.with_marks(&request.model)).ok();
    let sent = (!is_to_plugin).then(asked).flatten();
    sent.unwrap_or_else(|| {
        let messages: Vec<&str> = request.messages.iter().map(AsRef::as_ref).collect();
        let tools: Vec<&str> = request.tools().map(|(_, offer)| offer.written()).collect();
        let settings = request.settings(&host.config.model);
        let settings = settings.trim_start_matches('{');
        format!(r#"{{"messages":[{}],"tools":[{}],{settings}"#, messages.join(","), tools.join(","))
    })
}

/// The model that is asked unless another is named.
fn usual_model(turn: &Turn) -> String {
    let session = turn.get("model").and_then(|model| model.as_str().map(str::to_owned));
    session.unwrap_or_else(|| turn.scope.host.config.model.model.clone())
}

/// Model, limits and options as members of a body. The limit has two names.
pub(super) fn settings(
    usual: &bub_model::Settings,
    model: &str,
    max_tokens: Option<u32>,
    options: Option<&str>,
) -> String {
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
