//! A gate: decides about each tool call before it is made.

use bub_guest::hook::ToolDecision;
use bub_guest::{Result, Schema, ToolCall, Turn, config};
use serde::Deserialize;
use serde_json::Value;

bub_guest::plugin! {
    about: "Denies tool calls whose arguments contain a blocked text.",
    config: Settings,
    hooks: {
        /// to see the arguments of tool calls and deny those that you block
        before_tool_call: decide,
    },
}

/// The table `[plugins.{{name}}.config]`.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What arguments must not contain.
    #[serde(default = "dangerous")]
    blocked: Vec<String>,
}

fn dangerous() -> Vec<String> {
    ["rm -rf", "sudo "].map(str::to_owned).to_vec()
}

/// Called for the calls of models and of people, with the arguments as they were written.
fn decide(_turn: &Turn, call: ToolCall) -> Result<ToolDecision> {
    let settings: Settings = config::load()?;
    // Models may write invalid JSON: then the text itself is searched.
    let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::String(call.arguments));
    let found = settings
        .blocked
        .iter()
        .find(|blocked| contains(&arguments, blocked));
    Ok(match found {
        // The model reads this, and can try something else.
        Some(blocked) => ToolDecision::Deny(format!(
            "`{}` is not called with `{blocked}` in its arguments",
            call.name
        )),
        None => ToolDecision::Proceed,
    })
}

/// Whether a text stands in one of the strings, in upper or lower case.
fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.to_lowercase().contains(&text.to_lowercase()),
        Value::Array(values) => values.iter().any(|value| contains(value, text)),
        Value::Object(fields) => fields.values().any(|value| contains(value, text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::test::Host;
    use serde_json::json;

    fn decision(host: &Host, arguments: &str) -> ToolDecision {
        let call = ToolCall {
            id: None,
            name: "bash".to_owned(),
            arguments: arguments.to_owned(),
        };
        decide(&host.turn(), call).unwrap()
    }

    #[test]
    fn a_blocked_text_is_denied_wherever_it_stands() {
        let host = Host::new();
        for arguments in [
            r#"{"cmd":"SUDO ls"}"#,
            r#"{"cmd":["sh",{"c":"sudo ls"}]}"#,
            "sudo ls",
        ] {
            let ToolDecision::Deny(why) = decision(&host, arguments) else {
                panic!("{arguments} passes")
            };
            assert_eq!(why, "`bash` is not called with `sudo ` in its arguments");
        }
    }

    #[test]
    fn other_calls_proceed() {
        let host = Host::new().config(json!({ "blocked": ["curl"] }));
        assert!(matches!(
            decision(&host, r#"{"cmd":"sudo ls"}"#),
            ToolDecision::Proceed
        ));
    }
}
