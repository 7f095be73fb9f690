//! Serialization of requests.
//!
//! The text is written directly, since messages and schemas must be sent byte for byte: parsing and printing them would
//! cost time and change numbers.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};
use crate::exchange::{Request, ToolSpec};
use crate::files;
use crate::messages;
use crate::protocol::Protocol;
use crate::raw_object::RawObject;
use crate::settings::Settings;

/// Keys that only the client sets. Options must not override them.
const OWN: &[&str] = &["messages", "model", "stream", "system", "tools"];

/// A validated request, which can be written for several models.
pub(crate) struct Body<'a> {
    pub(super) messages: &'a [RawObject],
    pub(super) tools: &'a [Arc<ToolSpec>],
    /// `null`: the server decides.
    pub(super) max_tokens: Value,
    /// For servers that require it.
    pub(super) usual_max_tokens: u64,
    stream_options: Option<Value>,
    /// As in chat completions. No value is `null`.
    pub(super) options: Map<String, Value>,
    pub(super) stream: bool,
}

impl<'a> Body<'a> {
    /// Checks `request` and merges its options over the settings' arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for options that are not a JSON object, and for an option that may not be set;
    /// [`ErrorKind::Config`] if such an option comes from the settings.
    pub(crate) fn new(settings: &Settings, request: &'a Request) -> Result<Body<'a>, Error> {
        let mut options = settings.completion_args.clone();
        if let Some(key) = own_key(&options) {
            return Err(Error::new(ErrorKind::Config, format!("`BUB_COMPLETION_ARGS` may not set `{key}`")));
        }
        let mut asked = request_options(request)?;
        let usual = take_max_tokens(&mut options);
        let max_tokens = take_max_tokens(&mut asked).or(usual);
        let max_tokens = match request.max_tokens {
            Some(tokens) => Value::from(tokens),
            None => max_tokens.unwrap_or_else(|| Value::from(settings.max_tokens)),
        };
        options.extend(asked);
        let stream_options = options.shift_remove("stream_options");
        options.retain(|_, value| !value.is_null());
        Ok(Body {
            messages: &request.messages,
            tools: &request.tools,
            max_tokens,
            usual_max_tokens: settings.max_tokens,
            stream_options,
            options,
            stream: request.stream,
        })
    }

    /// The body for one model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for content that the model's protocol cannot express.
    pub(crate) fn text(&self, endpoint: &Endpoint) -> Result<String, Error> {
        match endpoint.protocol {
            Protocol::Chat => Ok(self.chat(endpoint)),
            Protocol::Messages => messages::body(self, endpoint),
        }
    }

    /// Writes the keys in the order in which Bub sends them.
    fn chat(&self, endpoint: &Endpoint) -> String {
        let size: usize = self.messages.iter().map(|message| message.len() + 1).sum();
        let mut text = String::with_capacity(size + 32 * 1024);
        text.push_str("{\"messages\":");
        let messages: Vec<_> = self.messages.iter().map(|message| files::as_text(message.as_ref())).collect();
        push_list(&mut text, &messages);
        member(&mut text, "model", &quoted(&endpoint.model));
        if !self.max_tokens.is_null() {
            let name = endpoint.dialect.max_tokens;
            member(&mut text, name, &self.max_tokens.to_string());
        }
        if let Some(effort) = self.options.get("reasoning_effort") {
            member(&mut text, "reasoning_effort", &effort.to_string());
        }
        let stream = if self.stream { "true" } else { "false" };
        member(&mut text, "stream", stream);
        match &self.stream_options {
            // Servers reject it without streaming.
            _ if !self.stream => {}
            Some(Value::Null) => {}
            Some(options) => member(&mut text, "stream_options", &options.to_string()),
            None if endpoint.dialect.stream_options => {
                member(&mut text, "stream_options", "{\"include_usage\":true}");
            }
            None => {}
        }
        for (key, value) in &self.options {
            if key != "reasoning_effort" {
                member(&mut text, key, &value.to_string());
            }
        }
        if !self.tools.is_empty() {
            let tools: Vec<&str> = self.tools.iter().map(|tool| tool.written()).collect();
            member(&mut text, "tools", &list(&tools));
        }
        text.push('}');
        text
    }
}

fn request_options(request: &Request) -> Result<Map<String, Value>, Error> {
    let Some(text) = &request.options else {
        return Ok(Map::new());
    };
    let options: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| invalid("the options of the request are not a JSON object".to_owned()))?;
    match own_key(&options) {
        Some(key) => Err(invalid(format!("the options of the request may not set `{key}`"))),
        None => Ok(options),
    }
}

/// Removes the limit from `options`, under either of its names.
fn take_max_tokens(options: &mut Map<String, Value>) -> Option<Value> {
    let older = options.shift_remove("max_tokens");
    options.shift_remove("max_completion_tokens").or(older)
}

fn own_key(options: &Map<String, Value>) -> Option<&'static str> {
    OWN.iter().copied().find(|key| options.contains_key(*key))
}

/// A JSON array of JSON values.
pub(super) fn list(values: &[impl AsRef<str>]) -> String {
    let mut text = String::with_capacity(values.iter().map(|value| value.as_ref().len() + 1).sum::<usize>() + 2);
    push_list(&mut text, values);
    text
}

fn push_list(text: &mut String, values: &[impl AsRef<str>]) {
    text.push('[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(value.as_ref());
    }
    text.push(']');
}

/// Appends a member to an object.
pub(super) fn member(text: &mut String, key: &str, value: &str) {
    text.push(',');
    text.push_str(&quoted(key));
    text.push(':');
    text.push_str(value);
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
