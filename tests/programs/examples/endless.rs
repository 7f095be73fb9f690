//! Never comes back from the export that `[plugins.NAME.config] where` names, and does in all others what changes
//! nothing. The two exports that it cannot have beside these are in `endless_otherwise`.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/endless", generate_all });

#[path = "../place.rs"]
mod place;

use bub::context::view::View;
use bub::model::exchange::Request;
use bub::model::sink::Sink;
use bub::plugin::config;
use bub::tape::entries::Entry;
use bub::tools::schema::{Effect, ToolSpec};
use bub::turn::turn::Turn;
use bub::types::types::{Envelope, Error, ErrorKind, ModelOptions, Prompt, StreamEvent, SystemPart, ToolCall};
use exports::bub::channel::channel::{self, Description, Inbox, WebhookRequest, WebhookResponse};
use exports::bub::context::selector::Selected;
use exports::bub::hooks::{admit_message, before_llm_call, before_reset, before_tool_call, commands};
use exports::bub::plugin::manifest::{self, Manifest};
use exports::bub::tape::store::{self, Batch, Lookup, Outcome, Page};
use exports::bub::tape::store_query::{self, Candidates, Condition};
use exports::bub::{context, hooks, model, tools};
use place::pass;

struct Endless;

impl manifest::Guest for Endless {
    fn describe() -> Manifest {
        pass("describe");
        let text = String::new;
        let wants = ["hook:*", "agent", "model:*", "tools:*"];
        let wants = wants.map(|grant| manifest::GrantRequest { grant: grant.to_owned(), why: text() }).to_vec();
        Manifest { name: "endless".to_owned(), version: text(), about: text(), wants, config_schema: None }
    }
}

impl hooks::admit_message::Guest for Endless {
    fn admit_message(
        _session: String,
        _message: Envelope,
        _load: admit_message::SessionLoad,
    ) -> Result<Option<admit_message::Decision>, Error> {
        pass("admit-message");
        Ok(None)
    }
}

impl hooks::resolve_session::Guest for Endless {
    fn resolve_session(_message: Envelope) -> Result<Option<String>, Error> {
        pass("resolve-session");
        Ok(None)
    }
}

impl hooks::load_state::Guest for Endless {
    fn load_state(_turn: Turn) -> Result<Option<String>, Error> {
        pass("load-state");
        Ok(None)
    }
}

impl hooks::build_prompt::Guest for Endless {
    fn build_prompt(_turn: Turn) -> Result<Option<Prompt>, Error> {
        pass("build-prompt");
        Ok(None)
    }
}

impl hooks::run_model_stream::Guest for Endless {
    fn run_model_stream(turn: Turn, prompt: Prompt) -> Result<bool, Error> {
        pass("run-model-stream");
        // Without another model, it repeats the prompt.
        let Prompt::Text(said) = prompt else { return Ok(false) };
        let alone: Option<bool> = config::get("alone").and_then(|text| serde_json::from_str(&text).ok());
        if alone != Some(true) {
            return Ok(false);
        }
        turn.emit(&StreamEvent::Text(said))?;
        Ok(true)
    }
}

impl hooks::continue_prompt::Guest for Endless {
    fn continue_prompt(_turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        pass("continue-prompt");
        Ok(None)
    }
}

impl hooks::system_prompt::Guest for Endless {
    fn system_prompt(_turn: Turn, _prompt: Prompt) -> Result<Vec<SystemPart>, Error> {
        pass("system-prompt");
        Ok(Vec::new())
    }
}

impl hooks::save_state::Guest for Endless {
    fn save_state(_turn: Turn, _output: String, _failure: Option<Error>) -> Result<(), Error> {
        pass("save-state");
        Ok(())
    }
}

impl hooks::render_outbound::Guest for Endless {
    fn render_outbound(_turn: Turn, _output: String) -> Result<Vec<Envelope>, Error> {
        pass("render-outbound");
        Ok(Vec::new())
    }
}

impl hooks::dispatch_outbound::Guest for Endless {
    fn dispatch_outbound(_message: Envelope) -> Result<bool, Error> {
        pass("dispatch-outbound");
        Ok(false)
    }
}

impl hooks::on_error::Guest for Endless {
    fn on_error(_stage: String, _error: Error, _message: Option<Envelope>) -> Vec<Envelope> {
        pass("on-error");
        Vec::new()
    }
}

impl hooks::after_turn::Guest for Endless {
    fn after_turn(_turn: Turn, _output: String) {
        pass("after-turn");
    }
}

impl hooks::before_reset::Guest for Endless {
    fn before_reset(_turn: Turn, _archive: bool) -> Result<Vec<before_reset::Attachment>, Error> {
        pass("before-reset");
        Ok(Vec::new())
    }
}

impl hooks::before_llm_call::Guest for Endless {
    fn before_llm_call(
        _turn: Turn,
        _request: before_llm_call::LlmRequest,
    ) -> Result<before_llm_call::LlmDecision, Error> {
        pass("before-llm-call");
        Ok(before_llm_call::LlmDecision::Proceed)
    }
}

impl hooks::after_llm_call::Guest for Endless {
    fn after_llm_call(_turn: Turn, _model: String, _outcome: hooks::after_llm_call::LlmResult) {
        pass("after-llm-call");
    }
}

impl hooks::before_tool_call::Guest for Endless {
    fn before_tool_call(_turn: Turn, _call: ToolCall) -> Result<before_tool_call::ToolDecision, Error> {
        pass("before-tool-call");
        Ok(before_tool_call::ToolDecision::Proceed)
    }
}

impl hooks::after_tool_call::Guest for Endless {
    fn after_tool_call(_: Turn, _: ToolCall, _: Result<String, Error>) -> Result<Option<String>, Error> {
        pass("after-tool-call");
        Ok(None)
    }
}

impl hooks::provide_model_options::Guest for Endless {
    fn provide_model_options(_session: String) -> Result<ModelOptions, Error> {
        pass("provide-model-options");
        Ok(ModelOptions { choices: Vec::new(), current: None })
    }
}

impl hooks::commands::Guest for Endless {
    fn list_commands() -> Vec<commands::Command> {
        pass("list-commands");
        vec![commands::Command { name: "endless".to_owned(), about: String::new() }]
    }

    fn run_command(_name: String, _arguments: Vec<String>) -> Result<String, Error> {
        pass("run-command");
        Ok("done".to_owned())
    }
}

/// The one tape that it says it keeps.
fn tape() -> Option<String> {
    config::get("tape").and_then(|text| serde_json::from_str(&text).ok())
}

/// Its one entry, where it is among those that are wanted.
fn page(is_wanted: bool) -> Page {
    Page { entries: tape().filter(|_| is_wanted).map(|_| entry()).into_iter().collect(), more: false }
}

fn entry() -> Entry {
    let text = |text: &str| text.to_owned();
    let payload = text(r#"{"name": "session/start", "state": {}}"#);
    Entry { id: 1, kind: text("anchor"), payload, meta: text("{}"), date: text("2026-11-21T00:00:00+00:00") }
}

/// Keeps at most one tape, and forgets what it is given.
impl store::Guest for Endless {
    fn commit(_batches: Vec<Batch>, _key: Option<String>) -> Result<Outcome, Error> {
        pass("store.commit");
        Ok(Outcome::Stored)
    }

    fn read(_tape: String, after: u64, _max: u32) -> Result<Page, Error> {
        pass("store.read");
        Ok(page(after == 0))
    }

    fn tail(_tape: String, before: Option<u64>, _max: u32) -> Result<Page, Error> {
        pass("store.tail");
        Ok(page(before.is_none_or(|before| before > 1)))
    }

    fn newest(_tape: String, _lookup: Lookup, _before: Option<u64>) -> Result<Option<Entry>, Error> {
        pass("store.newest");
        Ok(None)
    }

    fn list_tapes(_after: Option<String>, _max: u32) -> Result<Vec<String>, Error> {
        pass("store.list-tapes");
        Ok(tape().into_iter().collect())
    }

    fn list_sidecars(_tape: String, _after: Option<String>, _max: u32) -> Result<Vec<String>, Error> {
        pass("store.list-sidecars");
        Ok(Vec::new())
    }

    fn archive_name(tape: String) -> Result<Option<String>, Error> {
        pass("store.archive-name");
        Ok(Some(format!("{tape}.jsonl.old")))
    }
}

impl store_query::Guest for Endless {
    fn query(_tape: String, condition: Condition, _newest_first: bool, _max: u32) -> Result<Option<Candidates>, Error> {
        pass("store.query");
        let is_wanted = condition.after == 0 && condition.before.is_none_or(|before| before > 1);
        Ok(Some(Candidates { entries: page(is_wanted).entries, next: None }))
    }
}

impl context::selector::Guest for Endless {
    fn select(_view: View) -> Result<Selected, Error> {
        pass("selector");
        let nothing = Vec::new;
        Ok(Selected {
            system_prompt: None,
            before: nothing(),
            history: nothing(),
            after: nothing(),
            notes: "{}".to_owned(),
        })
    }
}

impl tools::tools::Guest for Endless {
    fn list_tools() -> Vec<ToolSpec> {
        pass("list-tools");
        vec![ToolSpec {
            name: "endless.tool".to_owned(),
            description: String::new(),
            parameters: r#"{"type": "object"}"#.to_owned(),
            for_model: true,
            effect: Effect::Read,
            reads_outside: false,
        }]
    }

    fn call_tool(_turn: Turn, _name: String, _arguments: String) -> Result<String, Error> {
        pass("call-tool");
        Ok("\"called\"".to_owned())
    }
}

impl model::provider::Guest for Endless {
    fn name() -> String {
        pass("name");
        "endless".to_owned()
    }

    fn complete(_request: Request, _sink: Sink) -> Result<(), Error> {
        pass("complete");
        Err(Error { kind: ErrorKind::Provider, message: "it is no model".to_owned(), details: None })
    }
}

impl model::embedder::Guest for Endless {
    fn model() -> String {
        pass("embedder.model");
        "endless".to_owned()
    }

    fn embed(texts: Vec<String>, _purpose: model::embedder::Purpose) -> Result<Vec<Vec<f32>>, Error> {
        pass("embedder.embed");
        Ok(vec![vec![1.0, 0.0]; texts.len()])
    }
}

impl channel::Guest for Endless {
    fn describe() -> Description {
        pass("channel");
        Description {
            name: "endless".to_owned(),
            needs_debounce: false,
            supports_polling: true,
            webhook: true,
            supports_edits: true,
            deduplicates: false,
        }
    }

    fn poll(_cursor: Option<String>) -> Result<Inbox, Error> {
        pass("poll");
        Ok(Inbox { arrivals: Vec::new(), cursor: "0".to_owned(), wait_ms: 1_000 })
    }

    fn receive(_request: WebhookRequest) -> Result<WebhookResponse, Error> {
        pass("receive");
        Ok(WebhookResponse { status: 204, headers: Vec::new(), body: Vec::new(), arrivals: Vec::new() })
    }

    fn send(_message: Envelope, _key: String) -> Result<Option<String>, Error> {
        pass("send");
        Ok(Some("handle".to_owned()))
    }

    fn update(_handle: String, _message: Envelope) -> Result<(), Error> {
        pass("update");
        Ok(())
    }
}

export!(Endless);
