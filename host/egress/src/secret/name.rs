//! Names of secrets, and of their environment variables.

use crate::secret::Error;

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 64;

/// Prefix of every variable of a secret.
pub(super) const PREFIX: &str = "BUB_SECRET_";

/// Suffix of the variable that holds hosts.
pub(super) const HOSTS: &str = "_HOSTS";

/// Checks that `name` matches `[a-z0-9][a-z0-9_-]{0,63}` and does not have the suffix of the variable that holds hosts.
///
/// # Errors
///
/// [`Error::Invalid`]. The name is shown only if all its characters are valid ones: it may be a value passed by
/// mistake.
pub fn check_name(name: &str) -> Result<(), Error> {
    let spelled = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let begins = name.chars().next().is_some_and(spelled);
    if !begins || name.len() > MAX_NAME || !name.chars().all(|c| spelled(c) || matches!(c, '_' | '-')) {
        return Err(Error::Invalid(
            "a secret's name is 1 to 64 of `a-z`, `0-9`, `_` and `-`, and begins with a letter or a digit".into(),
        ));
    }
    if key(name).ends_with(HOSTS) {
        return Err(Error::Invalid(format!(
            "a secret's name does not end in `-hosts`: `{PREFIX}{}` would be the hosts of another",
            key(name)
        )));
    }
    Ok(())
}

/// The part of the variable's name after `BUB_SECRET_`. Two names with the same key would share the variable.
pub(super) fn key(name: &str) -> String {
    name.to_ascii_uppercase().replace('-', "_")
}

/// The name to list for a variable that has no entry in the file.
pub(super) fn listed(key: &str) -> String {
    key.to_ascii_lowercase().replace('_', "-")
}
