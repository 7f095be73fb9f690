//! A prompt as the model reads it, and as the tape keeps it.

use crate::{Prompt, json};
use serde_json::Value;

/// The `content` of a chat message: a text, or all the parts.
pub fn sent(prompt: &Prompt) -> Value {
    match prompt {
        Prompt::Text(text) => text.as_str().into(),
        Prompt::Parts(parts) => json::value(parts),
    }
}

/// The `content` that goes on the tape: parts are reduced to those of text, since media never land there. Where
/// none is left it is an empty text: providers refuse an empty list, and would at every later turn.
pub fn kept(prompt: &Prompt) -> Value {
    match sent(prompt) {
        Value::Array(parts) if parts.iter().any(|part| text_of(part).is_some()) => {
            parts.into_iter().filter(|part| text_of(part).is_some()).collect()
        }
        Value::Array(_) => "".into(),
        other => other,
    }
}

/// The text alone, for events and for whoever wants one string.
pub fn text(prompt: &Prompt) -> String {
    match sent(prompt) {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(text_of).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Is there nothing to ask? Parts without a text are something: a picture can be a question.
pub fn is_empty(prompt: &Prompt) -> bool {
    match sent(prompt) {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(parts) => parts.is_empty(),
        _ => true,
    }
}

fn text_of(part: &Value) -> Option<&str> {
    if part.get("type")?.as_str()? == "text" { part.get("text")?.as_str() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_are_sent_and_not_kept() {
        let parts =
            r#"[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]"#;
        let prompt = Prompt::Parts(parts.to_owned());
        assert_eq!(sent(&prompt).to_string(), parts);
        assert_eq!(kept(&prompt).to_string(), r#"[{"type":"text","text":"look"}]"#);
        assert_eq!(text(&prompt), "look");
        assert_eq!(kept(&Prompt::Parts(r#"[{"type":"image_url"}]"#.to_owned())), "");
    }

    #[test]
    fn a_blank_text_is_empty_and_a_picture_is_not() {
        assert!(is_empty(&Prompt::Text(" \n".to_owned())));
        assert!(is_empty(&Prompt::Parts("[]".to_owned())));
        assert!(!is_empty(&Prompt::Parts(r#"[{"type":"image_url"}]"#.to_owned())));
    }
}
