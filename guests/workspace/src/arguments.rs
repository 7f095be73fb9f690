//! The arguments of the tools.

use crate::bub::types::types::{Error, ErrorKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    pub path: String,
    /// Lines to skip.
    #[serde(default, deserialize_with = "whole")]
    pub offset: u64,
    /// Maximum lines; `None`: all remaining.
    #[serde(default, deserialize_with = "whole_or_none")]
    pub limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    pub path: String,
    pub content: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    pub path: String,
    pub old: String,
    pub new: String,
    /// The first line in which `old` is searched, from 0.
    #[serde(default, deserialize_with = "whole")]
    pub start: u64,
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

/// A number, also one written as text, as models and command lines do; `null` is 0.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    whole_or_none(deserializer).map(Option::unwrap_or_default)
}

fn whole_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.map(Some).ok_or_else(|| serde::de::Error::custom(format!("`{value}` is no whole number from 0 up")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &str) -> Result<Read, String> {
        parse("fs.read", arguments).map_err(|error| error.message)
    }

    #[test]
    fn numbers_may_be_text_and_null_is_the_default() {
        let asked = read(r#"{"path":"a","offset":"2","limit":null}"#).unwrap();
        assert_eq!((asked.path.as_str(), asked.offset, asked.limit), ("a", 2, None));
        assert_eq!(read(r#"{"path":"a","limit":3}"#).unwrap().limit, Some(3));
    }

    #[test]
    fn invalid_arguments_are_named() {
        for (arguments, reason) in [
            (r#"{"offset":1}"#, "the arguments of `fs_read`: missing field `path`"),
            (r#"{"path":"a","offset":-1}"#, "the arguments of `fs_read`: `-1` is no whole number from 0 up"),
            (r#"{"path":"a","limit":"zz"}"#, "the arguments of `fs_read`: `\"zz\"` is no whole number from 0 up"),
            (r#"{"path":"a","limit":1.5}"#, "the arguments of `fs_read`: `1.5` is no whole number from 0 up"),
        ] {
            assert_eq!(read(arguments).unwrap_err(), reason);
        }
        assert!(read(r#"{"path":"a","bogus":1}"#).unwrap_err().contains("unknown field `bogus`"));
        assert!(read(r#"{"path":7}"#).is_err());
    }
}
