//! The part that `scripted` and `scripted_stream` share. Each hook says what it saw in one line of the log, and answers
//! what stands under its name in `[plugins.NAME.config.answers]`:
//!
//! - nothing: `none`, `false`, an empty list, or simply success;
//! - `{ error = "..." }`: the hook's own error; `{ trap = true }`: a trap; `{ wait = 3000 }`: nothing, that many
//!   milliseconds later;
//! - else a value that fits the hook: a text for `build-prompt` (a list is content parts), any value for `load-state`,
//!   a list of envelopes for `render-outbound` and `on-error` (a text, or a table with `content`, `channel`, `chat-id`,
//!   `kind`), a boolean for `dispatch-outbound`;
//! - for `build-prompt` also `{ parts = "[ ]" }`: content parts in just that spelling, `{ kind = "command" }`: the
//!   message's kind from here on, `{ emit = "..." }`: tries to emit a text that is not its to emit;
//! - for `provide-model-options` a table with `choices`, each an id or `{ id = "...", name = "..." }`, and `current`;
//! - for the interception hooks: `{ say = "..." }` adds a user message to the request, `{ swap = [["a", "b"]] }` writes
//!   other words into its messages, with `without = "TOOL"` and `max-tokens`, `{ model = "..." }` sends it to that model, `{ answer = ... }` answers in place of the model or the tool, `{ deny = "..." }`, `{ ask = "..." }`, `{ rewrite = { ... } }` and `{ replace = ... }` are about a
//!   tool's call and its result;
//! - for `admit-message` the decision's name.

use crate::bub::plugin::{config, log};
use crate::bub::turn::turn::Turn;
use crate::bub::types::types::{
    CutOrder, Envelope, Error, ErrorKind, MessageKind, ModelChoice, ModelOptions, Prompt, StreamEvent, SystemPart,
    ToolCall,
};
use crate::exports::bub::hooks::*;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

pub struct Script;

/// The configuration of that hook.
pub fn answer(hook: &str) -> Result<Option<Value>, Error> {
    let answers: Value = config::get("answers").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let Some(answer) = answers.get(hook) else {
        return Ok(None);
    };
    if answer["trap"] == true {
        core::arch::wasm32::unreachable();
    }
    if let Some(millis) = answer["wait"].as_u64() {
        thread::sleep(Duration::from_millis(millis));
        return Ok(None);
    }
    match answer["error"].as_str() {
        Some(message) => Err(failure(message)),
        None => Ok(Some(answer.clone())),
    }
}

/// One line in the log for the test to read: `saw:{"plugin": ..., "hook": ..., ...}`.
pub fn saw(hook: &str, details: Value) {
    let name: Value = config::get("name").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let mut line = json!({ "plugin": name, "hook": hook });
    if let (Some(line), Value::Object(details)) = (line.as_object_mut(), details) {
        line.extend(details);
    }
    log::log(log::Level::Info, &format!("saw:{line}"));
}

pub fn failure(message: &str) -> Error {
    Error { kind: ErrorKind::Unknown, message: message.to_owned(), details: None }
}

pub fn prompt_json(prompt: &Prompt) -> Value {
    match prompt {
        Prompt::Text(text) => Value::from(text.as_str()),
        Prompt::Parts(parts) => parse(parts),
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn text(answer: Option<Value>) -> Option<String> {
    answer.and_then(|text| text.as_str().map(str::to_owned))
}

/// An error's kind, `Denied`; for an observer's eyes only.
fn kind_of(error: &Error) -> String {
    format!("{:?}", error.kind).replace("ErrorKind::", "")
}

fn kind_name(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Normal => "normal",
        MessageKind::Command => "command",
        MessageKind::Error => "error",
    }
}

/// Envelopes back to where `message` came from, one for each item of the answer.
fn envelopes(answer: Option<Value>, message: Option<&Envelope>, kind: MessageKind) -> Vec<Envelope> {
    let items = answer.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    let envelope = |item: &Value| {
        let field = |key: &str| item[key].as_str().map(str::to_owned);
        Envelope {
            id: None,
            session_id: message.and_then(|message| message.session_id.clone()),
            channel: field("channel").or(message.map(|m| m.channel.clone())).unwrap_or_default(),
            chat_id: field("chat-id").or(message.map(|m| m.chat_id.clone())).unwrap_or_default(),
            sender: None,
            content: item.as_str().map(str::to_owned).or(field("content")).unwrap_or_default(),
            passages: Vec::new(),
            kind: if item["kind"] == "normal" { MessageKind::Normal } else { kind },
            context: Vec::new(),
            media: Vec::new(),
            output_channel: None,
        }
    };
    items.iter().map(envelope).collect()
}

impl admit_message::Guest for Script {
    fn admit_message(
        session_id: String,
        message: Envelope,
        load: admit_message::SessionLoad,
    ) -> Result<Option<admit_message::Decision>, Error> {
        use admit_message::Decision::{Drop, FollowUp, Process, Steer};
        let load = json!({ "running": load.running, "pending": load.pending });
        saw("admit-message", json!({ "session": session_id, "content": message.content, "load": load }));
        Ok(match text(answer("admit-message")?).as_deref() {
            Some("process") => Some(Process),
            Some("follow-up") => Some(FollowUp),
            Some("steer") => Some(Steer),
            Some("drop") => Some(Drop),
            _ => None,
        })
    }
}

impl resolve_session::Guest for Script {
    fn resolve_session(message: Envelope) -> Result<Option<String>, Error> {
        saw("resolve-session", json!({ "session": message.session_id, "channel": message.channel }));
        Ok(text(answer("resolve-session")?))
    }
}

impl load_state::Guest for Script {
    fn load_state(turn: Turn) -> Result<Option<String>, Error> {
        saw("load-state", json!({ "state": parse(&turn.state()) }));
        Ok(answer("load-state")?.map(|state| state.to_string()))
    }
}

impl build_prompt::Guest for Script {
    fn build_prompt(turn: Turn) -> Result<Option<Prompt>, Error> {
        let message = turn.message();
        saw(
            "build-prompt",
            json!({
                "session": turn.session_id(),
                "state": parse(&turn.state()),
                "kind": kind_name(message.kind),
                "message-session": message.session_id,
            }),
        );
        Ok(match answer("build-prompt")? {
            Some(Value::String(text)) => Some(Prompt::Text(text)),
            Some(parts @ Value::Array(_)) => Some(Prompt::Parts(parts.to_string())),
            Some(deeds) => {
                if deeds["kind"] == "command" {
                    turn.set_message_kind(MessageKind::Command);
                }
                if let Some(text) = deeds["emit"].as_str() {
                    let refused = turn.emit(&StreamEvent::Text(text.to_owned())).err();
                    saw("emit", json!({ "refused": refused.as_ref().map(kind_of) }));
                }
                deeds["parts"].as_str().map(|parts| Prompt::Parts(parts.to_owned()))
            }
            None => None,
        })
    }
}

impl continue_prompt::Guest for Script {
    fn continue_prompt(_turn: Turn, prompt: Prompt) -> Result<Option<String>, Error> {
        saw("continue-prompt", json!({ "prompt": prompt_json(&prompt) }));
        Ok(text(answer("continue-prompt")?))
    }
}

impl system_prompt::Guest for Script {
    fn system_prompt(_turn: Turn, _prompt: Prompt) -> Result<Vec<SystemPart>, Error> {
        saw("system-prompt", json!({}));
        let part = |text| SystemPart { name: "scripted".to_owned(), text, cut: CutOrder::Normal };
        Ok(text(answer("system-prompt")?).map(part).into_iter().collect())
    }
}

impl save_state::Guest for Script {
    fn save_state(_turn: Turn, model_output: String, failure: Option<Error>) -> Result<(), Error> {
        saw("save-state", json!({ "output": model_output, "failure": failure.map(|error| error.message) }));
        answer("save-state").map(|_| ())
    }
}

impl render_outbound::Guest for Script {
    fn render_outbound(turn: Turn, model_output: String) -> Result<Vec<Envelope>, Error> {
        saw("render-outbound", json!({ "output": model_output }));
        Ok(envelopes(answer("render-outbound")?, Some(&turn.message()), MessageKind::Normal))
    }
}

impl dispatch_outbound::Guest for Script {
    fn dispatch_outbound(message: Envelope) -> Result<bool, Error> {
        saw("dispatch-outbound", json!({ "content": message.content, "kind": kind_name(message.kind) }));
        Ok(answer("dispatch-outbound")? == Some(Value::Bool(true)))
    }
}

impl on_error::Guest for Script {
    fn on_error(stage: String, error: Error, message: Option<Envelope>) -> Vec<Envelope> {
        saw(
            "on-error",
            json!({
                "stage": stage,
                "error": error.message,
                "error-kind": kind_of(&error),
                "session": message.as_ref().and_then(|message| message.session_id.clone()),
                "kind": message.as_ref().map(|message| kind_name(message.kind)),
            }),
        );
        envelopes(answer("on-error").unwrap_or_default(), message.as_ref(), MessageKind::Error)
    }
}

impl after_turn::Guest for Script {
    fn after_turn(_turn: Turn, model_output: String) {
        saw("after-turn", json!({ "output": model_output }));
        // Only for `{ trap = true }` and `{ wait = ... }`: an observer has nothing to answer.
        let _ = answer("after-turn");
    }
}

impl before_llm_call::Guest for Script {
    fn before_llm_call(
        _turn: Turn,
        mut request: before_llm_call::LlmRequest,
    ) -> Result<before_llm_call::LlmDecision, Error> {
        let last = request.messages.last().map(|message| parse(message)["content"].clone());
        saw("before-llm-call", json!({ "last": last, "purpose": request.purpose, "model": request.model }));
        let answer = answer("before-llm-call")?.unwrap_or_default();
        if let Some(text) = answer["say"].as_str() {
            request.messages.push(json!({ "role": "user", "content": text }).to_string());
            return Ok(before_llm_call::LlmDecision::Rewrite(request));
        }
        if let Some(pairs) = answer["swap"].as_array() {
            for message in &mut request.messages {
                let mut content = parse(message);
                if let Some(text) = content["content"].as_str() {
                    let swapped = pairs.iter().fold(text.to_owned(), |text, pair| {
                        text.replace(pair[0].as_str().unwrap_or_default(), pair[1].as_str().unwrap_or_default())
                    });
                    content["content"] = swapped.into();
                    *message = content.to_string();
                }
            }
            if let Some(tool) = answer["without"].as_str() {
                request.tool_names.retain(|name| name != tool);
            }
            request.max_tokens = answer["max-tokens"].as_u64().map(|tokens| tokens as u32).or(request.max_tokens);
            return Ok(before_llm_call::LlmDecision::Rewrite(request));
        }
        if let Some(model) = answer["model"].as_str() {
            model.clone_into(&mut request.model);
            return Ok(before_llm_call::LlmDecision::Rewrite(request));
        }
        Ok(match answer["answer"].as_str() {
            Some(text) => before_llm_call::LlmDecision::Answer(text.to_owned()),
            None => before_llm_call::LlmDecision::Proceed,
        })
    }
}

impl after_llm_call::Guest for Script {
    fn after_llm_call(_turn: Turn, model: String, outcome: after_llm_call::LlmResult) {
        let kind = outcome.error.as_ref().map(kind_of);
        let error = outcome.error.map(|error| error.message);
        saw("after-llm-call", json!({ "model": model, "text": outcome.text, "error": error, "error-kind": kind }));
        // Only for `{ trap = true }`: an observer has nothing to answer.
        let _ = answer("after-llm-call");
    }
}

impl before_tool_call::Guest for Script {
    fn before_tool_call(_turn: Turn, call: ToolCall) -> Result<before_tool_call::ToolDecision, Error> {
        use before_tool_call::ToolDecision::{Answer, Ask, Deny, Proceed, Rewrite};
        saw("before-tool-call", json!({ "name": call.name, "arguments": parse(&call.arguments) }));
        let answer = answer("before-tool-call")?.unwrap_or_default();
        if let Some(reason) = answer["deny"].as_str() {
            return Ok(Deny(reason.to_owned()));
        }
        if let Some(reason) = answer["ask"].as_str() {
            return Ok(Ask(reason.to_owned()));
        }
        if let Some(arguments) = answer.get("rewrite") {
            return Ok(Rewrite(arguments.to_string()));
        }
        Ok(answer.get("answer").map_or(Proceed, |result| Answer(result.to_string())))
    }
}

impl after_tool_call::Guest for Script {
    fn after_tool_call(_turn: Turn, call: ToolCall, outcome: Result<String, Error>) -> Result<Option<String>, Error> {
        let outcome = match outcome {
            Ok(result) => json!({ "ok": parse(&result) }),
            Err(error) => json!({ "error": error.message, "error-kind": kind_of(&error) }),
        };
        saw("after-tool-call", json!({ "name": call.name, "outcome": outcome }));
        Ok(answer("after-tool-call")?.and_then(|answer| answer.get("replace").map(Value::to_string)))
    }
}

impl provide_model_options::Guest for Script {
    fn provide_model_options(session_id: String) -> Result<ModelOptions, Error> {
        saw("provide-model-options", json!({ "session": session_id }));
        let answer = answer("provide-model-options")?.unwrap_or_default();
        let field = |of: &Value, key: &str| of[key].as_str().map(str::to_owned);
        let choice = |choice: &Value| {
            let id = choice.as_str().map(str::to_owned).or(field(choice, "id")).unwrap_or_default();
            ModelChoice { name: field(choice, "name").unwrap_or_else(|| id.clone()), id }
        };
        let choices = answer["choices"].as_array().into_iter().flatten().map(choice).collect();
        Ok(ModelOptions { choices, current: field(&answer, "current") })
    }
}
