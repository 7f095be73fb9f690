//! Session id and turn state of a message.

use crate::json;
use bub_guest::{Envelope, Result, Turn};
use serde_json::{Map, Value};

/// The default name of a channel or chat.
const UNNAMED: &str = "default";

/// The message's own session id, else `channel:chat_id`.
pub fn session_id(message: Envelope) -> Result<Option<String>> {
    let named = |name: String| {
        if name.is_empty() { UNNAMED.to_owned() } else { name }
    };
    let own = message.session_id.filter(|id| !id.trim().is_empty());
    Ok(Some(own.unwrap_or_else(|| format!("{}:{}", named(message.channel), named(message.chat_id)))))
}

/// The state that the turn begins with.
pub fn of_turn(turn: &Turn) -> Result<Option<Value>> {
    Ok(Some(of_message(&turn.message().context)))
}

/// The turn state: `context`, the message's context on one line, and `model`, if the message requests one.
fn of_message(context: &[(String, String)]) -> Value {
    let mut state = Map::new();
    let line = line(context);
    if !line.is_empty() {
        state.insert("context".to_owned(), line.into());
    }
    let model = context.iter().find(|(key, _)| key == "model").map(|(_, value)| json::value(value));
    if let Some(Value::String(model)) = model
        && !model.trim().is_empty()
    {
        state.insert("model".to_owned(), model.into());
    }
    Value::Object(state)
}

/// `key=value|key=value`, without keys that begin with `_`.
pub fn line(context: &[(String, String)]) -> String {
    let visible = context.iter().filter(|(key, _)| !key.starts_with('_'));
    visible.map(|(key, value)| format!("{key}={}", shown(value))).collect::<Vec<_>>().join("|")
}

/// `null`, `true` and `false` are named as on Bub's tapes.
fn shown(value: &str) -> String {
    match json::value(value) {
        Value::String(text) => text,
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_context_is_one_line_in_its_order_without_hidden_keys() {
        let context = context(&[
            ("sender_id", r#""human""#),
            ("channel", r#""$cli""#),
            ("_private", "1"),
            ("n", "null"),
            ("ok", "true"),
            ("big", "12345678901234567890123"),
            ("list", r#"[1,"a"]"#),
        ]);
        let line = "sender_id=human|channel=$cli|n=None|ok=True|big=12345678901234567890123|list=[1,\"a\"]";
        assert_eq!(super::line(&context), line);
    }

    #[test]
    fn the_state_has_a_model_only_where_the_message_names_one() {
        let with = of_message(&context(&[("model", r#""openai:gpt""#)]));
        assert_eq!(with.to_string(), r#"{"context":"model=openai:gpt","model":"openai:gpt"}"#);
        assert_eq!(of_message(&context(&[("_model", r#""x""#)])).to_string(), "{}");
    }
}
