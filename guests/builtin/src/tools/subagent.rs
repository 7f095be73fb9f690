//! `subagent`: runs a sub-turn.

use crate::AGENT;
use bub_guest::agent::NestedTurn;
use bub_guest::schema::Either;
use bub_guest::{Error, Prompt, Result, Schema, Turn, tool};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize, Schema)]
pub struct Task {
    /// The task, as text or as content parts.
    #[schema(with = Either<String, Vec<Map<String, Value>>>)]
    prompt: Value,
    /// `provider:model`; the session's own unless given.
    model: Option<String>,
    /// `temp`: a conversation that is not kept. `inherit`: this one, with all that was said. Anything else: the session of
    /// that name, which is kept [default: temp].
    #[serde(default)]
    #[schema(with = String)]
    session: Option<String>,
    /// The only tools that it may use; all but `subagent` unless given.
    allowed_tools: Option<Vec<String>>,
    /// The only skills that it is shown.
    allowed_skills: Option<Vec<String>>,
}

/// Give a task to a second agent and get its final answer. It does not see this conversation unless it inherits it, so say
/// all that it has to know.
#[tool(name = "subagent", effect = read)]
pub fn run(turn: &Turn, task: Task) -> Result<String> {
    let prompt = match task.prompt {
        Value::String(text) if !text.trim().is_empty() => Prompt::Text(text),
        Value::Array(parts) if !parts.is_empty() => Prompt::Parts(Value::Array(parts).to_string()),
        _ => return Err(Error::invalid("`prompt` must say what the agent is to do")),
    };
    let Task { session, model, allowed_tools: tools, allowed_skills: skills, .. } = task;
    AGENT.run(turn, &NestedTurn { prompt, session, model, tools, skills })
}
