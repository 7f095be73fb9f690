//! The model's window: whether a request stays within it, and what is done before it does not.

use crate::bub::model::chat;
use crate::bub::tape::entries::{Query, Start};
use crate::bub::tape::tape::Tape;
use crate::bub::tools::schema::ToolSpec;
use crate::bub::types::types::ErrorKind;
use crate::{Error, json, record};
use gist::Ratio;
use serde_json::{Value, json};

/// The anchor behind which a turn goes on whose messages would be longer than the model takes.
pub const BUDGET_ANCHOR: &str = "auto_handoff/context_budget";

/// The event that says that the model was told.
const TOLD: &str = "context_budget";

/// The tool by which a model hands off.
const HANDOFF: &str = "tape.handoff";

/// Tokens of the summary that a handoff leaves to the next phase.
const SUMMARY: u64 = 800;

/// Tokens of a tool's result that go into it.
const RESULT: u64 = 60;

/// What a request weighs, against what there is room for.
pub struct Weight {
    pub estimate: u64,
    pub window: u64,
}

/// What is to be done with a request.
pub enum Verdict {
    /// It fits, or nothing is known of the model.
    Fits,
    /// It is sent, with this message behind it: the model can hand off itself.
    Tell(Weight, String),
    /// The next phase has to begin before it is sent.
    HandOff(Weight),
}

/// Weighs a request. A model is told once a phase that room is short, where the request still fits its window and the
/// model could do something about it.
pub fn judge(
    tape: &Tape,
    model: &str,
    max_tokens: Option<u32>,
    messages: &[String],
    tools: &[ToolSpec],
) -> Result<Verdict, Error> {
    let (Some(room), Some(window)) = (chat::room(model), chat::window(model)) else { return Ok(Verdict::Fits) };
    let ratio = Ratio::kept(chat::ratio(model));
    // Most requests are far from the end, and need not be read to see that.
    let most = messages.iter().map(|message| gist::chat::message_at_most(message)).sum::<Option<u64>>();
    let offered = tools.iter().map(|tool| gist::chat::tool_at_most(&tool.name, &tool.description, &tool.parameters));
    if most.is_some_and(|most| ratio.correct(most + offered.sum::<u64>()) <= u64::from(room)) {
        return Ok(Verdict::Fits);
    }
    let weights = messages.iter().map(|message| gist::chat::message(&json::value(message)));
    let offered = tools.iter().map(|tool| gist::chat::tool(&tool.name, &tool.description, &tool.parameters));
    let estimate = ratio.correct(weights.chain(offered).sum());
    if estimate <= u64::from(room) {
        return Ok(Verdict::Fits);
    }
    let weight = Weight { estimate, window: window.into() };
    let notice = notice(&weight);
    let answer = max_tokens.map_or(0, |tokens| tokens.min(window / 2));
    let fits = estimate + gist::chat::plain(&notice) <= u64::from(window.saturating_sub(answer));
    if fits && tools.iter().any(|tool| tool.name == HANDOFF) && !is_told(tape)? {
        return Ok(Verdict::Tell(weight, notice));
    }
    Ok(Verdict::HandOff(weight))
}

fn notice(weight: &Weight) -> String {
    let Weight { estimate, window } = weight;
    format!(
        "[CONTEXT BUDGET] This request takes about {estimate} of the {window} tokens that you take in. Call \
         `tape_handoff` now, with a summary of all that has to be known from here on: goal, decisions, facts, names, what \
         is unfinished. Otherwise the next phase begins without your words."
    )
}

/// Whether the model was told since the phase began.
fn is_told(tape: &Tape) -> Result<bool, Error> {
    let newest = Query {
        start: Start::First,
        kinds: vec!["event".to_owned()],
        name: Some(TOLD.to_owned()),
        text: None,
        since: None,
        until: None,
        newest_first: true,
        limit: Some(1),
    };
    let told = tape.query(&newest)?.next(1)?.pop();
    let phase = tape.last_anchor(None, None)?.map_or(0, |anchor| anchor.id);
    Ok(told.is_some_and(|told| told.id > phase))
}

/// Writes down that the model was told, out of context.
pub fn tell(tape: &Tape, weight: &Weight) -> Result<(), Error> {
    let mut event = record::event(TOLD, json!({ "estimate": weight.estimate, "window": weight.window }));
    event.meta = r#"{"context": false}"#.to_owned();
    tape.append(&[event]).map(drop)
}

/// The error that a step ends with which has to begin anew in the next phase.
pub fn exceeded(weight: &Weight) -> Error {
    let Weight { estimate, window } = weight;
    let message = format!("the request would take about {estimate} tokens, and the model takes {window}");
    Error { kind: ErrorKind::ContextLength, message, details: Some(json!({ "estimate": estimate }).to_string()) }
}

/// The state of a handoff that the budget made.
pub fn state(weight: &Weight, messages: &[String]) -> Value {
    let mut state = json!({ "reason": "context_budget", "estimate": weight.estimate, "window": weight.window });
    add_summary(&mut state, messages);
    state
}

/// Puts into a handoff's state what the request said that could not be sent; nothing where it said nothing.
pub fn add_summary(state: &mut Value, messages: &[String]) {
    // In front stands who the agent is, which the next phase is told anyway.
    let texts: Vec<String> =
        messages.iter().map(|message| json::value(message)).filter_map(|message| words(&message)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let summary = gist::extract(&texts, SUMMARY);
    if !summary.is_empty() {
        state["summary"] = summary.into();
    }
}

/// What a message says: of a result the beginning, of the agent's own instructions nothing.
fn words(message: &Value) -> Option<String> {
    let content = &message["content"];
    let text = content.as_str().map(str::to_owned).or_else(|| {
        let parts = content.as_array()?.iter().filter_map(|part| part.get("text")?.as_str());
        Some(parts.collect::<Vec<_>>().join("\n"))
    })?;
    match message["role"].as_str()? {
        "tool" => Some(gist::to_tokens(&text, RESULT).to_owned()),
        // What a selector or an earlier handoff has put together is marked by its label.
        "system" if !text.starts_with('[') || text.starts_with("[CRITICAL") => None,
        "assistant" if text.starts_with("[Anchor created: ") => {
            let (_, state) = text.split_once("]: ")?;
            json::value(state).get("summary")?.as_str().map(str::to_owned)
        }
        _ => Some(said(&text).to_owned()),
    }
}

/// What was said, without the context and the date in front of it.
fn said(text: &str) -> &str {
    match text.split_once("---Date: ").and_then(|(_, rest)| rest.split_once("---\n")) {
        Some((_, said)) => said,
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_handoff_is_made_of_what_was_said_and_of_the_summary_before() {
        let messages = [
            json!({ "role": "system", "content": "You are an agent. Remember this instruction number 1." }),
            json!({ "role": "assistant", "content": "[Anchor created: auto_handoff/context_budget]: {\"summary\": \"The gate code is 7319.\"}" }),
            json!({ "role": "user", "content": "x=y\n---Date: 2026-11-21T10:00:00+01:00---\nMy name is Ada Lovelace." }),
            json!({ "role": "system", "content": "[CRITICAL INSTRUCTION]\nGoal 12" }),
        ]
        .map(|message| message.to_string());
        let weight = Weight { estimate: 9_000, window: 8_000 };
        let state = state(&weight, &messages);
        assert_eq!(state["summary"], "The gate code is 7319.\nMy name is Ada Lovelace.");
        assert_eq!((&state["estimate"], &state["window"]), (&json!(9_000), &json!(8_000)));
        assert_eq!(super::state(&weight, &[]).get("summary"), None);
    }
}
