//! Messages as lines: one JSON object a line, of a bounded structure.

use agent_client_protocol_schema::v1::{Error, ErrorCode, RequestId};
use bub_tape::json::Bounds;
use bub_types::text::{clipped, escaped, one_line};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Bounds of a message. Prompts are texts, attached files, and objects of a few values.
const BOUNDS: Bounds = Bounds { depth: 64, members: 65_536, elements: 131_072 };

/// The longest id of a request, in bytes: it comes back with the answer.
const MAX_ID: usize = 1024;

/// A message of the editor.
pub(crate) enum Incoming {
    /// It waits for an answer.
    Request { id: RequestId, method: String, params: Value },
    /// It waits for none.
    Notification { method: String, params: Value },
    /// The answer to a request of ours.
    Answer { id: String, outcome: Result<Value, String> },
}

/// Why a line is no message, and the request that it was meant to be.
pub(crate) struct Refusal {
    pub(crate) error: Error,
    pub(crate) id: RequestId,
}

/// Reads a message.
pub(crate) fn parse(line: &[u8]) -> Result<Incoming, Box<Refusal>> {
    let refusal = |error: Error, id: RequestId| Box::new(Refusal { error, id });
    let unreadable = |reason: String| refusal(error(ErrorCode::ParseError, reason), RequestId::Null);
    BOUNDS.check(line).map_err(|exceeded| unreadable(format!("the message is {exceeded}")))?;
    let text = std::str::from_utf8(line).map_err(|_| unreadable("the message is not UTF-8".to_owned()))?;
    let value: Value = serde_json::from_str(text).map_err(|_| unreadable("the message is not JSON".to_owned()))?;
    let Value::Object(mut message) = value else {
        let reason = "the message is no object; batches are not taken";
        return Err(refusal(invalid_request(reason), RequestId::Null));
    };
    let written = message.remove("id");
    let id = written.as_ref().and_then(id);
    let refused = |reason: &str| refusal(invalid_request(reason), id.clone().unwrap_or(RequestId::Null));
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(refused("the message is none of JSON-RPC 2.0: `jsonrpc` is not `2.0`"));
    }
    match (message.remove("method"), written) {
        (Some(Value::String(method)), None) => Ok(Incoming::Notification { method, params: params(&mut message) }),
        (Some(Value::String(method)), Some(_)) => match id {
            Some(id) => Ok(Incoming::Request { id, method, params: params(&mut message) }),
            None => Err(refused("the `id` of a request is a text of at most 1024 bytes or a whole number")),
        },
        (None, Some(Value::String(id))) => match (message.remove("result"), message.remove("error")) {
            (Some(result), None) => Ok(Incoming::Answer { id, outcome: Ok(result) }),
            (None, Some(error)) => {
                let said = error.get("message").and_then(Value::as_str).unwrap_or("an error without a message");
                Ok(Incoming::Answer { id, outcome: Err(clipped(&one_line(said), 300)) })
            }
            _ => Err(refused("a response has a `result` or an `error`")),
        },
        _ => Err(refused("the message is no request, notification or response of this connection")),
    }
}

fn params(message: &mut Map<String, Value>) -> Value {
    message.remove("params").unwrap_or(Value::Object(Map::new()))
}

fn id(value: &Value) -> Option<RequestId> {
    match value {
        Value::Null => Some(RequestId::Null),
        Value::String(id) => (id.len() <= MAX_ID).then(|| RequestId::Str(id.clone())),
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        _ => None,
    }
}

/// The parameters of a method.
///
/// # Errors
///
/// They do not fit, with the first thing that is wrong.
pub(crate) fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|wrong| {
        let wrong = clipped(&one_line(&wrong.to_string()), 200);
        invalid_params(format!("the parameters of `{method}` do not fit: {wrong}"))
    })
}

/// An error with a line for the user.
pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error::new(code.into(), message)
}

pub(crate) fn invalid_params(message: impl Into<String>) -> Error {
    error(ErrorCode::InvalidParams, message)
}

pub(crate) fn invalid_request(message: impl Into<String>) -> Error {
    error(ErrorCode::InvalidRequest, message)
}

pub(crate) fn internal(message: impl Into<String>) -> Error {
    error(ErrorCode::InternalError, message)
}

pub(crate) fn not_found(message: impl Into<String>) -> Error {
    error(ErrorCode::ResourceNotFound, message)
}

pub(crate) fn no_method(method: &str) -> Error {
    error(ErrorCode::MethodNotFound, format!("there is no method `{}`", escaped(method, 64)))
}

/// An error of the tapes.
pub(crate) fn storage(error: bub_tape::Error) -> Error {
    internal(one_line(&bub_types::Error::from(error).message))
}
