//! A selector that builds the whole context within a budget: system prompt, summary, memories, recent messages, current
//! input, pinned instruction.

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

use bub_estimate::Ratio;
use bub_guest::log::{Level, log};
use bub_guest::view::{Selected, WrittenPart};
use bub_guest::{Error, MessageKind, Prompt, Result, Turn, View, config};
use build::Request;
use build::system::Part;
use options::Options;
use scale::Scale;
use serde_json::{Map, Value};

bub_guest::plugin! {
    about: "Builds the whole context within a budget: system prompt, summary, memories, recent messages, the goal.",
    config: options::Table,
    after_turn: "selected",
    grants: {
        /// to find what memory, notes and earlier conversations know
        RECALL: Recall,
        /// to read what has left the window
        TAPE: TapeRead,
        /// to keep summaries beside the tape, and a session's options on it
        EVENTS: TapeEvent,
        /// to summarise with `summary_model`, where one is set
        MODEL: Model("*"),
    },
    hooks: {
        /// to build the context
        selector: select,
        /// to summarise what has left the window
        after_turn: after_turn,
    },
    tools: [tool::context],
}

/// This plugin's sidecar: the summary.
const SIDECAR: &str = "context-builder";

/// The event with the notes of a selection.
const SELECTED: &str = "context.selected";

fn select(view: &View) -> Result<Selected> {
    let session = source::newest(view, None, tool::EVENT)?;
    let session = session.and_then(|session| session.as_object().cloned()).unwrap_or_default();
    let options = read(&session)?;
    let built = build::context(&options, &request(view), view)?;
    if options.debug {
        built.log.iter().for_each(|line| log_line(false, line));
    }
    if let Some(said) = &built.said {
        view.replace_new_messages(&said.iter().map(Value::to_string).collect::<Vec<_>>())?;
    }
    Ok(built.selected())
}

fn after_turn(turn: &Turn, _output: String) {
    if turn.message().kind == MessageKind::Command {
        return;
    }
    let options = || tool::session(turn).and_then(|session| read(&session));
    if let Err(error) = keep::after_turn(turn, options) {
        log_line(true, &format!("nothing is kept of the turn: {}", error.message));
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
        input_budget: view.budget().map(u64::from),
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

fn read(session: &Map<String, Value>) -> Result<Options> {
    Options::read(configured, session).map_err(Error::config)
}

/// The configured value of an option.
fn configured(key: &str) -> Option<Value> {
    config::get(key).ok().flatten()
}

/// Logs a line.
fn log_line(warns: bool, line: &str) {
    log(if warns { Level::Warn } else { Level::Debug }, line);
}
