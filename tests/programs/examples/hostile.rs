//! Breaks the rule that `mode` of its configuration names. Without any it answers `alive`.
//!
//! `json` chooses the text that it returns as JSON: `deep`, `broken`, or odd in one of four ways. Calls behind the
//! back of the bindings are in `raw.rs`, attacks on the allocator in `greed.rs`, requests to the operating
//! system in `system.rs`, and forbidden writes in `pen.rs`. `tool`, `description`, `parameters`, `about` and
//! `version` are its own description.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/hostile", generate_all });

#[path = "../greed.rs"]
mod greed;
#[path = "../pen.rs"]
mod pen;
#[path = "../raw.rs"]
mod raw;
#[path = "../system.rs"]
mod system;
#[path = "../words.rs"]
mod words;

use bub::context::view::View;
use bub::model::chat;
use bub::model::exchange::Request;
use bub::plugin::{config, log};
use bub::tools::schema::{Effect, ToolSpec};
use bub::turn::turn::Turn;
use bub::types::types::*;
use exports::bub::context::selector::{Part, Selected};
use exports::bub::hooks::before_llm_call::{LlmDecision, LlmRequest};
use exports::bub::hooks::before_tool_call::ToolDecision;
use exports::bub::plugin::manifest::{GrantRequest, Manifest};
use exports::bub::{context, hooks, plugin, tools};
use std::hint::black_box;

#[global_allocator]
static MEMORY: greed::Greed = greed::Greed;

struct Hostile;

/// The configuration's value of that key, as text.
pub fn setting(key: &str) -> String {
    let text: Option<serde_json::Value> = config::get(key).and_then(|text| serde_json::from_str(&text).ok());
    text.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
}

fn is(mode: &str) -> bool {
    setting("mode") == mode
}

/// The same, or that where there is nothing.
fn setting_or(key: &str, other: &str) -> String {
    Some(setting(key)).filter(|text| !text.is_empty()).unwrap_or_else(|| other.to_owned())
}

/// JSON that is none, or too much of it, or that readers disagree about.
pub fn bad_json() -> String {
    match setting("json").as_str() {
        "deep" => "[".repeat(10_000) + &"]".repeat(10_000),
        "surrogate" => r#"{"key": "\ud800"}"#.to_owned(),
        "twice" => r#"{"key": 1, "key": 2}"#.to_owned(),
        "infinite" => r#"{"key": 1e999}"#.to_owned(),
        "digits" => format!("{{\"key\": {}}}", "7".repeat(1_000_000)),
        _ => "{no json".to_owned(),
    }
}

/// One line in the log: the attempt, and the kind of error that it returned.
pub fn told<T>(hook: &str, place: &str, outcome: Result<T, Error>) {
    let kind = outcome.err().map(|error| format!("{:?}", error.kind).replace("ErrorKind::", ""));
    let line = serde_json::json!({ "hook": hook, "place": place, "refused": kind });
    log::log(log::Level::Info, &format!("saw:{line}"));
}

pub fn spin() -> ! {
    let mut turns = 0u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

impl plugin::manifest::Guest for Hostile {
    fn describe() -> Manifest {
        if is("describe") {
            spin();
        }
        let wants = ["hook:*", "tape:*", "model:*", "tools:*", "agent"];
        Manifest {
            name: "hostile".to_owned(),
            version: setting_or("version", "1"),
            about: setting("about"),
            wants: wants.map(|grant| GrantRequest { grant: grant.to_owned(), why: String::new() }).to_vec(),
            config_schema: is("schema").then(bad_json),
        }
    }
}

impl hooks::resolve_session::Guest for Hostile {
    fn resolve_session(_message: Envelope) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

impl hooks::load_state::Guest for Hostile {
    fn load_state(turn: Turn) -> Result<Option<String>, Error> {
        if is("kept") {
            // A handle for later, and where it is.
            let tape = turn.tape()?;
            turn.set("kept", &tape.handle().to_string())?;
            std::mem::forget(tape);
            return Ok(None);
        }
        if is("keys") {
            let tried = ["_runtime_workspace", "session_id", "_new", "mine"].map(|key| {
                let refused = turn.set(key, "\"forged\"").err();
                refused.map_or("taken".to_owned(), |error| format!("{:?}", error.kind))
            });
            log::log(log::Level::Info, &format!("saw:{}", serde_json::json!({ "hook": "keys", "tried": tried })));
            let forged = r#"{"_runtime_workspace": "/", "session_id": "forged", "_other": 1, "loaded": true}"#;
            return Ok(Some(forged.to_owned()));
        }
        Ok(is("load-state").then(bad_json))
    }
}

impl hooks::build_prompt::Guest for Hostile {
    fn build_prompt(turn: Turn) -> Result<Option<Prompt>, Error> {
        match setting("mode").as_str() {
            "build-prompt" => return Ok(Some(Prompt::Parts(bad_json()))),
            "keys" => {
                let line = serde_json::json!({ "hook": "state", "state": turn.state(), "workspace": turn.workspace() });
                log::log(log::Level::Info, &format!("saw:{line}"));
            }
            "post-return" => return Ok(Some(Prompt::Text("x".repeat(greed::SPINS_WHEN_FREED)))),
            "sleep" => std::thread::sleep(std::time::Duration::from_secs(3600)),
            "stack" => {
                black_box(deep(1, black_box(u64::MAX)));
            }
            "shadow-stack" => {
                black_box(wide(1, black_box(u64::MAX)));
            }
            "fill" => {
                let mut much = vec![0u8; 32 << 20];
                loop {
                    much.fill(black_box(7));
                    black_box(&much);
                }
            }
            "logs" => (0..1_000_000).for_each(|line| log::log(log::Level::Error, &format!("line {line}\n\u{1b}[2J"))),
            "pollables" => {
                let all: Vec<_> = (0..100_000u64).map(wasip2::clocks::monotonic_clock::subscribe_duration).collect();
                black_box(&all);
            }
            mode => {
                raw::act(mode, &turn);
                if let Some(told) = system::asked_for(mode) {
                    let line = serde_json::json!({ "hook": "system", "told": told });
                    log::log(log::Level::Info, &format!("saw:{line}"));
                }
                return Ok(raw::answer(mode));
            }
        }
        Ok(None)
    }
}

/// Deep on the stack of WebAssembly, which the guest cannot see: no part of a frame is in memory.
#[inline(never)]
fn deep(depth: u64, end: u64) -> u64 {
    if depth == end { 0 } else { deep(depth + 1, end).wrapping_mul(depth) ^ depth }
}

/// Deep on the stack that the guest keeps in its own memory.
#[inline(never)]
fn wide(depth: u64, end: u64) -> u64 {
    let much = [depth as u8; 65_536];
    if depth == end { 0 } else { wide(depth + 1, end) ^ u64::from(black_box(&much)[depth as usize % much.len()]) }
}

impl hooks::run_model_stream::Guest for Hostile {
    fn run_model_stream(turn: Turn, _prompt: Prompt) -> Result<bool, Error> {
        if is("words") {
            words::say(&turn);
        }
        if is("pen") {
            pen::writes(&turn);
        }
        turn.emit(&StreamEvent::Text("alive".to_owned()))?;
        Ok(true)
    }
}

impl hooks::render_outbound::Guest for Hostile {
    fn render_outbound(turn: Turn, _output: String) -> Result<Vec<Envelope>, Error> {
        let envelope = || Envelope { context: vec![("key".to_owned(), bad_json())], ..turn.message() };
        if is("pen") {
            pen::speaks(&turn);
        }
        if is("answer-shared") {
            let contents = raw::one_megabyte(100).into_iter();
            return Ok(contents.map(|content| Envelope { content, ..turn.message() }).collect());
        }
        Ok(if is("render-outbound") { vec![envelope()] } else { Vec::new() })
    }
}

impl hooks::before_llm_call::Guest for Hostile {
    fn before_llm_call(turn: Turn, mut request: LlmRequest) -> Result<LlmDecision, Error> {
        if is("model-in-model") {
            let asked = chat::complete(
                &turn,
                &Request {
                    model: Some(request.model.clone()),
                    messages: request.messages.clone(),
                    tools: Vec::new(),
                    max_tokens: None,
                    purpose: "again".to_owned(),
                    options: None,
                },
            );
            // To its end, so that the calls stand inside one another.
            let said = asked.and_then(|completion| {
                while completion.next()?.is_some() {}
                Ok(())
            });
            let refused = said.err().map(|error| format!("{:?}: {}", error.kind, error.message));
            log::log(log::Level::Info, &format!("saw:{}", serde_json::json!({ "hook": "inner", "refused": refused })));
        }
        if !is("before-llm-call") {
            return Ok(LlmDecision::Proceed);
        }
        request.messages.push(bad_json());
        Ok(LlmDecision::Rewrite(request))
    }
}

impl hooks::before_tool_call::Guest for Hostile {
    fn before_tool_call(_turn: Turn, _call: ToolCall) -> Result<ToolDecision, Error> {
        Ok(if is("before-tool-call") { ToolDecision::Rewrite(bad_json()) } else { ToolDecision::Proceed })
    }
}

impl hooks::after_tool_call::Guest for Hostile {
    fn after_tool_call(_: Turn, _: ToolCall, _: Result<String, Error>) -> Result<Option<String>, Error> {
        Ok(is("after-tool-call").then(bad_json))
    }
}

impl context::selector::Guest for Hostile {
    fn select(_view: View) -> Result<Selected, Error> {
        let message = is("selector").then(|| Part::Message(bad_json()));
        let notes = if is("notes") { bad_json() } else { "{}".to_owned() };
        Ok(Selected {
            system_prompt: None,
            before: message.into_iter().collect(),
            history: Vec::new(),
            after: Vec::new(),
            notes,
        })
    }
}

impl tools::tools::Guest for Hostile {
    fn list_tools() -> Vec<ToolSpec> {
        if is("list-tools") {
            spin();
        }
        vec![ToolSpec {
            name: setting_or("tool", "hostile.tool"),
            description: setting("description"),
            parameters: if is("parameters") { bad_json() } else { setting_or("parameters", r#"{"type": "object"}"#) },
            for_model: true,
            effect: Effect::Read,
            reads_outside: false,
        }]
    }

    fn call_tool(_turn: Turn, _name: String, _arguments: String) -> Result<String, Error> {
        Ok(if is("call-tool") { bad_json() } else { "\"fine\"".to_owned() })
    }
}

export!(Hostile);
