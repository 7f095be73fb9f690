//! Errors that servers report.

use serde_json::Value;

use crate::error::ErrorKind;
use crate::overflow::is_context_length;
use crate::retry::is_passing;

/// What Anthropic says of messages that would fit if the answer had no room. Bub's expression does not know it.
const NO_ROOM: &str = "exceed context limit";

/// A server's `error`, as the body of a failed response or in the middle of a stream.
pub(crate) struct Refusal {
    /// Of the response, or what the code of an error in a stream stands for.
    status: Option<u16>,
    /// The server's word for it, `context_length_exceeded`.
    code: String,
    /// The server's sentence. It may be empty, long, or hold the key that was sent.
    message: String,
}

impl Refusal {
    /// Reads the body of a response that failed.
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

    /// The error that a document of a response that seemed good holds, if it holds one.
    pub(crate) fn in_answer(document: &Value) -> Option<Refusal> {
        document.get("error").filter(|error| !error.is_null())?;
        let (code, message) = read(document);
        Some(Refusal { status: code.parse().ok().or_else(|| status(&code)), code, message })
    }

    /// An `event: error` whose data is not in the usual form.
    pub(crate) fn from_text(words: &str) -> Refusal {
        Refusal { status: None, code: String::new(), message: words.to_owned() }
    }

    /// A rate limit speaks of tokens and limits too, and is no overflow; nor is a server that broke.
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

    /// The server's sentence, else its code.
    pub(crate) fn words(&self) -> &str {
        match self.message.trim() {
            "" => self.code.trim(),
            message => message,
        }
    }
}

/// The status that goes with an error's name. An error in a stream comes too late to have one of its own.
fn status(code: &str) -> Option<u16> {
    match code {
        "rate_limit_error" => Some(429),
        "api_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    }
}

/// Code and message, wherever the servers of this world put them.
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
