//! `bub:model/chat`: a model call on behalf of a guest, which never sees a key or an address.

use super::sink::Sink;
use super::toolbox::dotted;
use super::turn::TurnHandle;
use crate::hooks;
use crate::model::{self, Event};
use crate::plugin::bindings::chat::{Host, HostCompletion};
use crate::plugin::bindings::exported::after_llm_call::LlmResult;
use crate::plugin::bindings::exported::before_llm_call::LlmRequest;
use crate::plugin::bindings::{Error, ErrorKind, ToolCall, exchange, schema};
use crate::plugin::store::State;
use crate::plugin::{Plugin, Site, Visit, call, check_json, deeper, model_name};
use crate::turn::Turn;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use wasmtime::Result;
use wasmtime::component::Resource;

/// Events that wait between model and guest.
const EVENTS: usize = 64;

/// What one event stands for on its way to the guest: an error ends the stream.
type Outcome = std::result::Result<Event, Error>;

/// A model call in progress. Dropping it ends the request.
pub struct Completion {
    events: mpsc::Receiver<Outcome>,
    task: JoinHandle<()>,
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl exchange::Host for State {}

impl Host for State {
    async fn complete(
        &mut self,
        turn: Resource<TurnHandle>,
        request: exchange::Request,
    ) -> Result<Result<Resource<Completion>, Error>> {
        let turn = self.turn_of(&turn)?;
        let exchange = match self.exchange(turn, request) {
            Ok(exchange) => exchange,
            Err(error) => return Ok(Err(error)),
        };
        let (sender, events) = mpsc::channel(EVENTS);
        let task = tokio::spawn(exchange.run(sender));
        Ok(Ok(self.table.push(Completion { events, task })?))
    }

    async fn window(&mut self, model: String) -> Result<Option<u32>> {
        Ok(model::window(&model))
    }
}

impl HostCompletion for State {
    async fn next(&mut self, completion: Resource<Completion>) -> Result<Result<Option<exchange::Event>, Error>> {
        match self.table.get_mut(&completion)?.events.recv().await {
            None => Ok(Ok(None)),
            Some(Ok(event)) => Ok(Ok(Some(into_guest(event)))),
            Some(Err(error)) => Ok(Err(error)),
        }
    }

    async fn drop(&mut self, completion: Resource<Completion>) -> Result<()> {
        self.table.delete(completion)?;
        Ok(())
    }
}

impl State {
    fn exchange(&self, turn: Arc<Turn>, request: exchange::Request) -> std::result::Result<Exchange, Error> {
        let model = self.model_of(&turn, request.model);
        self.granted(&format!("model:{model}"))?;
        let depth = deeper(self.depth, self.plugin.limits.depth)?;
        let json =
            request.messages.iter().chain(&request.options).chain(request.tools.iter().map(|tool| &tool.parameters));
        for text in json {
            check_json(text).map_err(|reason| Error::invalid(format!("the request holds {reason}")))?;
        }
        let tools = request.tools;
        let request = LlmRequest {
            purpose: request.purpose,
            model,
            messages: request.messages,
            tool_names: tools.iter().map(|tool| tool.name.clone()).collect(),
            max_tokens: request.max_tokens,
            options: request.options,
        };
        Ok(Exchange { turn, depth, request, tools })
    }
}

/// One call of a model, with the hooks around it: whoever makes it, they see it.
struct Exchange {
    turn: Arc<Turn>,
    depth: u32,
    request: LlmRequest,
    tools: Vec<schema::ToolSpec>,
}

impl Exchange {
    async fn run(self, listener: mpsc::Sender<Outcome>) {
        let Self { turn, depth, request, tools } = self;
        let request = match hooks::before_llm_call(&turn, depth, request).await {
            ControlFlow::Continue(request) => request,
            ControlFlow::Break(text) => {
                for event in [Event::Text(text), Event::Finish("stop".into())] {
                    if listener.send(Ok(event)).await.is_err() {
                        return;
                    }
                }
                return;
            }
        };
        let began = Instant::now();
        let model = request.model.clone();
        let tools = tools.into_iter().filter(|tool| request.tool_names.contains(&tool.name)).collect();
        let mut account = Account::default();
        let failed = match answer(&turn, depth, request, tools, &listener, &mut account).await {
            Ok(()) => None,
            Err(Stop::Left) => return,
            Err(Stop::Failed(error)) => Some(error),
        };
        let outcome = account.close(failed.clone(), began);
        hooks::after_llm_call(&turn, depth, &model, &outcome).await;
        if let Some(error) = failed {
            let _ = listener.send(Err(error)).await;
        }
    }
}

/// Why an answer ended early.
enum Stop {
    /// Nobody listens any more.
    Left,
    Failed(Error),
}

/// What a call came to, for those who observe it.
#[derive(Default)]
struct Account {
    text: String,
    tool_calls: Vec<ToolCall>,
    usage: Option<String>,
}

impl Account {
    fn note(&mut self, event: &Event) {
        match event {
            Event::Text(text) => self.text.push_str(text),
            Event::ToolCalls(calls) => self.tool_calls.extend(calls.iter().cloned().map(into_call)),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Reasoning(_) | Event::Finish(_) => {}
        }
    }

    fn close(self, error: Option<Error>, began: Instant) -> LlmResult {
        LlmResult {
            text: Some(self.text).filter(|text| !text.is_empty()),
            tool_calls: self.tool_calls,
            usage: self.usage,
            error,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Hands the events of the model, a guest's or one over HTTP, to the listener.
async fn answer(
    turn: &Arc<Turn>,
    depth: u32,
    request: LlmRequest,
    tools: Vec<schema::ToolSpec>,
    listener: &mpsc::Sender<Outcome>,
    account: &mut Account,
) -> std::result::Result<(), Stop> {
    let mut pass = async |event: Event| {
        let event = with_dotted_names(turn, event);
        account.note(&event);
        listener.send(Ok(event)).await.map_err(|_| Stop::Left)
    };
    let provider =
        request.model.split_once(':').and_then(|(name, model)| Some((turn.calls.plugins.provider(name)?, model)));
    if let Some((plugin, model)) = provider {
        let model = model.to_owned();
        let (sender, mut events) = mpsc::channel(EVENTS);
        let plugin = plugin.clone();
        let guest = ask_guest(turn, depth, &plugin, model, request, tools, sender);
        tokio::pin!(guest);
        let mut ended = None;
        loop {
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(event) => pass(event).await?,
                    None => break,
                },
                end = &mut guest, if ended.is_none() => ended = Some(end),
            }
        }
        return match ended {
            Some(Err(error)) => Err(Stop::Failed(error)),
            Some(Ok(())) => Ok(()),
            // The guest dropped its sink before it returned.
            None => guest.await.map_err(Stop::Failed),
        };
    }
    let mut completion = turn.calls.host.model.complete(model::Request {
        model: Some(request.model),
        messages: request.messages,
        tools: tools
            .into_iter()
            .map(|tool| model::ToolSpec {
                name: model_name(&tool.name),
                description: tool.description,
                parameters: tool.parameters,
            })
            .collect(),
        max_tokens: request.max_tokens.map(u64::from),
        options: request.options,
        stream: true,
    });
    while let Some(event) = completion.next().await {
        pass(event.map_err(|error| Stop::Failed(into_error(error)))?).await?;
    }
    Ok(())
}

async fn ask_guest(
    turn: &Arc<Turn>,
    depth: u32,
    plugin: &Arc<Plugin>,
    model: String,
    request: LlmRequest,
    tools: Vec<schema::ToolSpec>,
    sender: mpsc::Sender<Event>,
) -> std::result::Result<(), Error> {
    let request = exchange::Request {
        model: Some(model),
        messages: request.messages,
        tools,
        max_tokens: request.max_tokens,
        purpose: request.purpose,
        options: request.options,
    };
    let request = &request;
    let answer = call(
        &turn.calls.host,
        plugin,
        Site::inside("complete", turn, depth),
        |Visit { plugin, store, instance, .. }| {
            Box::pin(async move {
                let guest = plugin.exports.provider(store, &instance)?;
                let sink = store.data_mut().table.push(Sink(sender))?;
                guest.call_complete(store, request, sink).await
            })
        },
    );
    match answer.await {
        Ok(answer) => answer,
        Err(fault) => Err(Error::new(ErrorKind::Provider, fault.to_string())),
    }
}

fn with_dotted_names(turn: &Turn, event: Event) -> Event {
    match event {
        Event::ToolCalls(calls) => Event::ToolCalls(
            calls.into_iter().map(|call| model::ToolCall { name: dotted(turn, &call.name), ..call }).collect(),
        ),
        other => other,
    }
}

fn into_error(error: model::Error) -> Error {
    let kind = match error.kind {
        model::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
        model::ErrorKind::Config => ErrorKind::Config,
        model::ErrorKind::Provider => ErrorKind::Provider,
        model::ErrorKind::ContextLength => ErrorKind::ContextLength,
        model::ErrorKind::Temporary => ErrorKind::Temporary,
        model::ErrorKind::Cancelled => ErrorKind::Cancelled,
    };
    Error::new(kind, error.message)
}

fn into_call(call: model::ToolCall) -> ToolCall {
    ToolCall { id: call.id, name: call.name, arguments: call.arguments }
}

fn into_guest(event: Event) -> exchange::Event {
    match event {
        Event::Text(text) => exchange::Event::Text(text),
        Event::Reasoning(text) => exchange::Event::Reasoning(text),
        Event::ToolCalls(calls) => exchange::Event::ToolCalls(calls.into_iter().map(into_call).collect()),
        Event::Usage(usage) => exchange::Event::Usage(usage),
        Event::Finish(reason) => exchange::Event::Finish(reason),
    }
}

pub(super) fn from_guest(event: exchange::Event) -> Event {
    match event {
        exchange::Event::Text(text) => Event::Text(text),
        exchange::Event::Reasoning(text) => Event::Reasoning(text),
        exchange::Event::ToolCalls(calls) => Event::ToolCalls(
            calls
                .into_iter()
                .map(|call| model::ToolCall { id: call.id, name: call.name, arguments: call.arguments })
                .collect(),
        ),
        exchange::Event::Usage(usage) => Event::Usage(usage),
        exchange::Event::Finish(reason) => Event::Finish(reason),
    }
}
