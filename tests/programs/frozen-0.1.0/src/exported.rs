//! Every hook: most pass on, so that a turn goes its way.

use crate::Frozen;
use crate::bub::context::view::View;
use crate::bub::model::exchange::Request;
use crate::bub::model::sink::Sink;
use crate::bub::tools::schema::{Effect, ToolSpec};
use crate::bub::turn::turn::Turn;
use crate::bub::types::types::{CutOrder, Envelope, Error, ErrorKind, ModelOptions, Prompt, SystemPart, ToolCall};
use crate::exports::bub::channel::channel;
use crate::exports::bub::context::selector;
use crate::exports::bub::hooks::*;
use crate::exports::bub::model::provider;
use crate::exports::bub::plugin::manifest;
use crate::exports::bub::tape::store;
use crate::exports::bub::tools::tools;
use crate::imported;

fn not_here<T>() -> Result<T, Error> {
    Err(Error { kind: ErrorKind::NotFound, message: "frozen".into(), details: None })
}

impl manifest::Guest for Frozen {
    fn describe() -> manifest::Manifest {
        let hooks = ["build-prompt", "system-prompt", "before-tool-call", "after-turn", "provider", "selector"];
        let hooks = hooks.map(|hook| format!("hook:{hook}"));
        let others =
            ["tape:read", "tape:append", "tape:event", "tape:workspace", "agent", "model:*", "usage", "process"];
        let wants = hooks.into_iter().chain(others.map(str::to_owned));
        let wants = wants.map(|grant| manifest::GrantRequest { grant, why: "to be asked".into() }).collect();
        let (name, version, about) = ("frozen".into(), "0.1.0".into(), "A plugin of 0.1.0".into());
        manifest::Manifest { name, version, about, wants, config_schema: None }
    }
}

impl resolve_session::Guest for Frozen {
    fn resolve_session(_message: Envelope) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

impl load_state::Guest for Frozen {
    fn load_state(_turn: Turn) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

impl build_prompt::Guest for Frozen {
    fn build_prompt(turn: Turn) -> Result<Option<Prompt>, Error> {
        let content = turn.message().content;
        Ok(content.strip_prefix("frozen ").map(|rest| Prompt::Text(rest.to_uppercase())))
    }
}

impl run_model::Guest for Frozen {
    fn run_model(_turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

impl continue_prompt::Guest for Frozen {
    fn continue_prompt(_turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

impl system_prompt::Guest for Frozen {
    fn system_prompt(_turn: Turn, _prompt: Prompt) -> Result<Vec<SystemPart>, Error> {
        Ok(vec![SystemPart { name: "cold".into(), text: "It is cold.".into(), cut: CutOrder::Normal }])
    }
}

impl save_state::Guest for Frozen {
    fn save_state(_turn: Turn, _model_output: String, _failure: Option<Error>) -> Result<(), Error> {
        Ok(())
    }
}

impl render_outbound::Guest for Frozen {
    fn render_outbound(_turn: Turn, _model_output: String) -> Result<Vec<Envelope>, Error> {
        Ok(vec![])
    }
}

impl dispatch_outbound::Guest for Frozen {
    fn dispatch_outbound(_message: Envelope) -> Result<bool, Error> {
        Ok(false)
    }
}

impl on_error::Guest for Frozen {
    fn on_error(_stage: String, _error: Error, _message: Option<Envelope>) -> Vec<Envelope> {
        vec![]
    }
}

impl after_turn::Guest for Frozen {
    fn after_turn(_turn: Turn, _model_output: String) {}
}

impl before_reset::Guest for Frozen {
    fn before_reset(_turn: Turn, _archive: bool) -> Result<Vec<before_reset::Attachment>, Error> {
        Ok(vec![])
    }
}

impl before_llm_call::Guest for Frozen {
    fn before_llm_call(
        _turn: Turn,
        _request: before_llm_call::LlmRequest,
    ) -> Result<before_llm_call::LlmDecision, Error> {
        Ok(before_llm_call::LlmDecision::Proceed)
    }
}

impl after_llm_call::Guest for Frozen {
    fn after_llm_call(_turn: Turn, _model: String, _outcome: after_llm_call::LlmResult) {}
}

impl before_tool_call::Guest for Frozen {
    fn before_tool_call(_turn: Turn, _call: ToolCall) -> Result<before_tool_call::ToolDecision, Error> {
        Ok(before_tool_call::ToolDecision::Proceed)
    }
}

impl after_tool_call::Guest for Frozen {
    fn after_tool_call(_turn: Turn, _call: ToolCall, _outcome: Result<String, Error>) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

impl admit_message::Guest for Frozen {
    fn admit_message(
        _session_id: String,
        _message: Envelope,
        _load: admit_message::SessionLoad,
    ) -> Result<Option<admit_message::Decision>, Error> {
        Ok(None)
    }
}

impl provide_model_options::Guest for Frozen {
    fn provide_model_options(_session_id: String) -> Result<ModelOptions, Error> {
        Ok(ModelOptions { choices: vec![], current: None })
    }
}

impl commands::Guest for Frozen {
    fn list_commands() -> Vec<commands::Command> {
        vec![commands::Command { name: "frozen".into(), about: "Says that it is cold".into() }]
    }

    fn run_command(_name: String, arguments: Vec<String>) -> Result<String, Error> {
        Ok(format!("cold {}", arguments.join(" ")))
    }
}

impl store::Guest for Frozen {
    fn commit(_batches: Vec<store::Batch>, _key: Option<String>) -> Result<store::Outcome, Error> {
        not_here()
    }

    fn read(_tape: String, _after: u64, _max: u32) -> Result<store::Page, Error> {
        not_here()
    }

    fn tail(_tape: String, _before: Option<u64>, _max: u32) -> Result<store::Page, Error> {
        not_here()
    }

    fn newest(_tape: String, _lookup: store::Lookup, _before: Option<u64>) -> Result<Option<store::Entry>, Error> {
        not_here()
    }

    fn list_tapes(_after: Option<String>, _max: u32) -> Result<Vec<String>, Error> {
        not_here()
    }

    fn list_sidecars(_tape: String, _after: Option<String>, _max: u32) -> Result<Vec<String>, Error> {
        not_here()
    }

    fn archive_name(_tape: String) -> Result<Option<String>, Error> {
        not_here()
    }
}

impl selector::Guest for Frozen {
    fn select(view: View) -> Result<selector::Selected, Error> {
        imported::of_view(&view);
        let mut history = Vec::new();
        loop {
            let entries = view.next(256)?;
            if entries.is_empty() {
                break;
            }
            history.extend(entries.iter().map(|entry| selector::Part::Entry(entry.id)));
        }
        let notes = r#"{"by":"frozen"}"#.into();
        Ok(selector::Selected { system_prompt: None, before: vec![], history, after: vec![], notes })
    }
}

impl tools::Guest for Frozen {
    fn list_tools() -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "frozen.reach".into(),
            description: "Calls all that the host offers".into(),
            parameters: r#"{"type":"object"}"#.into(),
            for_model: true,
            effect: Effect::Read,
            reads_outside: false,
        }]
    }

    fn call_tool(turn: Turn, _name: String, _arguments: String) -> Result<String, Error> {
        Ok(format!("\"{} of them answered\"", imported::all(&turn)))
    }
}

impl provider::Guest for Frozen {
    fn name() -> String {
        "frozen".into()
    }

    fn complete(request: Request, sink: Sink) -> Result<(), Error> {
        imported::of_sink(&sink, &format!("cold, after {} messages", request.messages.len()))
    }
}

impl channel::Guest for Frozen {
    fn describe() -> channel::Description {
        let (needs_debounce, supports_polling, webhook, supports_edits, deduplicates) = (false, false, false, false, false);
        channel::Description { name: "frozen".into(), needs_debounce, supports_polling, webhook, supports_edits, deduplicates }
    }

    fn poll(cursor: Option<String>) -> Result<channel::Inbox, Error> {
        Ok(channel::Inbox { arrivals: vec![], cursor: cursor.unwrap_or_else(|| "null".into()), wait_ms: 1000 })
    }

    fn receive(_request: channel::WebhookRequest) -> Result<channel::WebhookResponse, Error> {
        not_here()
    }

    fn send(_message: Envelope, _key: String) -> Result<Option<String>, Error> {
        not_here()
    }

    fn update(_handle: String, _message: Envelope) -> Result<(), Error> {
        not_here()
    }
}
