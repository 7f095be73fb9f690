//! Requests that a provider has refused for their length: learning the limit, and shortening.

use crate::json;
use bub_estimate::Ratio;
use bub_guest::tool::ToolSpec;
use bub_guest::{Error, model};
use serde_json::{Value, json};

/// Maximum shortened retries per turn.
pub const MAX_REFUSED: u32 = 4;

/// The margin below a learned limit, because sizes are estimates.
const SLACK: u64 = 20;

/// The minimum size of a shortened request.
const LEAST: u64 = 256;

/// A text is cut to this many tokens before the next longest one is.
const HEAD: u64 = 48;

/// The estimated size of a request: messages and tools.
pub fn weigh(name: &str, messages: &[String], tools: &[ToolSpec]) -> u64 {
    let ratio = Ratio::kept(model::token_calibration(name));
    let messages: u64 = messages.iter().map(|message| bub_estimate::chat::message(&json::value(message))).sum();
    ratio.correct(messages + offered(tools))
}

fn offered(tools: &[ToolSpec]) -> u64 {
    tools.iter().map(|tool| bub_estimate::chat::tool(&tool.name, &tool.description, &tool.parameters)).sum()
}

/// The input budget after a refusal, in our own estimate: derived from the provider's message, or half of the request
/// without numbers in it.
pub fn input_budget(error: &Error, sent: u64) -> u64 {
    let input_budget = match numbers(&error.message) {
        Some((limit, asked)) => {
            let share = u128::from(sent) * u128::from(limit) / u128::from(asked.max(1));
            let share = u64::try_from(share).unwrap_or(u64::MAX);
            share.min(sent.saturating_sub(asked - limit))
        }
        None => sent / 2,
    };
    (input_budget - input_budget / SLACK).clamp(LEAST, sent.max(LEAST))
}

/// Parses limit and size from an error such as "maximum context length is 8192 tokens, however your messages resulted
/// in 9001 tokens" or "prompt is too long: 210000 tokens > 200000 maximum": the greatest number, and the greatest below
/// it.
fn numbers(message: &str) -> Option<(u64, u64)> {
    let plain: String = message.replace([',', '_'], "");
    let numbers = plain.split(|character: char| !character.is_ascii_digit());
    let mut numbers: Vec<u64> =
        numbers.filter_map(|digits| digits.parse().ok()).filter(|number| *number >= LEAST).collect();
    numbers.sort_unstable();
    numbers.dedup();
    match numbers[..] {
        [.., limit, asked] => Some((limit, asked)),
        _ => None,
    }
}

/// Shortens messages to that budget: longest texts first, tool results before user messages, the system prompt last.
/// Head and tail of each are kept. Returns whether the tools fit too.
pub fn shorten(name: &str, mut messages: Vec<String>, tools: &[ToolSpec], input_budget: u64) -> (Vec<String>, bool) {
    let ratio = Ratio::kept(model::token_calibration(name));
    let mut parsed: Vec<Value> = messages.iter().map(|message| json::value(message)).collect();
    // If the tools alone exceed the budget, an answer without them is better than none.
    let has_tools = ratio.correct(offered(tools)) + LEAST <= input_budget || tools.is_empty();
    let fixed = if has_tools { offered(tools) } else { 0 };
    let weight = |parsed: &[Value]| ratio.correct(parsed.iter().map(bub_estimate::chat::message).sum::<u64>() + fixed);
    for rank in 0..3 {
        while weight(&parsed) > input_budget {
            let over = weight(&parsed) - input_budget;
            let longest =
                texts(&parsed, rank).max_by_key(|(_, _, tokens)| *tokens).filter(|(.., tokens)| *tokens > HEAD);
            let Some((at, part, tokens)) = longest else {
                break;
            };
            let most = tokens.saturating_sub(over + 1).max(HEAD);
            let content = &mut parsed[at]["content"];
            let text = match part {
                Some(part) => &mut content[part]["text"],
                None => content,
            };
            let words = text.as_str().unwrap_or_default();
            let short = bub_estimate::ends(words, most, |left| {
                format!("[... {left} characters left out: too long for the model ...]")
            });
            // A text that does not get shorter is skipped from now on.
            *text = if bub_estimate::estimate(&short) < tokens { short.into() } else { "".into() };
            messages[at] = parsed[at].to_string();
        }
    }
    (messages, has_tools)
}

/// Texts of that rank that may be cut: message, part, tokens.
fn texts(messages: &[Value], rank: usize) -> impl Iterator<Item = (usize, Option<usize>, u64)> {
    let of_rank = move |(_, message): &(usize, &Value)| {
        let own = match message["role"].as_str() {
            Some("tool") => 0,
            Some("system" | "developer") => 2,
            _ => 1,
        };
        own == rank
    };
    messages.iter().enumerate().filter(of_rank).flat_map(|(at, message)| {
        let whole = message["content"].as_str().map(|text| (at, None, bub_estimate::estimate(text)));
        let parts = message["content"].as_array().into_iter().flatten().enumerate();
        let parts = parts.filter_map(move |(part, content)| {
            Some((at, Some(part), bub_estimate::estimate(content.get("text")?.as_str()?)))
        });
        whole.into_iter().chain(parts).collect::<Vec<_>>()
    })
}

/// Stores the learned budget in a handoff's state, for later turns.
pub fn learned(state: &mut Value, model: &str, input_budget: u64) {
    state["room"] = json!({ "model": model, "tokens": input_budget });
}

/// Reads it from an anchor's payload; `None` for another model.
pub fn known(anchor: &str, model: &str) -> Option<u64> {
    let anchor = json::value(anchor);
    let room = &anchor["state"]["room"];
    room["tokens"].as_u64().filter(|_| room["model"] == model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::ErrorKind;

    fn error(message: &str) -> Error {
        Error::new(ErrorKind::ContextLength, message)
    }

    #[test]
    fn the_learned_budget_is_the_providers_limit_less_a_margin() {
        for (message, limit) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
                8_192,
            ),
            (
                "maximum context length is 8,192 tokens. However, you requested 9,001 tokens (7001 in the messages, 2000 in the completion)",
                8_192,
            ),
            ("prompt is too long: 9001 tokens > 8192 maximum", 8_192),
        ] {
            let input_budget = input_budget(&error(message), 9_001);
            assert!(input_budget < limit && input_budget > limit * 9 / 10, "{message}: {input_budget}");
        }
        // If the provider counts twice our estimate, the budget is halved too.
        assert!(input_budget(&error("9001 tokens > 8192 maximum"), 4_500) < 4_096);
        assert_eq!(input_budget(&error("the prompt is too long"), 10_000), 4_750);
        assert_eq!(input_budget(&error("0 > 99999999999999999999999"), 100), LEAST);
    }

    #[test]
    fn a_learned_budget_applies_to_its_own_model_only() {
        let mut state = json!({});
        learned(&mut state, "openai:x", 700);
        let anchor = json!({ "name": "auto_handoff/context_overflow", "state": state }).to_string();
        assert_eq!(
            (known(&anchor, "openai:x"), known(&anchor, "openai:y"), known("{}", "openai:x")),
            (Some(700), None, None)
        );
    }
}
