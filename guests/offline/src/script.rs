//! Scripted answers, determined by the messages alone.

use crate::chat::Message;

/// The error of `OVERFLOW`.
pub const OVERFLOW: &str = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. \
    Please reduce the length of the messages.";
/// The error of `ERR500`.
pub const INTERNAL: &str = "internal error, as `ERR500` asks for";

/// The beginning of the agent loop's prompt for later steps; the script is the message before it.
const CONTINUE: &str = "Continue the task";
const CALL: &str = "TOOL:";
const ECHO: &str = "ECHO:";
/// Maximum characters of a tool's result, or of the user's line, in an answer.
const REPEATED: usize = 200;

#[derive(Debug, PartialEq)]
pub enum Answer {
    Text { reasoning: Option<&'static str>, text: String },
    Calls(Vec<Call>),
    Failure(Failure),
}

#[derive(Debug, PartialEq)]
pub enum Failure {
    ContextLength,
    Internal,
}

#[derive(Debug, PartialEq)]
pub struct Call {
    pub name: String,
    pub arguments: String,
}

/// The answer to a conversation. The script is the latest user message that is not a continue prompt.
pub fn answer(messages: &[Message]) -> Answer {
    let user = |message: &&Message| message.role == "user";
    let script = messages.iter().rposition(|message| user(&message) && !message.text.starts_with(CONTINUE));
    let script = script.or_else(|| messages.iter().rposition(|message| user(&message)));
    let Some((earlier, [script, after @ ..])) = script.and_then(|at| messages.split_at_checked(at)) else {
        return plain("");
    };
    let script = script.text.as_str();
    let padded = || earlier.iter().any(|message| message.role != "system" && message.text.contains("PADDING"));

    if script.contains("OVERFLOW_ALWAYS") || script.contains("OVERFLOW") && padded() {
        return Answer::Failure(Failure::ContextLength);
    }
    if script.contains("ERR500") {
        return Answer::Failure(Failure::Internal);
    }
    if script.contains("OVERFLOW") {
        return text("recovered");
    }
    if script.contains("LOOP") {
        return Answer::Calls(vec![Call { name: "tape_info".to_owned(), arguments: "{}".to_owned() }]);
    }
    if let Some((_, calls)) = script.split_once(CALL) {
        if let Some(result) = after.iter().rfind(|message| message.role == "tool") {
            return text(&format!("tool said: {}", start_of(&result.text)));
        }
        // The prefix was cut off the first call.
        let first = format!("{CALL}{calls}");
        let calls: Vec<Call> = first.split(";;").filter_map(call).collect();
        if !calls.is_empty() {
            return Answer::Calls(calls);
        }
    }
    if script.contains("REASON") {
        return Answer::Text { reasoning: Some("Let me think."), text: "Reasoned answer.".to_owned() };
    }
    match script.split_once(ECHO) {
        Some((_, echoed)) => text(echoed),
        None => plain(script),
    }
}

/// Parses `TOOL:name {arguments}` anywhere in the part.
fn call(part: &str) -> Option<Call> {
    part.match_indices(CALL).find_map(|(at, _)| {
        let rest = part.get(at + CALL.len()..)?;
        let end = rest.find(|character: char| !(character.is_ascii_alphanumeric() || "_.-".contains(character)));
        let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
        (!name.is_empty()).then(|| Call { name: name.to_owned(), arguments: arguments(rest).to_owned() })
    })
}

/// From the brace after the name to the last one of the part; not validated as JSON.
fn arguments(rest: &str) -> &str {
    let rest = rest.trim_start();
    let braced = rest.rfind('}').and_then(|end| rest.get(..=end));
    braced.filter(|braced| braced.starts_with('{')).unwrap_or("{}")
}

fn text(text: &str) -> Answer {
    Answer::Text { reasoning: None, text: text.to_owned() }
}

/// The answer to other text: explains this provider.
fn plain(script: &str) -> Answer {
    let line = script.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    text(&format!(
        "This is `offline:demo`, which is no language model: it can only repeat your last line, `{}`. \
         To talk to a model, set `BUB_MODEL=openai:gpt-...` (or `provider:model` of another provider) and `BUB_API_KEY`.",
        start_of(line.trim())
    ))
}

fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(REPEATED).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(messages: &[(&str, &str)]) -> Answer {
        let messages: Vec<Message> = messages
            .iter()
            .map(|(role, text)| Message { role: (*role).to_owned(), text: (*text).to_owned() })
            .collect();
        answer(&messages)
    }

    fn calls(calls: &[(&str, &str)]) -> Answer {
        let call =
            |(name, arguments): &(&str, &str)| Call { name: (*name).to_owned(), arguments: (*arguments).to_owned() };
        Answer::Calls(calls.iter().map(call).collect())
    }

    #[test]
    fn a_script_is_answered_by_its_rule() {
        let cases = [
            ("ECHO:one\ntwo", text("one\ntwo")),
            ("OVERFLOW please", text("recovered")),
            ("OVERFLOW_ALWAYS", Answer::Failure(Failure::ContextLength)),
            ("ERR500", Answer::Failure(Failure::Internal)),
            ("LOOP", calls(&[("tape_info", "{}")])),
            (r#"TOOL:bash {"cmd":"a"} ;; TOOL:fs.read"#, calls(&[("bash", r#"{"cmd":"a"}"#), ("fs.read", "{}")])),
            (r#"TOOL:x {"a":{"b":1}} tail"#, calls(&[("x", r#"{"a":{"b":1}}"#)])),
            ("TOOL:bash {bad json}", calls(&[("bash", "{bad json}")])),
            ("TOOL:bash {never closed", calls(&[("bash", "{}")])),
        ];
        for (script, expected) in cases {
            assert_eq!(conversation(&[("system", "PADDING"), ("user", script)]), expected, "{script}");
        }
    }

    #[test]
    fn overflow_fails_when_an_earlier_message_is_padded() {
        let answer = conversation(&[("user", "PADDING one"), ("assistant", "ok"), ("user", "OVERFLOW please")]);
        assert_eq!(answer, Answer::Failure(Failure::ContextLength));
    }

    #[test]
    fn a_tool_result_is_reported_although_the_loop_asks_to_continue() {
        let answer = conversation(&[("user", "TOOL:x"), ("tool", "北京"), ("user", "Continue the task until")]);
        assert_eq!(answer, text("tool said: 北京"));
    }

    #[test]
    fn a_message_that_is_not_a_script_is_echoed_by_its_last_line() {
        let Answer::Text { text, .. } = conversation(&[("user", "sender=x\n---Date---\nhello there\n")]) else {
            panic!()
        };
        assert!(
            text.contains("no language model") && text.contains("`hello there`") && text.contains("BUB_MODEL"),
            "{text}"
        );
    }

    #[test]
    fn no_message_at_all_is_answered_too() {
        assert!(matches!(conversation(&[]), Answer::Text { .. }));
    }
}
