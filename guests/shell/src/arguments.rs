//! The arguments of the tools.

use crate::bub::types::types::{Error, ErrorKind};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Default timeout of a command, in seconds.
pub const TIMEOUT: u64 = 30;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub cmd: String,
    /// The working directory; `None`: the workspace.
    pub cwd: Option<String>,
    /// Timeout in seconds; `None`: [`TIMEOUT`].
    #[serde(default, deserialize_with = "whole_or_none")]
    pub timeout_seconds: Option<u64>,
    #[serde(default, deserialize_with = "yes_or_no")]
    pub background: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    pub shell_id: String,
    /// Offset of the output in bytes; `None`: 0.
    #[serde(default, deserialize_with = "whole_or_none")]
    pub offset: Option<u64>,
    /// Maximum bytes; `None`: all that are kept.
    #[serde(default, deserialize_with = "whole_or_none")]
    pub limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    pub shell_id: String,
}

/// Parses the arguments of that tool.
///
/// # Errors
///
/// `invalid-input` with the argument that is missing, unknown or of the wrong type.
pub fn parse<T: DeserializeOwned>(tool: &str, arguments: &str) -> Result<T, Error> {
    let wrong = |reason: serde_json::Error| {
        Error::new(ErrorKind::InvalidInput, format!("the arguments of `{}`: {reason}", tool.replace('.', "_")))
    };
    // From a value, not from the text: positions in the text are meaningless to callers who did not write it.
    let value: Value = serde_json::from_str(arguments).map_err(wrong)?;
    serde_json::from_value(value).map_err(wrong)
}

/// A number, also one written as text, as models and command lines do.
fn whole_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.map(Some).ok_or_else(|| D::Error::custom(format!("`{value}` is no whole number from 0 up")))
}

fn yes_or_no<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(false),
        Value::Bool(yes) => Ok(yes),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        other => Err(D::Error::custom(format!("`{other}` is neither true nor false"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_arguments_have_defaults_and_numbers_may_be_text() {
        let asked: Run = parse("bash", r#"{"cmd":"a","cwd":null,"timeout_seconds":"5","background":"True"}"#).unwrap();
        assert_eq!((asked.cwd, asked.timeout_seconds, asked.background), (None, Some(5), true));
        let asked: Run = parse("bash", r#"{"cmd":"a"}"#).unwrap();
        assert_eq!((asked.timeout_seconds, asked.background), (None, false));
    }

    #[test]
    fn invalid_arguments_are_named() {
        let reason = |arguments| parse::<Output>("bash.output", arguments).unwrap_err().message;
        assert_eq!(reason("{}"), "the arguments of `bash_output`: missing field `shell_id`");
        assert_eq!(
            reason(r#"{"shell_id":"a","offset":-1}"#),
            "the arguments of `bash_output`: `-1` is no whole number from 0 up"
        );
        assert!(reason(r#"{"shell_id":"a","x":1}"#).contains("unknown field `x`"));
    }
}
