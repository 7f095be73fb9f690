//! Parsing of the tools' arguments.

use crate::scope::Scope;
use crate::{Error, ErrorKind, day, error};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
pub struct Save {
    pub content: String,
    pub scope: Option<String>,
}

#[derive(Deserialize)]
pub struct Daily {
    pub content: String,
    pub date: Option<String>,
    pub scope: Option<String>,
}

#[derive(Deserialize)]
pub struct Recall {
    pub query: Option<String>,
    pub days: Option<Days>,
}

#[derive(Deserialize)]
pub struct Forget {
    pub query: String,
    pub dry_run: Option<Flag>,
    pub scope: Option<String>,
}

#[derive(Deserialize)]
pub struct Scoped {
    pub scope: Option<String>,
}

/// A number of days; text if it comes from a comma command.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Days {
    Number(i64),
    Text(String),
}

/// Text if it comes from a comma command.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Flag {
    Flag(bool),
    Text(String),
}

impl Days {
    /// At least one, at most a hundred years.
    pub fn get(&self) -> Result<i64, Error> {
        let days = match self {
            Self::Number(days) => Some(*days),
            Self::Text(text) => text.trim().parse().ok(),
        };
        let days = days.filter(|days| (1..=36_500).contains(days));
        days.ok_or_else(|| error(ErrorKind::InvalidInput, "`days` is a number from 1 to 36500"))
    }
}

impl Flag {
    pub fn get(&self) -> Result<bool, Error> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            Self::Text(text) => text
                .trim()
                .to_lowercase()
                .parse()
                .map_err(|_| error(ErrorKind::InvalidInput, format!("`{text}` is neither `true` nor `false`"))),
        }
    }
}

/// # Errors
///
/// `invalid-input` if they are invalid.
pub fn read<T: DeserializeOwned>(arguments: &str) -> Result<T, Error> {
    serde_json::from_str(arguments).map_err(|wrong| error(ErrorKind::InvalidInput, format!("the arguments: {wrong}")))
}

/// The scopes: the named one, or else `unset`.
pub fn scopes(named: Option<&str>, unset: &[Scope]) -> Result<Vec<Scope>, Error> {
    named.map_or(Ok(unset.to_vec()), |named| Ok(vec![Scope::named(named)?]))
}

/// The day: the named one, or else today.
pub fn day(named: Option<&str>, today: &str) -> Result<String, Error> {
    match named {
        None => Ok(today.to_owned()),
        Some(named) if day::is_one(named) => Ok(named.to_owned()),
        Some(named) => Err(error(ErrorKind::InvalidInput, format!("`{named}` is no date: write it as in `{today}`"))),
    }
}
