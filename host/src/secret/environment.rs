//! `BUB_SECRET_NAME` and `BUB_SECRET_NAME_HOSTS`.

use crate::secret::Error;
use crate::secret::host::{self, Pattern};
use crate::secret::name::{HOSTS, PREFIX, check_name, listed};
use crate::secret::value::{Source, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// What the environment says of one secret.
#[derive(Debug, Default)]
pub(super) struct Variable {
    /// None when only its hosts are named.
    pub(super) source: Option<Source>,
    pub(super) hosts: Vec<Pattern>,
}

/// The variables of secrets, by what follows `BUB_SECRET_`. An empty one counts as unset, and `file:/path` names a file.
///
/// # Errors
///
/// [`Error::Invalid`] names the variable that is wrong, and never what it holds.
pub(super) fn read(variables: impl Iterator<Item = (String, String)>) -> Result<BTreeMap<String, Variable>, Error> {
    let mut read: BTreeMap<String, Variable> = BTreeMap::new();
    for (variable, text) in variables {
        let variable = variable.to_ascii_uppercase();
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
            entry.source = Some(match text.strip_prefix("file:").map(Path::new) {
                Some(path) if path.is_absolute() => Source::File(path.to_owned()),
                _ => Source::Text(Value::new(text)),
            });
        }
    }
    Ok(read)
}
