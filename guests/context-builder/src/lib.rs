//! A selector that builds the whole context within a budget: system prompt, summary, memories, recent messages, current
//! input, pinned instruction.

wit_bindgen::generate!({
    inline: "
        package bub:context-builder@0.1.0;
        world context-builder {
            import bub:plugin/config@0.1.0;
            import bub:plugin/log@0.1.0;
            import bub:tape/tape@0.1.0;
            import bub:turn/turn@0.1.0;
            import bub:context/view@0.1.0;
            import bub:context/recall@0.1.0;
            import bub:model/chat@0.1.0;
            export bub:context/selector@0.1.0;
            export bub:hooks/after-turn@0.1.0;
            export bub:tools/tools@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// The manifest, which the host reads without running the component.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

mod budget;
mod build;
mod compress;
mod digest;
#[cfg(test)]
mod fake;
mod keep;
mod language;
mod options;
mod pin;
mod retrieval;
mod safety;
mod scale;
mod source;
mod summary;
mod thread;
mod tool;
mod window;

use bub::context::view::WrittenPart;
use bub::plugin::config;
use bub::plugin::log::{Level, log};
use bub::tools::schema::ToolSpec;
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind, MessageKind, Prompt};
use bub_estimate::Ratio;
use build::Request;
use build::system::Part;
use exports::bub::context::selector::{Selected, View};
use exports::bub::{context, hooks, tools};
use options::Options;
use scale::Scale;
use serde_json::{Map, Value};

/// This plugin's sidecar for summaries.
const SIDECAR: &str = "context-builder";

/// The event with the notes of a selection.
const SELECTED: &str = "context.selected";

struct ContextBuilder;

impl context::selector::Guest for ContextBuilder {
    fn select(view: View) -> Result<Selected, Error> {
        let session = source::newest(&view, None, tool::EVENT)?;
        let session = session.and_then(|session| session.as_object().cloned()).unwrap_or_default();
        let options = read(&session)?;
        let built = build::context(&options, &request(&view), &view)?;
        if options.debug {
            built.log.iter().for_each(|line| log_line(false, line));
        }
        if let Some(said) = &built.said {
            view.replace_new_messages(&said.iter().map(Value::to_string).collect::<Vec<_>>())?;
        }
        Ok(built.selected())
    }
}

impl hooks::after_turn::Guest for ContextBuilder {
    fn after_turn(turn: Turn, _output: String) {
        if turn.message().kind == MessageKind::Command {
            return;
        }
        let options = || tool::session(&turn).and_then(|session| read(&session));
        if let Err(error) = keep::after_turn(&turn, options) {
            log_line(true, &format!("nothing is kept of the turn: {}", error.message));
        }
    }
}

impl tools::tools::Guest for ContextBuilder {
    fn list_tools() -> Vec<ToolSpec> {
        vec![tool::spec()]
    }

    fn call_tool(turn: Turn, _name: String, arguments: String) -> Result<String, Error> {
        let arguments: Map<String, Value> = serde_json::from_str(&arguments).unwrap_or_default();
        Ok(Value::from(tool::call(&turn, &arguments)?).to_string())
    }
}

fn request(view: &View) -> Request {
    Request {
        system_prompt: view.system_prompt(),
        system_parts: view.system_parts().into_iter().map(part).collect(),
        prompt: match view.prompt() {
            Prompt::Text(text) => text,
            Prompt::Parts(parts) => thread::words(&serde_json::from_str(&parts).unwrap_or_default()),
        },
        said: view.new_messages().iter().filter_map(|message| serde_json::from_str(message).ok()).collect(),
        tools: view.tools().into_iter().map(|tool| (tool.name, tool.description, tool.parameters)).collect(),
        began: view.turn_start_id(),
        room: view.budget().map(u64::from),
        scale: Scale(Ratio::kept(view.token_calibration())),
    }
}

fn part(written: WrittenPart) -> Part {
    let WrittenPart { plugin, part } = written;
    let name = match plugin {
        Some(plugin) => format!("{plugin}/{}", part.name),
        None => part.name,
    };
    Part { name, text: part.text, cut: part.cut }
}

fn read(session: &Map<String, Value>) -> Result<Options, Error> {
    let wrong = |message| Error { kind: ErrorKind::Config, message, details: None };
    Options::read(configured, session).map_err(wrong)
}

/// The configured value of an option.
fn configured(key: &str) -> Option<Value> {
    serde_json::from_str(&config::get(key)?).ok()
}

/// Logs a line.
fn log_line(warns: bool, line: &str) {
    log(if warns { Level::Warn } else { Level::Debug }, line);
}

export!(ContextBuilder);
