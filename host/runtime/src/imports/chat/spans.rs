//! The span of a model call, by OpenTelemetry's conventions for generative AI.

use super::call::ModelCall;
use super::response::ResponseRecorder;
use crate::imports::spans::{input_messages, output_message};
use bub_model::usage::Call;
use bub_types::{Error, ErrorKind};
use tracing::Span;
use tracing::field::Empty;

/// Providers whose names in the conventions are not those that users write.
const NAMES: [(&str, &str); 2] = [("mistral", "mistral_ai"), ("gemini", "gcp.gemini")];

/// The call begins. The span is around the model and its fallbacks, and not around the hooks before and after.
pub(super) fn begin(call: &ModelCall) -> Span {
    if !bub_telemetry::is_on() {
        return Span::none();
    }
    let (provider, model) = split(&call.request.model);
    let span = bub_telemetry::span!(
        "chat",
        otel.name = format!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.request.max_tokens = call.request.max_tokens(),
        gen_ai.conversation.id = call.turn.session_id,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        plugin = call.caller.plugin.name,
        purpose = call.request.purpose,
        outcome = Empty,
        error.type = Empty,
        otel.status = Empty,
    );
    let host = &call.turn.scope.host;
    if host.config.telemetry.content && !span.is_disabled() {
        let messages = call.request.messages.iter().map(|message| message.object());
        span.record("gen_ai.input.messages", input_messages(messages, |text| host.config.redact(text)));
    }
    span
}

/// The call has ended. `charged`: what it is charged with, if anything.
pub(super) fn end(
    span: &Span,
    call: &ModelCall,
    response: &ResponseRecorder<'_>,
    (charged, error): (Option<&Call>, Option<&Error>),
) {
    if span.is_disabled() {
        return;
    }
    if !response.model.is_empty() {
        span.record("gen_ai.response.model", split(&response.model).1);
    }
    if let Some(reason) = &response.finish {
        span.record("gen_ai.response.finish_reasons", reason);
    }
    if let Some(tokens) = charged.map(Call::tokens) {
        span.record("gen_ai.usage.input_tokens", tokens.prompt);
        span.record("gen_ai.usage.cache_read.input_tokens", tokens.cached);
        span.record("gen_ai.usage.output_tokens", tokens.completion);
    }
    let config = &call.turn.scope.host.config;
    if config.telemetry.content {
        let finish = response.finish.as_deref();
        let said = output_message(&response.text, &response.tool_calls, finish, |text| config.redact(text));
        span.record("gen_ai.output.messages", said);
    }
    match error {
        None => span.record("outcome", "answered"),
        Some(error) if error.kind == ErrorKind::Cancelled => span.record("outcome", "cancelled"),
        Some(error) => {
            span.record("otel.status", &error.message);
            span.record("outcome", "failed").record("error.type", error.kind.name())
        }
    };
}

/// The provider as the conventions name it, and the model.
fn split(label: &str) -> (&str, &str) {
    let (provider, model) = label.split_once(':').unwrap_or(("", label));
    let known = NAMES.iter().find(|(written, _)| *written == provider);
    (known.map_or(provider, |(_, name)| name), model)
}
