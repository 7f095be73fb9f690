//! Errors that servers report.

use serde_json::Value;

use crate::error::ErrorKind;
use crate::overflow::is_context_length;
use crate::retry::is_passing;

/// Anthropic's message if prompt and maximum answer together exceed the context. Bub's expression does not match it.
const NO_ROOM: &str = "exceed context limit";

/// A server's `error`, as the body of a failed response or in the middle of a stream.
pub(crate) struct Refusal {
    /// Of the response, or derived from the code of an error in a stream.
    status: Option<u16>,
    /// The error code, such as `context_length_exceeded`.
    code: String,
    /// The message. It may be empty, long, or contain the key.
    message: String,
}

impl Refusal {
    /// Parses the body of a failed response.
    pub(crate) fn from_response(status: u16, body: &[u8]) -> Refusal {
        let text = String::from_utf8_lossy(body);
        let (code, message) = match serde_json::from_str::<Value>(&text) {
            Ok(document) => read(&document),
            // HTML pages of proxies are not quoted.
            Err(_) if text.trim_start().starts_with('<') => Default::default(),
            Err(_) => (String::new(), text.into_owned()),
        };
        Refusal { status: Some(status), code, message }
    }

    /// The error in a document of a successful response, if any.
    pub(crate) fn in_answer(document: &Value) -> Option<Refusal> {
        document.get("error").filter(|error| !error.is_null())?;
        let (code, message) = read(document);
        Some(Refusal { status: code.parse().ok().or_else(|| status(&code)), code, message })
    }

    /// An `event: error` with unusual data.
    pub(crate) fn from_text(words: &str) -> Refusal {
        Refusal { status: None, code: String::new(), message: words.to_owned() }
    }

    /// The kind. Rate limits mention tokens and limits too, but are not overflows; neither are server errors.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self.status {
            Some(status) if is_passing(status) => ErrorKind::Temporary,
            _ if is_context_length(&self.message) => ErrorKind::ContextLength,
            _ if is_context_length(&self.code) => ErrorKind::ContextLength,
            _ if self.message.contains(NO_ROOM) => ErrorKind::ContextLength,
            _ => ErrorKind::Provider,
        }
    }

    /// Whether the same request may succeed later.
    pub(crate) fn is_passing(&self) -> bool {
        self.status.is_some_and(is_passing)
    }

    /// The message, else the code.
    pub(crate) fn words(&self) -> &str {
        match self.message.trim() {
            "" => self.code.trim(),
            message => message,
        }
    }
}

/// The status for an error code. An error in a stream has no status of its own.
fn status(code: &str) -> Option<u16> {
    match code {
        "rate_limit_error" => Some(429),
        "api_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    }
}

/// Code and message, in any of the known formats.
fn read(document: &Value) -> (String, String) {
    // Gemini wraps the document in a list.
    let document = document.get(0).unwrap_or(document);
    let error = document.get("error").unwrap_or(document);
    let message = [error.get("message"), error.get("detail"), Some(error)]
        .into_iter()
        .chain([document.get("message"), document.get("detail")])
        .flatten()
        .find_map(Value::as_str)
        .unwrap_or_default();
    // OpenRouter puts the provider's message here.
    let cause =
        error.pointer("/metadata/raw").and_then(Value::as_str).map(|raw| format!(": {raw}")).unwrap_or_default();
    let code = match error.get("code").or_else(|| error.get("type")) {
        Some(Value::String(code)) => code.clone(),
        Some(Value::Number(code)) => code.to_string(),
        _ => String::new(),
    };
    (code, format!("{message}{cause}"))
}
