//! The arguments of the tool.

use crate::bub::types::types::Error;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Default timeout of a page, in seconds.
pub const TIMEOUT: u64 = 10;
/// Maximum timeout.
pub const MAX_TIMEOUT: u64 = 300;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    pub url: String,
    /// Headers to send, by name.
    #[serde(default)]
    headers: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "whole_or_none")]
    timeout: Option<u64>,
}

impl Fetch {
    /// Total timeout in seconds, including redirects and body.
    ///
    /// # Errors
    ///
    /// `invalid-input` outside of 1 to [`MAX_TIMEOUT`].
    pub fn timeout(&self) -> Result<u64, Error> {
        match self.timeout.unwrap_or(TIMEOUT) {
            seconds @ 1..=MAX_TIMEOUT => Ok(seconds),
            seconds => {
                Err(Error::invalid(format!("`timeout` is {seconds}, and must be between 1 and {MAX_TIMEOUT} seconds")))
            }
        }
    }

    /// The headers as text; other values as JSON.
    pub fn headers(&self) -> Vec<(String, String)> {
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let given = self.headers.iter().flatten().filter(|(_, value)| !value.is_null());
        given.map(|(name, value)| (name.to_ascii_lowercase(), shown(value))).collect()
    }
}

/// Parses the arguments of that tool.
///
/// # Errors
///
/// `invalid-input` with the argument that is missing, unknown or of the wrong type.
pub fn parse<T: DeserializeOwned>(tool: &str, arguments: &str) -> Result<T, Error> {
    let wrong =
        |reason: serde_json::Error| Error::invalid(format!("the arguments of `{}`: {reason}", tool.replace('.', "_")));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &str) -> Result<Fetch, String> {
        parse("web.fetch", arguments).map_err(|error| error.message)
    }

    #[test]
    fn headers_are_text_and_the_time_is_bounded() {
        let fetch = asked(r#"{"url":"u","headers":{"X-One":"a","x-two":2,"x-none":null},"timeout":"5"}"#).unwrap();
        let headers = [("x-one".to_owned(), "a".to_owned()), ("x-two".to_owned(), "2".to_owned())];
        assert_eq!((fetch.headers(), fetch.timeout().ok()), (headers.to_vec(), Some(5)));
        let fetch = asked(r#"{"url":"u","headers":null,"timeout":null}"#).unwrap();
        assert_eq!((fetch.headers(), fetch.timeout().ok()), (Vec::new(), Some(TIMEOUT)));
        for wrong in ["0", "301"] {
            assert!(asked(&format!(r#"{{"url":"u","timeout":{wrong}}}"#)).unwrap().timeout().is_err());
        }
    }

    #[test]
    fn invalid_arguments_are_named() {
        assert_eq!(asked("{}").unwrap_err(), "the arguments of `web_fetch`: missing field `url`");
        assert!(asked(r#"{"url":"u","timeout":-1}"#).unwrap_err().contains("`-1` is no whole number"));
    }
}
