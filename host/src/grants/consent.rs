//! What the owner has said about tool calls that are asked for, for as long as this process runs.

use crate::channel::{Answer, Question};
use crate::plugin::bindings::schema::Effect;
use crate::plugin::bindings::{Error, ToolCall};
use crate::plugin::{Tool, effect_name, model_name, one_line};
use crate::turn::Turn;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers that are remembered. Whoever has given more is asked again.
const MAX_ANSWERS: usize = 4096;

/// Asks by itself, beside the plugins that do.
const HOST: &str = "";

/// Somebody who wants the owner to be asked about a call.
pub(super) struct Asker {
    /// The plugin; empty: the host.
    name: String,
    why: String,
}

impl Asker {
    /// The host's own rules.
    pub(super) fn host(why: String) -> Self {
        Self { name: HOST.to_owned(), why }
    }

    /// The same, where this call does more than its tool declares: what was said of the tool is not said of that.
    pub(super) fn of_flows(effect: Effect, why: String) -> Self {
        Self { name: format!("{HOST}:{}", effect_name(effect)), why }
    }

    /// What a plugin said before the call.
    pub(super) fn plugin(name: String, why: &str) -> Self {
        let why = format!("{} (asked for by the plugin `{name}`)", one_line(why));
        Self { name, why }
    }
}

/// Session, asker, tool.
type Matter = (String, String, String);

/// What is to be done without asking, and what is not to be done, each for one session, tool and asker.
#[derive(Default)]
pub(crate) struct Consents(Mutex<HashMap<Matter, bool>>);

impl Consents {
    fn lock(&self) -> MutexGuard<'_, HashMap<Matter, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, matter: &Matter) -> Option<bool> {
        self.lock().get(matter).copied()
    }

    fn keep(&self, matters: Vec<Matter>, may: bool) {
        let mut kept = self.lock();
        for matter in matters {
            if kept.len() < MAX_ANSWERS || kept.contains_key(&matter) {
                kept.insert(matter, may);
            }
        }
    }
}

/// Lets the owner decide about a call that these want to be asked about, showing it as it will be made. An answer that is
/// to last holds for that tool in that session, turns inside its turns included. `effect` is what this call does, which may
/// be more than its tool declares.
///
/// # Errors
///
/// The owner said no, now or before, or nobody can be asked.
pub(super) async fn consent(
    turn: &Turn,
    tool: &Tool,
    effect: Effect,
    call: &ToolCall,
    askers: Vec<Asker>,
) -> Result<(), Error> {
    let host = &turn.calls.host;
    let session = &turn.outermost().session_id;
    let matter = |asker: &Asker| (session.clone(), asker.name.clone(), tool.name.clone());
    let name = model_name(&tool.name);
    let mut open = Vec::new();
    for asker in askers {
        match host.consents.get(&matter(&asker)) {
            Some(true) => {}
            Some(false) => return Err(refused(&name)),
            None => open.push(asker),
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let why = open.iter().map(|asker| asker.why.as_str()).collect::<Vec<_>>().join("; ");
    let question = Question {
        tool: tool.name.clone(),
        arguments: call.arguments.clone(),
        effect: effect_name(effect),
        why: why.clone(),
    };
    let matters = || open.iter().map(matter).collect();
    match host.channel().ask(&question).await {
        Some(Answer::Once) => Ok(()),
        Some(Answer::Always) => {
            host.consents.keep(matters(), true);
            Ok(())
        }
        Some(Answer::No) => Err(refused(&name)),
        Some(Answer::Never) => {
            host.consents.keep(matters(), false);
            Err(refused(&name))
        }
        None => Err(nobody(turn, &question, &name)),
    }
}

fn refused(name: &str) -> Error {
    Error::denied(format!("the owner was asked about `{name}` and said no"))
}

/// What the model, and whoever reads over its shoulder, can do where nobody answers.
fn nobody(turn: &Turn, question: &Question, name: &str) -> Error {
    let Question { effect, why, .. } = question;
    let trust = match turn.calls.host.config.trusts(&turn.workspace) {
        true => "",
        false => ", and `bub-wasm trust` vouches for the files of the workspace",
    };
    Error::denied(format!(
        "`{name}` would {effect}, which needs the owner's word in this turn ({why}); `chat` asks for it, `run --allow {effect}` gives it{trust}"
    ))
}
