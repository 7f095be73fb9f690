//! The builtin plugin: the default implementations of the stages of a turn. It is an ordinary guest, with grants that any
//! plugin could be given.

mod agent;
mod answer;
mod budget;
mod clock;
mod command;
mod content;
mod json;
mod nearest;
mod outbound;
mod overflow;
mod prompt;
mod record;
mod selector;
mod settings;
mod state;
mod system;
mod tools;
mod toolset;

use bub_guest::{Error, MessageKind, Prompt, Result, Turn, log};

bub_guest::plugin! {
    about: "The stages of a turn as they are when no other plugin answers them, and the agent loop.",
    grants: {
        /// to find the last system prompt
        TAPE: TapeRead,
        /// to record the turn
        APPEND: TapeAppend,
        /// to call the model that the session has chosen
        MODEL: Model("*"),
        /// to run the tools that the model calls
        TOOLS: Tools("*"),
        /// to ask the other plugins for their parts of a model call
        AGENT: Agent,
        /// to show what the session and the day have used
        USAGE: Usage,
    },
    hooks: {
        /// to give a message its session where no other plugin does
        resolve_session: state::session_id,
        /// to begin the state of a turn
        load_state: state::of_turn,
        /// to make the prompt where no other plugin does
        build_prompt: prompt::of_turn,
        /// to run the agent loop where no other plugin does
        run_model_stream: answer_message,
        /// to say how the loop goes on
        continue_prompt: prompt::to_continue,
        /// to tell the model what it is, what the workspace says and which tools there are
        system_prompt: system::parts,
        /// to log the failure of a turn
        save_state: log_failure,
        /// to make a message of the answer where no other plugin does
        render_outbound: outbound::of_turn,
        /// to tell the sender what failed
        on_error: outbound::of_error,
        /// to offer the configured models
        provide_model_options: settings::offered,
        /// to select all of a session where no other selector is chosen
        selector: selector::everything,
    },
    tools: [
        tools::spill::read, tools::subagent::run, tools::help::help, tools::usage::usage, tools::session::quit,
        tools::session::model, tools::session::selector, tools::session::reasoning_effort, tools::session::name,
        tools::search::search, tools::search::call,
    ],
}

fn answer_message(turn: &Turn, prompt: Prompt) -> Result<bool> {
    if turn.message().kind == MessageKind::Command {
        command::run(turn, &prompt)?;
    } else {
        agent::run(turn, &prompt)?;
    }
    Ok(true)
}

/// The tape is written during the turn; only the turn's end remains to be recorded.
fn log_failure(turn: &Turn, _output: String, failure: Option<Error>) -> Result<()> {
    if let Some(Error { kind, message, .. }) = failure {
        let kind = record::kind_name(kind);
        log::debug(format!("turn of session `{}` failed: {kind}: {message}", turn.session_id()));
    }
    Ok(())
}
