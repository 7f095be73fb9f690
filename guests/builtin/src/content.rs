//! Prompts in the formats of the model and of the tape.

use crate::json;
use bub_guest::Prompt;
use serde_json::Value;

/// The `content` of a chat message: a string, or content parts.
pub fn of(prompt: &Prompt) -> Value {
    match prompt {
        Prompt::Text(text) => text.as_str().into(),
        Prompt::Parts(parts) => json::value(parts),
    }
}

/// The text of a prompt that was not answered, with descriptions of media, which may be the reason.
pub fn words(prompt: &Prompt) -> String {
    let word = |part: &Value| match text_of(part) {
        Some(text) => Some(text.to_owned()),
        None => {
            Some(format!("[{}]", part.get("type")?.as_str()?.trim_end_matches("_url").trim_start_matches("input_")))
        }
    };
    match of(prompt) {
        Value::Array(parts) => parts.iter().filter_map(word).collect::<Vec<_>>().join("\n"),
        _ => text(prompt),
    }
}

/// The text alone, as one string.
pub fn text(prompt: &Prompt) -> String {
    match of(prompt) {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(text_of).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The text of a message's parts.
pub fn of_parts(content: &Value) -> String {
    content.as_array().into_iter().flatten().filter_map(text_of).collect::<Vec<_>>().join("\n")
}

/// Whether the prompt is empty. Parts without text are not: an image can be a question.
pub fn is_empty(prompt: &Prompt) -> bool {
    match of(prompt) {
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
    fn media_are_part_of_the_content_and_not_of_its_text() {
        let parts =
            r#"[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]"#;
        let prompt = Prompt::Parts(parts.to_owned());
        assert_eq!(of(&prompt).to_string(), parts);
        assert_eq!(text(&prompt), "look");
        assert_eq!(words(&prompt), "look\n[image]");
    }

    #[test]
    fn a_blank_text_is_empty_and_a_picture_is_not() {
        assert!(is_empty(&Prompt::Text(" \n".to_owned())));
        assert!(is_empty(&Prompt::Parts("[]".to_owned())));
        assert!(!is_empty(&Prompt::Parts(r#"[{"type":"image_url"}]"#.to_owned())));
    }
}
