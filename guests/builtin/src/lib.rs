//! The builtin plugin: the default implementations of the stages of a turn. It is an ordinary guest, with imports that
//! any plugin could be granted.

wit_bindgen::generate!({
    inline: "
        package bub:builtin@0.1.0;
        world builtin {
            import bub:plugin/config@0.1.0;
            import bub:plugin/log@0.1.0;
            import bub:tape/tape@0.1.0;
            import bub:turn/turn@0.1.0;
            import bub:turn/stages@0.1.0;
            import bub:turn/subturn@0.1.0;
            import bub:model/chat@0.1.0;
            import bub:model/usage@0.1.0;
            import bub:tools/toolbox@0.1.0;
            export bub:hooks/resolve-session@0.1.0;
            export bub:hooks/load-state@0.1.0;
            export bub:hooks/build-prompt@0.1.0;
            export bub:hooks/run-model-stream@0.1.0;
            export bub:hooks/continue-prompt@0.1.0;
            export bub:hooks/system-prompt@0.1.0;
            export bub:hooks/save-state@0.1.0;
            export bub:hooks/render-outbound@0.1.0;
            export bub:hooks/on-error@0.1.0;
            export bub:hooks/provide-model-options@0.1.0;
            export bub:context/selector@0.1.0;
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

mod agent;
mod answer;
mod budget;
mod clock;
mod command;
mod content;
mod error;
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

use bub::plugin::log::{Level, log};
use bub::tools::schema::ToolSpec;
use bub::turn::turn::Turn;
use bub::types::types::{Envelope, Error, MessageKind, ModelOptions, Prompt, SystemPart};
use exports::bub::context::selector::{Selected, View};
use exports::bub::{context, hooks};

struct Builtin;

impl hooks::resolve_session::Guest for Builtin {
    fn resolve_session(message: Envelope) -> Result<Option<String>, Error> {
        Ok(Some(state::session_id(message)))
    }
}

impl hooks::load_state::Guest for Builtin {
    fn load_state(turn: Turn) -> Result<Option<String>, Error> {
        Ok(Some(state::of_message(&turn.message().context).to_string()))
    }
}

impl hooks::build_prompt::Guest for Builtin {
    fn build_prompt(turn: Turn) -> Result<Option<Prompt>, Error> {
        Ok(Some(prompt::of_message(turn.message(), &turn.started())))
    }
}

impl hooks::run_model_stream::Guest for Builtin {
    fn run_model_stream(turn: Turn, prompt: Prompt) -> Result<bool, Error> {
        if turn.message().kind == MessageKind::Command {
            command::run(&turn, &prompt)?;
        } else {
            agent::run(&turn, &prompt)?;
        }
        Ok(true)
    }
}

impl hooks::continue_prompt::Guest for Builtin {
    fn continue_prompt(turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        Ok(Some(prompt::to_continue(&turn)))
    }
}

impl hooks::system_prompt::Guest for Builtin {
    fn system_prompt(turn: Turn, _prompt: Prompt) -> Result<Vec<SystemPart>, Error> {
        system::parts(&turn)
    }
}

impl hooks::save_state::Guest for Builtin {
    fn save_state(turn: Turn, _output: String, failure: Option<Error>) -> Result<(), Error> {
        // The tape is written during the turn; only the turn's end remains to be recorded.
        if let Some(Error { kind, message, .. }) = failure {
            log(
                Level::Debug,
                &format!("turn of session `{}` failed: {}: {message}", turn.session_id(), kind.tape_name()),
            );
        }
        Ok(())
    }
}

impl hooks::render_outbound::Guest for Builtin {
    fn render_outbound(turn: Turn, output: String) -> Result<Vec<Envelope>, Error> {
        Ok(vec![outbound::answer(turn.message(), turn.session_id(), output)])
    }
}

impl hooks::on_error::Guest for Builtin {
    fn on_error(stage: String, error: Error, message: Option<Envelope>) -> Vec<Envelope> {
        message.and_then(|message| outbound::failure(&stage, &error, message)).into_iter().collect()
    }
}

impl hooks::provide_model_options::Guest for Builtin {
    fn provide_model_options(_session_id: String) -> Result<ModelOptions, Error> {
        Ok(settings::offered())
    }
}

impl context::selector::Guest for Builtin {
    fn select(view: View) -> Result<Selected, Error> {
        selector::everything(&view)
    }
}

impl exports::bub::tools::tools::Guest for Builtin {
    fn list_tools() -> Vec<ToolSpec> {
        tools::list()
    }

    fn call_tool(turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        tools::call(&turn, &name, &arguments)
    }
}

export!(Builtin);
