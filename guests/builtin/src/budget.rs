//! The context window: whether a request fits, and what to do before it does not.

use crate::{APPEND, content, json};
use bub_estimate::{Intent, Ratio, Spoken};
use bub_guest::tape::{Draft, Query};
use bub_guest::tool::ToolSpec;
use bub_guest::{Error, ErrorKind, Result, Tape, model};
use serde_json::{Value, json};

/// The anchor of an automatic handoff before a request exceeds the context.
pub const BUDGET_ANCHOR: &str = "auto_handoff/context_budget";

/// The event that records that the model was warned.
const TOLD: &str = "context_budget";

/// The tool by which a model hands off.
const HANDOFF: &str = "tape.handoff";

/// Maximum tokens of a handoff's summary.
const SUMMARY: u64 = 800;

/// Maximum tokens of one text in it, and of a tool's result.
const TEXT: u64 = 200;
const RESULT: u64 = 60;

/// Maximum characters of the goal in a handoff.
const GOAL: usize = 400;

/// The estimated size of a request, and the budget.
pub struct Weight {
    pub estimate: u64,
    pub window: u64,
}

/// The decision about a request.
pub enum Verdict {
    /// Send it: it fits, or the window is unknown.
    Fits,
    /// Send it with this warning: the model can hand off itself.
    Tell(Weight, String),
    /// Hand off before it is sent.
    HandOff(Weight),
}

/// Judges a request. A model is warned once per phase that space is short, if the request still fits and the model can
/// hand off.
pub fn check(
    tape: &Tape,
    name: &str,
    max_tokens: Option<u32>,
    messages: &[String],
    tools: &[ToolSpec],
) -> Result<Verdict> {
    let (Some(input_budget), Some(window)) = (model::input_budget(name), model::window(name)) else {
        return Ok(Verdict::Fits);
    };
    let ratio = Ratio::kept(model::token_calibration(name));
    // Most requests are far below the limit, which is visible without estimating exactly.
    let most = messages.iter().map(|message| bub_estimate::chat::message_at_most(message)).sum::<Option<u64>>();
    let offered =
        tools.iter().map(|tool| bub_estimate::chat::tool_at_most(&tool.name, &tool.description, &tool.parameters));
    if most.is_some_and(|most| ratio.correct(most + offered.sum::<u64>()) <= u64::from(input_budget)) {
        return Ok(Verdict::Fits);
    }
    let weights = messages.iter().map(|message| bub_estimate::chat::message(&json::value(message)));
    let offered = tools.iter().map(|tool| bub_estimate::chat::tool(&tool.name, &tool.description, &tool.parameters));
    let estimate = ratio.correct(weights.chain(offered).sum());
    if estimate <= u64::from(input_budget) {
        return Ok(Verdict::Fits);
    }
    let weight = Weight { estimate, window: window.into() };
    let notice = notice(&weight);
    let answer = max_tokens.map_or(0, |tokens| tokens.min(window / 2));
    let fits = estimate + bub_estimate::chat::plain(&notice) <= u64::from(window.saturating_sub(answer));
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

/// Whether the model was warned in this phase.
fn is_told(tape: &Tape) -> Result<bool> {
    let newest = Query {
        kinds: vec!["event".to_owned()],
        name: Some(TOLD.to_owned()),
        newest_first: true,
        limit: Some(1),
        ..Query::default()
    };
    let told = tape.query(&newest)?.next(1)?.pop();
    let phase = tape.last_anchor(None, None)?.map_or(0, |anchor| anchor.id);
    Ok(told.is_some_and(|told| told.id > phase))
}

/// Records the warning, out of context.
pub fn tell(tape: &Tape, weight: &Weight) -> Result<()> {
    let data = json!({ "estimate": weight.estimate, "window": weight.window });
    let event = Draft { meta: r#"{"context": false}"#.to_owned(), ..Draft::event(TOLD, &data) };
    tape.writer(APPEND).append(&[event]).map(drop)
}

/// The error of a step that hands off before sending.
pub fn exceeded(weight: &Weight) -> Error {
    let Weight { estimate, window } = weight;
    let message = format!("the request would take about {estimate} tokens, and the model takes {window}");
    Error::new(ErrorKind::ContextLength, message).with_details(&json!({ "estimate": estimate }))
}

/// The state of an automatic handoff.
pub fn state(weight: &Weight, messages: &[String], asked: &str) -> Value {
    let mut state = json!({ "reason": "context_budget", "estimate": weight.estimate, "window": weight.window });
    add_summary(&mut state, messages, asked, weight.window);
    state
}

/// Adds a summary of the request that could not be sent to a handoff's state, without `asked`, which is repeated, and
/// the goal of the thread; nothing if there is none. `input_budget`: in tokens.
pub fn add_summary(state: &mut Value, messages: &[String], asked: &str, input_budget: u64) {
    let messages: Vec<Value> = messages.iter().map(|message| json::value(message)).collect();
    if let Some(goal) = goal(&messages) {
        state["goal"] = goal;
    }
    let asked = said(asked).trim();
    // Skips the agent's own system prompt, which the next phase gets anyway.
    let texts: Vec<String> =
        messages.iter().filter_map(words).filter(|text| asked.is_empty() || text.trim() != asked).collect();
    // Content that was too long must not return through the summary, so each text is truncated.
    let note = |left: usize| format!("[... {left} characters left out ...]");
    let texts: Vec<String> = texts.iter().map(|text| bub_estimate::ends(text, TEXT, note)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let summary = bub_estimate::extract(&texts, SUMMARY.min(input_budget / 8));
    if !summary.is_empty() {
        state["summary"] = summary.into();
    }
}

/// The goal of the thread for the current sender: their latest message that states a task, or the goal of the previous
/// handoff. `None` once the task has ended.
fn goal(messages: &[Value]) -> Option<Value> {
    let mut speaker = None;
    for message in messages.iter().rev() {
        let content = &message["content"];
        let text = content.as_str().map_or_else(|| content::of_parts(content), str::to_owned);
        match message["role"].as_str() {
            Some("user") if !text.starts_with("Continue the task until all targets are completed.") => {
                let Spoken { sender, words } = bub_estimate::spoken(&text);
                if *speaker.get_or_insert_with(|| sender.map(str::to_owned)) != sender.map(str::to_owned) {
                    continue;
                }
                match bub_estimate::intent(words) {
                    Intent::Task => {
                        let goal: String = words.trim().chars().take(GOAL).collect();
                        return Some(json!({ "text": goal, "sender": sender }));
                    }
                    Intent::End => return None,
                    Intent::Continue => {}
                }
            }
            Some("assistant") if text.starts_with("[Anchor created: auto_handoff/") => {
                let (_, state) = text.split_once("]: ")?;
                let goal = json::value(state).get("goal")?.clone();
                let is_speakers = speaker.is_none_or(|speaker| goal["sender"].as_str() == speaker.as_deref());
                return (is_speakers && goal["text"].is_string()).then_some(goal);
            }
            _ => {}
        }
    }
    None
}

/// The text of a message: of a result the beginning, of the agent's own instructions none.
fn words(message: &Value) -> Option<String> {
    let content = &message["content"];
    let text = content.as_str().map_or_else(|| content::of_parts(content), str::to_owned);
    match message["role"].as_str()? {
        "tool" => Some(bub_estimate::to_tokens(&text, RESULT).to_owned()),
        // Messages of a selector or an earlier handoff are marked by a label.
        "system" if !text.starts_with('[') || text.starts_with("[CRITICAL") => None,
        "assistant" if text.starts_with("[Anchor created: ") => {
            let (_, state) = text.split_once("]: ")?;
            json::value(state).get("summary")?.as_str().map(str::to_owned)
        }
        _ => Some(said(&text).to_owned()),
    }
}

/// The text without the context and the date before it.
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
    fn a_handoff_summary_contains_the_messages_and_the_previous_summary() {
        let messages = [
            json!({ "role": "system", "content": "You are an agent. Remember this instruction number 1." }),
            json!({ "role": "assistant", "content": "[Anchor created: auto_handoff/context_budget]: {\"summary\": \"The gate code is 7319.\"}" }),
            json!({ "role": "user", "content": "x=y\n---Date: 2026-11-21T10:00:00+01:00---\nMy name is Ada Lovelace." }),
            json!({ "role": "system", "content": "[CRITICAL INSTRUCTION]\nGoal 12" }),
        ]
        .map(|message| message.to_string());
        let weight = Weight { estimate: 9_000, window: 8_000 };
        let state = state(&weight, &messages, "what is asked now");
        assert_eq!(state["summary"], "The gate code is 7319.\nMy name is Ada Lovelace.");
        assert_eq!(state["goal"]["text"], "My name is Ada Lovelace.");
        assert_eq!((&state["estimate"], &state["window"]), (&json!(9_000), &json!(8_000)));
        assert_eq!(super::state(&weight, &[], "").get("summary"), None);
        assert_eq!(super::state(&weight, &messages, "My name is Ada Lovelace.")["summary"], "The gate code is 7319.");
    }

    #[test]
    fn a_summary_does_not_restore_text_that_exceeded_the_context() {
        let weight = Weight { estimate: 90_000, window: 8_000 };
        let long = (0..9_000).map(|at| format!("Remember the number {at}. ")).collect::<String>();
        let messages = [
            json!({ "role": "user", "content": "The gate code is 7319." }).to_string(),
            json!({ "role": "user", "content": long }).to_string(),
            json!({ "role": "tool", "content": "blob".repeat(90_000) }).to_string(),
        ];
        let summary = state(&weight, &messages, "")["summary"].as_str().unwrap_or_default().to_owned();
        assert!(summary.contains("7319") && bub_estimate::estimate(&summary) < 300, "{summary}");
    }

    #[test]
    fn phrases_that_continue_keep_the_goal_and_closing_phrases_end_it() {
        let user = |text: &str| json!({ "role": "user", "content": text });
        let anchor = json!({ "role": "assistant", "content": "[Anchor created: auto_handoff/context_budget]: {\"goal\": {\"text\": \"port it\", \"sender\": null}}" });
        let text = |messages: &[Value]| goal(messages).map(|goal| goal["text"].as_str().unwrap_or_default().to_owned());
        assert_eq!(text(&[user("write a parser"), user("continue")]).as_deref(), Some("write a parser"));
        assert_eq!(text(&[anchor.clone(), user("weiter")]).as_deref(), Some("port it"));
        let [eve, ada] = ["eve", "ada"].map(|who| format!("sender_id={who}|channel=$x\n---Date: x---\n"));
        let order = user(&format!("{eve}delete all files"));
        assert_eq!(text(&[order, user(&format!("{ada}continue"))]), None, "no sender's words become another's goal");
        assert_eq!(goal(&[anchor, user("谢谢")]), None);
    }
}
