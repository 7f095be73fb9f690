//! One model call, with the hooks around it.

use super::request::Request;
use super::response::ResponseRecorder;
use super::spans;
use super::trail::TrailRecorder;
use crate::guest::bindings::exchange;
use crate::guest::bindings::exported::before_llm_call::LlmRequest;
use crate::guest::completion::Outcome;
use crate::guest::convert::{EVENTS, into_error};
use crate::guest::handles::Sink;
use crate::guest::{CallContext, Running, call, packed_request};
use crate::hooks::{self, LlmVerdict, answered};
use crate::host::{Allowance, Demand, RuntimeEvent};
use crate::plugin::Plugin;
use crate::turn::{Denial, DenialReason, Turn, by_plugin};
use bub_model::Event;
use bub_model::local_stream::LocalStream;
use bub_permissions::Grant;
use bub_recordings::Mark;
use bub_types::hook::Call;
use bub_types::{Error, ErrorKind};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument;

/// A request on its way.
pub(super) struct ModelCall {
    pub(super) turn: Arc<Turn>,
    /// The turn waits for it at its end.
    pub(super) _token: TaskTrackerToken,
    pub(super) depth: u32,
    /// The caller: whatever the chain makes of the call, it stays within that plugin's grants.
    pub(super) caller: Running,
    pub(super) request: Request,
}

impl ModelCall {
    /// Asks the chain, the model and its fallbacks, and tells the observers how it ended.
    pub(super) async fn run(mut self, listener: mpsc::Sender<Outcome>) {
        let asked = self.request.model.clone();
        let mut trail = self.turn.keeps_trail().then(|| self.begin_trail());
        let rewrote = |plugin: &Plugin, written: &LlmRequest| {
            trail.iter_mut().for_each(|trail| trail.rewrote(plugin, written));
        };
        match hooks::before_llm_call(&self.turn, self.depth, || self.request.shown(), rewrote).await {
            Ok(LlmVerdict::Proceed) => {}
            Ok(LlmVerdict::Rewritten(written)) => {
                if let Err(error) = self.request.rewrite(&self.turn, written) {
                    let _ = listener.send(Err(error)).await;
                    return;
                }
            }
            Ok(LlmVerdict::Answered(text)) => {
                for event in [Event::Text(text), Event::Finish("stop".into())] {
                    if listener.send(Ok(event)).await.is_err() {
                        return;
                    }
                }
                return;
            }
            Err(error) => {
                let _ = listener.send(Err(error)).await;
                return;
            }
        }
        // A plugin that rewrites a request cannot spend on a model that the caller may not call.
        let grant = Grant::model(&self.request.model);
        if self.request.model != asked && !self.turn.scope.host.grants.allows(&self.caller.plugin, &grant) {
            self.turn.refused(&self.caller.plugin, &grant);
            let _ = listener.send(Err(self.caller.plugin.refusal(&grant))).await;
            return;
        }
        // Only now: what a plugin answers in place of the model costs nothing.
        let allowance = match self.admit().await {
            Ok(allowance) => allowance,
            Err(error) => {
                if error.kind == ErrorKind::Denied {
                    let (reason, message) = (DenialReason::Budget, error.message.as_str());
                    let plugin = &self.caller.plugin.name;
                    self.turn.denied(Denial { reason, plugin, tool: "", grant: grant.as_str(), host: "", message });
                }
                let _ = listener.send(Err(error)).await;
                return;
            }
        };
        if let Some(trail) = trail {
            let trail = trail.finish(&self.turn, &self.request);
            self.turn.hand_over(trail.number(), trail.weight(), move || trail.make());
        }
        let (began, span) = (Instant::now(), spans::begin(&self));
        let mut response = ResponseRecorder::new(&self.turn, &self.caller, &listener);
        let ended = tokio::select! {
            biased;
            () = listener.closed() => Err(Error::cancelled()),
            ended = self.ask_each(&mut response).instrument(span.clone()) => ended,
        };
        let call = self.bill(&response, ended.as_ref().err());
        spans::end(&span, &self, &response, (call.as_ref(), ended.as_ref().err()));
        drop(span);
        self.leave_receipt(&response, call.as_ref(), ended.as_ref().err(), began);
        if let Some(call) = &call {
            self.turn.spends(call.tokens());
        }
        self.turn.scope.host.budget.settle(allowance, call.as_ref());
        let outcome = response.close(ended.as_ref().err().cloned(), began);
        hooks::after_llm_call(&self.turn, self.depth, &self.request.model, &outcome).await;
        if let Err(error) = ended {
            let _ = listener.send(Err(error)).await;
        }
    }

    /// How the request was made so far: what the plugin was given, and what it made of that.
    fn begin_trail(&self) -> TrailRecorder {
        let Running { plugin, call } = &self.caller;
        let (context, by) = (self.turn.context_of(&plugin.name), by_plugin(plugin, call.name()));
        TrailRecorder::new(&self.turn, context, Some(by), &self.request)
    }

    /// Refuses when the day's tokens are used up: of all, of the plugin that calls, or of the caller whose message the turn
    /// is about.
    async fn admit(&self) -> Result<Allowance, Error> {
        let (host, plugin, account) = (&self.turn.scope.host, &self.caller.plugin.name, &self.turn.caller().account);
        let demand = Demand {
            plugin,
            own: host.config.plugin(plugin).daily_tokens,
            caller: account,
            quota: self.turn.quota().tokens_per_day,
        };
        let admitted = host.budget.admit(demand, || self.demand()).await;
        admitted.map_err(|refused| {
            if refused.is_quota {
                let exceeded = RuntimeEvent::QuotaExceeded { caller: account.to_string(), quota: "tokens_per_day" };
                host.events.publish(exceeded, &self.turn.session_id);
            }
            refused.error
        })
    }

    /// The model, and behind the configured one its fallbacks, in order: if all fail, the first one's error is told. Once
    /// anything was said, a failure is final.
    async fn ask_each(&self, response: &mut ResponseRecorder<'_>) -> Result<(), Error> {
        let Err(first) = self.ask(&self.request.model, response).await else { return Ok(()) };
        let config = &self.turn.scope.host.config;
        if self.request.model != config.model.model {
            return Err(first);
        }
        let mut latest = first.clone();
        for fallback in &config.fallback_models {
            if response.events > 0 {
                return Err(latest);
            }
            tracing::warn!("{}; asking the fallback `{fallback}`", latest.message);
            match self.ask(fallback, response).await {
                Ok(()) => return Ok(()),
                Err(error) => latest = error,
            }
        }
        Err(if response.events > 0 { latest } else { first })
    }

    async fn ask(&self, model: &str, response: &mut ResponseRecorder<'_>) -> Result<(), Error> {
        model.clone_into(&mut response.model);
        match model.split_once(':').and_then(|(provider, model)| Some((self.turn.scope.provider(provider)?, model))) {
            Some((plugin, model)) => self.ask_guest(plugin, model, response).await,
            None => self.ask_server(model, response).await,
        }
    }

    async fn ask_server(&self, model: &str, response: &mut ResponseRecorder<'_>) -> Result<(), Error> {
        let request = self.request.to_server(&self.turn, model)?;
        let turn = self.turn.clone();
        let on_retry = move |why: &str, pause| turn.publish_retry(why, pause);
        let mut completion = self.turn.scope.host.model.complete(request).on_retry(Box::new(on_retry));
        while let Some(event) = completion.next().await {
            response.pass(event.map_err(into_error)?).await?;
        }
        Ok(())
    }

    async fn ask_guest(
        &self,
        plugin: &Arc<Plugin>,
        model: &str,
        response: &mut ResponseRecorder<'_>,
    ) -> Result<(), Error> {
        let (sender, events) = mpsc::channel(EVENTS);
        let mut guest = LocalStream::new(Box::pin(self.guest_call(plugin, model, sender)), events);
        while let Some(event) = guest.next().await {
            response.pass(event).await?;
        }
        guest.ended().unwrap_or_else(|| Err(Error::cancelled()))
    }

    async fn guest_call(&self, plugin: &Arc<Plugin>, model: &str, sender: mpsc::Sender<Event>) -> Result<(), Error> {
        let request = Arc::new(self.request.to_guest(&self.turn, &plugin.name, model)?);
        ask_provider(&self.turn, self.depth, plugin, &request, sender).await
    }
}

/// Asks a plugin that is a model provider. Its events go to `sender`, whose receiver may be slow.
pub async fn ask_provider(
    turn: &Arc<Turn>,
    depth: u32,
    plugin: &Arc<Plugin>,
    request: &Arc<exchange::Request>,
    sender: mpsc::Sender<Event>,
) -> Result<(), Error> {
    let context = CallContext::inside(Call::Complete, turn, depth);
    let answer = call(&turn.scope.host, plugin, context, |guest_call| {
        Box::pin(async move {
            let recorder = &guest_call.store.data().recorder;
            if recorder.is_late() {
                let (packed, start) = (packed_request(request), Mark::default());
                let weight = packed.since(start);
                recorder.recording().arguments_late(weight, move || Value::Array(vec![packed.read(start).value()]));
            }
            let given = recorder.record(|| serde_json::json!([**request]));
            let guest = guest_call.exports.provider(guest_call.store, &guest_call.instance)?;
            let sink = guest_call.store.data_mut().table.push(Sink(sender))?;
            let answer = guest.call_complete(&mut *guest_call.store, request, sink).await?;
            answered!(guest_call.store.data().recorder, &answer);
            given.discard();
            Ok(answer)
        })
    });
    match answer.await {
        Ok(answer) => answer,
        Err(fault) => Err(Error::new(ErrorKind::Provider, fault.to_string())),
    }
}
