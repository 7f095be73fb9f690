//! OpenAI chat messages, reduced to the fields that scripts use.

use serde_json::{Map, Value};

/// Role and text.
#[derive(Debug)]
pub struct Message {
    pub role: String,
    pub text: String,
}

/// Parses the messages of a request; the error is the index, from 0, of the first that is not a JSON object.
pub fn parse(messages: &[String]) -> Result<Vec<Message>, usize> {
    let parsed = messages.iter().enumerate().map(|(place, message)| {
        let message: Map<String, Value> = serde_json::from_str(message).map_err(|_| place)?;
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = message.get("content").map(text_of).unwrap_or_default();
        Ok(Message { role, text })
    });
    parsed.collect()
}

/// Content is a string, or the text parts of a list.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part.is_object()).map(|part| match part.get("text") {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_parts_is_joined_by_lines_and_a_part_without_text_is_an_empty_one() {
        let message =
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}"#;
        let parsed = parse(&[message.to_owned()]).unwrap();
        assert_eq!(parsed[0].role, "user");
        assert_eq!(parsed[0].text, "a\n\nb");
    }

    #[test]
    fn a_message_that_is_not_an_object_is_reported_by_its_index() {
        let messages = [r#"{"role":"user"}"#.to_owned(), "[]".to_owned()];
        assert_eq!(parse(&messages).unwrap_err(), 1);
    }
}
