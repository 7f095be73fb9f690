//! A tool call that a client makes itself: a turn of its own, without a model.

use super::call;
use crate::error::Failure;
use crate::host::Host;
use crate::plugin::{model_name, parse_json};
use crate::turn::{Turn, TurnOptions, TurnResult, run_direct};
use bub_tape::Draft;
use bub_types::{Envelope, Error, ToolCall};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// How deep the call is: as one that the model hook makes.
const DEPTH: u32 = 1;

/// A tool call without a model, and its outcome once its turn has ended.
#[derive(Debug)]
pub struct DirectCall {
    name: String,
    arguments: String,
    outcome: OnceLock<Result<String, Error>>,
}

impl DirectCall {
    /// A call of that tool, by any of its names, with arguments that are a JSON object.
    pub fn new(name: String, arguments: String) -> Arc<Self> {
        Arc::new(Self { name, arguments, outcome: OnceLock::new() })
    }

    /// The bytes that it adds to its tape, apart from the result.
    pub fn weight(&self) -> usize {
        self.name.len() + self.arguments.len()
    }

    /// The tool's result as JSON, or its error; none: the turn failed before the tool answered.
    pub fn outcome(&self) -> Option<&Result<String, Error>> {
        self.outcome.get()
    }
}

/// Makes the call in a turn of its own, with the hooks, the policy and the limits of any other. The tape keeps the call and
/// its result out of context, as they are no part of a conversation with the model.
///
/// # Errors
///
/// The turn failed. An error of the tool is [its outcome](DirectCall::outcome).
pub async fn call_directly(
    host: &Arc<Host>,
    message: Envelope,
    options: TurnOptions,
    direct: &Arc<DirectCall>,
) -> Result<TurnResult, Failure> {
    let direct = Arc::clone(direct);
    run_direct(host, message, options, &move |turn| Box::pin(stage(turn, Arc::clone(&direct)))).await
}

/// Makes the call, and records it.
async fn stage(turn: Arc<Turn>, direct: Arc<DirectCall>) -> Result<String, Failure> {
    // What earlier calls have read taints this one.
    let tape = turn.tape().await?;
    let run_id = turn.new_run_id();
    let name = turn.dotted(&direct.name);
    let asked = ToolCall { id: Some(format!("call_{run_id}")), name, arguments: direct.arguments.clone() };
    let outcome = call::run(&turn, DEPTH, asked.clone()).await;
    let result = match &outcome {
        Ok(result) => parse_json(result).unwrap_or_default(),
        Err(error) => json!({ "kind": error.kind.name(), "message": error.message }),
    };
    let function = json!({ "arguments": asked.arguments, "name": model_name(&asked.name) });
    let made = json!({ "id": asked.id, "function": function, "type": "function" });
    let entries = vec![
        entry("tool_call", &json!({ "calls": [made] }), &run_id)?,
        entry("tool_result", &json!({ "results": [result] }), &run_id)?,
    ];
    tape.append(entries).await?;
    let output = outcome.as_ref().map_or_else(|error| error.message.clone(), Clone::clone);
    // A call is made in one turn.
    let _ = direct.outcome.set(outcome);
    Ok(output)
}

fn entry(kind: &str, payload: &Value, run_id: &str) -> bub_tape::Result<Draft> {
    let draft = Draft::new(kind, &payload.to_string(), &json!({ "run_id": run_id }).to_string())?;
    draft.with_meta("context", "false")
}
