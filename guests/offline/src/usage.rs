//! Estimated usage, at four characters per token.

use crate::chat::Message;
use crate::script::Call;
use serde_json::json;

const CHARACTERS_PER_TOKEN: usize = 4;

/// The usage of a text answer.
pub fn of_text(messages: &[Message], text: &str) -> String {
    usage(messages, text.chars().count())
}

/// The usage of tool calls: a JSON list of names and arguments, in Python's format, as in the recorded runs.
pub fn of_calls(messages: &[Message], calls: &[Call]) -> String {
    let brackets = 2;
    let pairs: usize = calls.iter().map(|call| 4 + quoted(&call.name) + quoted(&call.arguments)).sum();
    let separators = 2 * calls.len().saturating_sub(1);
    usage(messages, brackets + pairs + separators)
}

fn usage(messages: &[Message], said: usize) -> String {
    let read: usize = messages.iter().map(|message| message.text.chars().count()).sum();
    let prompt = read / CHARACTERS_PER_TOKEN;
    let completion = (said / CHARACTERS_PER_TOKEN).max(1);
    json!({
        "completion_tokens": completion,
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": 0 },
    })
    .to_string()
}

/// The length of a string in ASCII-only JSON, with quotation marks.
fn quoted(text: &str) -> usize {
    let escaped = |character| match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        ' '..='~' => 1,
        // `\uXXXX` for each UTF-16 code unit.
        other => 6 * other.len_utf16(),
    };
    2 + text.chars().map(escaped).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_the_same_as_in_the_recorded_run() {
        let call = Call { name: "bash".to_owned(), arguments: r#"{"cmd":"echo hello-from-tool"}"#.to_owned() };
        assert!(of_calls(&[], &[call]).starts_with(r#"{"completion_tokens":12,"#));
    }

    #[test]
    fn a_short_answer_costs_one_token() {
        let usage =
            r#"{"completion_tokens":1,"prompt_tokens":0,"total_tokens":1,"prompt_tokens_details":{"cached_tokens":0}}"#;
        assert_eq!(of_text(&[], "ok"), usage);
    }
}
