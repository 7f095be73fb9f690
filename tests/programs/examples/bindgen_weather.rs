//! The tool `weather`: asks a weather service, which wants a key in a header.

wit_bindgen::generate!({
    inline: "
        package my:weather@0.1.0;
        world plugin {
            import bub:plugin/config@0.1.0;
            import bub:plugin/secrets@0.1.0;
            export bub:hooks/system-prompt@0.1.0;
            export bub:tools/tools@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

#[path = "../bindgen_http.rs"]
mod http;

use bub::plugin::{config, secrets};
use bub::tools::schema::{Effect, ToolSpec};
use bub::turn::turn::Turn;
use bub::types::types::{CutOrder, Error, ErrorKind, Prompt, SystemPart};
use exports::bub::hooks::system_prompt;
use exports::bub::tools::tools;
use serde_json::{Value, json};
use wasip2::http::types::Method;

const MANIFEST: &[u8] = br#"{
  "name": "weather",
  "version": "0.1.0",
  "about": "Says how the weather is.",
  "wants": [
    { "grant": "hook:system-prompt", "why": "to tell the model which city is meant where none is named" },
    { "grant": "http:*", "why": "to ask the weather service; grant the host of `server` alone" },
    { "grant": "http:http://*", "why": "the same, where that server is on this machine" },
    {
      "grant": "secret:weather",
      "why": "to say who asks; it goes into a header of the requests, and never to this plugin"
    }
  ],
  "config_schema": {
    "type": "object",
    "properties": {
      "server": { "type": "string", "description": "The weather service, as in `https://api.example.com`." },
      "home": { "type": "string", "description": "The city that is meant where none is named." }
    },
    "required": ["server"],
    "additionalProperties": false
  }
}"#;

#[used]
#[unsafe(link_section = "bub:manifest")]
static SECTION: [u8; MANIFEST.len()] = *MANIFEST.first_chunk().unwrap();

struct Plugin;

impl tools::Guest for Plugin {
    fn list_tools() -> Vec<ToolSpec> {
        let parameters = json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "The name of a city." },
                "units": {
                    "type": "string",
                    "enum": ["metric", "imperial"],
                    "description": "How temperatures are given. `metric`: In degrees Celsius. `imperial`: In degrees Fahrenheit."
                },
                "days": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 7,
                    "default": 1,
                    "description": "For how many days."
                }
            },
            "required": ["city"],
            "additionalProperties": false
        });
        vec![ToolSpec {
            name: "weather".to_owned(),
            description: "Say how the weather is in a city, today and in the days that follow.".to_owned(),
            parameters: parameters.to_string(),
            for_model: true,
            effect: Effect::Read,
            reads_outside: true,
        }]
    }

    fn call_tool(_turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        if name != "weather" {
            return Err(error(ErrorKind::NotFound, format!("there is no tool `{name}`")));
        }
        let asked: Value =
            serde_json::from_str(&arguments).map_err(|why| error(ErrorKind::InvalidInput, why.to_string()))?;
        // The host has checked them with the schema.
        let city = asked["city"].as_str().unwrap_or_default();
        let units = asked["units"].as_str().unwrap_or("metric");
        let days = asked["days"].as_u64().unwrap_or(1);
        let server = setting("server")?.ok_or_else(|| error(ErrorKind::Config, "`server` is not set".to_owned()))?;
        let url = format!("{server}/forecast?city={}&units={units}&days={days}", escaped(city));
        let key = secrets::placeholder("weather")?;
        let (status, body) = http::send(&Method::Get, &url, &[("x-api-key", &key)], None)
            .map_err(|why| error(ErrorKind::Temporary, format!("the weather service: {why}")))?;
        let kind = match status {
            200..=299 => return forecast(&body),
            401 | 403 => ErrorKind::Denied,
            404 | 410 => ErrorKind::NotFound,
            408 | 425 | 429 | 500..=599 => ErrorKind::Temporary,
            _ => ErrorKind::Tool,
        };
        Err(error(kind, format!("the weather in `{city}`: the server answered with status {status}")))
    }
}

/// The days of a forecast, with what the model reads of them.
fn forecast(body: &[u8]) -> Result<String, Error> {
    let wrong = |why: String| error(ErrorKind::InvalidInput, format!("the server's answer: {why}"));
    let days: Vec<Value> = serde_json::from_slice(body).map_err(|why| wrong(why.to_string()))?;
    let mut read = Vec::new();
    for day in &days {
        let text = |key: &str| day[key].as_str().ok_or_else(|| wrong(format!("`{key}` is no text")));
        let number = |key: &str| day[key].as_f64().ok_or_else(|| wrong(format!("`{key}` is no number")));
        read.push(json!({
            "date": text("date")?, "sky": text("sky")?, "high": number("high")?, "low": number("low")?
        }));
    }
    Ok(Value::from(read).to_string())
}

impl system_prompt::Guest for Plugin {
    fn system_prompt(_turn: Turn, _prompt: Prompt) -> Result<Vec<SystemPart>, Error> {
        let part = |city| SystemPart {
            name: "weather".to_owned(),
            text: format!("Weather without a city is the weather in {city}."),
            cut: CutOrder::Normal,
        };
        Ok(setting("home")?.map(part).into_iter().collect())
    }
}

/// A text in the table `[plugins.weather.config]`.
fn setting(key: &str) -> Result<Option<String>, Error> {
    let read = |text: String| {
        serde_json::from_str(&text).map_err(|why| error(ErrorKind::Config, format!("`{key}` is not understood: {why}")))
    };
    config::get(key).map(read).transpose()
}

/// A text as the value of a query.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(byte.into()),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

fn error(kind: ErrorKind, message: String) -> Error {
    Error { kind, message, details: None }
}

export!(Plugin);
