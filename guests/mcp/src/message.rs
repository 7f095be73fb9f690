//! Messages of a server: JSON-RPC, or anything else.

use bub_guest::{Error, Result};
use serde_json::{Map, Value};

/// The longest message that is read, in bytes; the host cuts lines there.
pub const MAX_MESSAGE: usize = 4 << 20;

/// Values in a message, and how deep they are nested: a small text can become a large tree.
const MAX_VALUES: usize = 200_000;
const MAX_DEPTH: usize = 64;

/// The answer to a request.
pub type Outcome = std::result::Result<Value, Refusal>;

/// An error that the server answers.
#[derive(Debug, PartialEq)]
pub struct Refusal {
    pub code: i64,
    pub message: String,
}

#[derive(Debug, PartialEq)]
pub enum Message {
    Answer {
        id: Value,
        outcome: Outcome,
    },
    Request {
        id: Value,
        method: String,
    },
    Notification {
        method: String,
    },
    /// Not a message of the protocol: a line of a log, for example.
    Noise,
}

/// Reads a message.
///
/// # Errors
///
/// `tool`, if it is too large to be read.
pub fn parse(text: &str) -> Result<Message> {
    let text = text.trim();
    if !text.starts_with('{') {
        return Ok(Message::Noise);
    }
    check(text).map_err(Error::tool)?;
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else { return Ok(Message::Noise) };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Ok(Message::Noise);
    }
    let id = fields.remove("id");
    if let Some(method) = fields.get("method").and_then(Value::as_str) {
        let method = method.to_owned();
        return Ok(match id {
            Some(id) if !id.is_null() => Message::Request { id, method },
            _ => Message::Notification { method },
        });
    }
    let outcome = match (fields.remove("error"), fields.remove("result")) {
        (Some(Value::Object(error)), _) => Err(refusal(&error)),
        (Some(_), _) => Err(Refusal { code: 0, message: String::new() }),
        (None, Some(result)) => Ok(result),
        (None, None) => return Ok(Message::Noise),
    };
    Ok(Message::Answer { id: id.unwrap_or_default(), outcome })
}

fn refusal(error: &Map<String, Value>) -> Refusal {
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    Refusal { code: error.get("code").and_then(Value::as_i64).unwrap_or_default(), message: message.to_owned() }
}

/// Counts what the text would become before it is parsed.
fn check(text: &str) -> std::result::Result<(), String> {
    if text.len() > MAX_MESSAGE {
        return Err(format!("it sent a message of more than {} MiB", MAX_MESSAGE >> 20));
    }
    let (mut depth, mut values) = (0_usize, 0_usize);
    let (mut is_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        if is_string {
            is_string = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b'[' | b'{' => (depth, values) = (depth + 1, values + 1),
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("it sent a message that is nested more than {MAX_DEPTH} levels deep"));
        }
        if values > MAX_VALUES {
            return Err(format!("it sent a message with more than {MAX_VALUES} values"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_an_answer_a_request_a_notification_or_noise() {
        let answer = parse(r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1,"]"]}}"#).unwrap();
        assert_eq!(answer, Message::Answer { id: json!(7), outcome: Ok(json!({ "a": [1, "]"] })) });
        let refused = parse(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}"#).unwrap();
        let refusal = Refusal { code: -32601, message: "no".to_owned() };
        assert_eq!(refused, Message::Answer { id: json!(7), outcome: Err(refusal) });
        let asked = parse(r#"{"jsonrpc":"2.0","id":"x","method":"roots/list"}"#).unwrap();
        assert_eq!(asked, Message::Request { id: json!("x"), method: "roots/list".to_owned() });
        for noise in
            ["", "hello", "[1]", "{", "{}", r#"{"jsonrpc":"1.0","id":1,"result":1}"#, r#"{"jsonrpc":"2.0","id":1}"#]
        {
            assert_eq!(parse(noise).unwrap(), Message::Noise, "{noise}");
        }
    }

    #[test]
    fn a_message_that_would_fill_the_memory_is_refused_before_it_is_parsed() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(70), "]".repeat(70));
        assert!(parse(&deep).unwrap_err().message.contains("64 levels"));
        let wide = format!("{{\"a\":[{}1]}}", "1,".repeat(200_001));
        assert!(parse(&wide).unwrap_err().message.contains("200000 values"));
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_MESSAGE));
        assert!(parse(&long).unwrap_err().message.contains("4 MiB"));
        let quoted =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\\\"{}\"}}", "[".repeat(70), ",".repeat(200_001));
        assert!(matches!(parse(&quoted).unwrap(), Message::Answer { .. }));
    }
}
