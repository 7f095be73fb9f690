//! `BUB_SECRET_NAME` and `BUB_SECRET_NAME_HOSTS`.

use crate::secret::Error;
use crate::secret::host;
use crate::secret::host::Pattern;
use crate::secret::name::{HOSTS, PREFIX, check_name, listed};
use crate::secret::value::{Source, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Variables of Bub that hold a secret: the variable, its name after `BUB_SECRET_`, and its host.
const OF_BUB: [(&str, &str, &str); 1] = [("BUB_TELEGRAM_TOKEN", "TELEGRAM_TOKEN", "api.telegram.org")];

/// A secret as the environment defines it.
#[derive(Debug, Default)]
pub(super) struct Variable {
    /// The variable that holds the value.
    pub(super) name: String,
    /// `None` if only its hosts are set.
    pub(super) source: Option<Source>,
    pub(super) hosts: Vec<Pattern>,
}

/// Reads the variables of secrets, by the part of the name after `BUB_SECRET_`. An empty one counts as unset;
/// `file:/path` names a file.
///
/// # Errors
///
/// [`Error::Invalid`] names the invalid variable, never its value.
pub(super) fn read(variables: impl Iterator<Item = (String, String)>) -> Result<BTreeMap<String, Variable>, Error> {
    let mut read: BTreeMap<String, Variable> = BTreeMap::new();
    let mut of_bub = Vec::new();
    for (variable, text) in variables {
        let variable = variable.to_ascii_uppercase();
        if let Some((_, key, host)) = OF_BUB.iter().find(|(name, ..)| *name == variable)
            && !text.is_empty()
        {
            of_bub.push((variable, *key, *host, text));
            continue;
        }
        let Some(key) = variable.strip_prefix(PREFIX).filter(|_| !text.is_empty()) else { continue };
        let of_hosts = key.strip_suffix(HOSTS);
        let key = of_hosts.unwrap_or(key);
        if check_name(&listed(key)).is_err() {
            return Err(Error::Invalid(format!(
                "environment variable `{}`: what follows `{PREFIX}` is not the name of a secret",
                variable.escape_debug()
            )));
        }
        let entry = read.entry(key.to_owned()).or_default();
        if of_hosts.is_some() {
            let hosts = text.split(',').map(str::trim).filter(|host| !host.is_empty());
            entry.hosts = host::parse_all(hosts).map_err(|_| {
                Error::Invalid(format!(
                    "environment variable `{variable}` is not a list of hosts, as in `api.example.com,*.example.org`"
                ))
            })?;
        } else {
            entry.source = Some(source(text));
            entry.name = variable;
        }
    }
    for (variable, key, host, text) in of_bub {
        let entry = read.entry(key.to_owned()).or_default();
        // The secret's own variable takes precedence.
        if entry.source.is_none() {
            (entry.source, entry.name) = (Some(source(text)), variable);
        }
        if entry.hosts.is_empty() {
            entry.hosts = host::parse_all(std::iter::once(host)).map_err(|error| Error::Invalid(error.to_string()))?;
        }
    }
    Ok(read)
}

fn source(text: String) -> Source {
    match text.strip_prefix("file:").map(Path::new) {
        Some(path) if path.is_absolute() => Source::File(path.to_owned()),
        _ => Source::Text(Value::new(text)),
    }
}
