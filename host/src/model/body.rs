//! The request becomes JSON.
//!
//! The text is put together by hand, since messages and schemas must arrive byte for byte as they were given: parsing
//! and printing them again would cost time and change numbers.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::endpoint::Endpoint;
use crate::model::error::{Error, ErrorKind};
use crate::model::exchange::{Request, ToolSpec};
use crate::model::messages;
use crate::model::protocol::Protocol;
use crate::model::settings::Settings;

/// Keys that are the client's own. Options that set one of them would change who is asked what.
const OWN: &[&str] = &["messages", "model", "stream", "system", "tools"];

/// A request that was checked, and that can be written for one model after another.
pub(crate) struct Body<'a> {
    /// A JSON object each.
    pub(super) messages: Vec<&'a str>,
    pub(super) tools: Vec<Tool<'a>>,
    /// `null` where the server is to decide.
    pub(super) max_tokens: Value,
    /// For servers that want to be told.
    pub(super) usual_max_tokens: u64,
    stream_options: Option<Value>,
    /// In the words of chat completions. None is `null`.
    pub(super) options: Map<String, Value>,
    pub(super) stream: bool,
}

/// A tool whose parameters are a JSON object.
pub(super) struct Tool<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) parameters: &'a str,
}

impl<'a> Body<'a> {
    /// Checks `request` and merges its options over the settings' arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] for a message, a schema or options that are no JSON objects, and for an option that
    /// may not be set; [`ErrorKind::Config`] when such an option comes from the settings.
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

        let mut messages = Vec::with_capacity(request.messages.len());
        for (index, message) in request.messages.iter().enumerate() {
            messages.push(
                object(message).ok_or_else(|| invalid(format!("message {index} of the request is no JSON object")))?,
            );
        }
        let tools: Result<Vec<Tool<'_>>, Error> = request.tools.iter().map(tool).collect();
        Ok(Body {
            messages,
            tools: tools?,
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
    /// [`ErrorKind::InvalidInput`] for what this model's protocol has no word for.
    pub(crate) fn text(&self, endpoint: &Endpoint) -> Result<String, Error> {
        match endpoint.protocol {
            Protocol::Chat => Ok(self.chat(endpoint)),
            Protocol::Messages => messages::body(self, endpoint),
        }
    }

    /// The keys in the order in which Bub sends them.
    fn chat(&self, endpoint: &Endpoint) -> String {
        let messages = self.messages.join(",");
        let mut text = String::with_capacity(messages.len() + 8 * 1024);
        text.push_str("{\"messages\":[");
        text.push_str(&messages);
        text.push(']');
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
            // Servers refuse it where nothing is streamed.
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
            let tools: Vec<String> = self.tools.iter().map(Tool::chat).collect();
            member(&mut text, "tools", &format!("[{}]", tools.join(",")));
        }
        text.push('}');
        text
    }
}

fn request_options(request: &Request) -> Result<Map<String, Value>, Error> {
    let Some(text) = &request.options else {
        return Ok(Map::new());
    };
    let options: Map<String, Value> =
        serde_json::from_str(text).map_err(|_| invalid("the options of the request are no JSON object".to_owned()))?;
    match own_key(&options) {
        Some(key) => Err(invalid(format!("the options of the request may not set `{key}`"))),
        None => Ok(options),
    }
}

/// Takes the bound out of `options`, by whichever of its two names it goes.
fn take_max_tokens(options: &mut Map<String, Value>) -> Option<Value> {
    let older = options.shift_remove("max_tokens");
    options.shift_remove("max_completion_tokens").or(older)
}

fn own_key(options: &Map<String, Value>) -> Option<&'static str> {
    OWN.iter().copied().find(|key| options.contains_key(*key))
}

fn tool(spec: &ToolSpec) -> Result<Tool<'_>, Error> {
    let parameters = object(&spec.parameters)
        .ok_or_else(|| invalid(format!("the parameters of tool `{}` are no JSON object", spec.name.escape_debug())))?;
    Ok(Tool { name: &spec.name, description: &spec.description, parameters })
}

impl Tool<'_> {
    fn chat(&self) -> String {
        format!(
            "{{\"type\":\"function\",\"function\":{{\"name\":{},\"description\":{},\"parameters\":{}}}}}",
            quoted(self.name),
            quoted(self.description),
            self.parameters,
        )
    }
}

/// `text` without the space around it, if it is exactly one JSON object. Text that is not would, spliced into the
/// body, rewrite the rest of it.
pub(super) fn object(text: &str) -> Option<&str> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    Some(raw.get()).filter(|object| object.starts_with('{'))
}

/// Another member of an object that is being written.
pub(super) fn member(text: &mut String, key: &str, value: &str) {
    text.push(',');
    text.push_str(&quoted(key));
    text.push(':');
    text.push_str(value);
}

/// `text` as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
