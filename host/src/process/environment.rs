//! What a program is told of the host's environment.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// What the project's own variables begin with.
const OWN_PREFIX: &str = "BUB_";

/// A secret of that many bytes is found inside a value too (`postgres://me:SECRET@db`). A shorter one is looked for as the
/// whole value only: `test` stands in half of all paths.
const MIN_SECRET_INSIDE: usize = 8;

/// The variables that a program gets, and no others.
#[derive(Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The variables of this process, less the project's own.
    pub fn of_host() -> Self {
        Self::new(std::env::vars_os())
    }

    /// These variables, less the project's own: those that begin with `BUB_`, in capitals or not.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = variables.into_iter().filter(|(name, _)| !matches(name, &format!("{OWN_PREFIX}*"))).collect();
        Self { variables }
    }

    /// The same without the variables of these names, in capitals or not. A `*` at a name's beginning or end stands for
    /// anything: `*_TOKEN`, `AWS_*`, `*SECRET*`.
    pub fn without_names<N: AsRef<str>>(mut self, names: &[N]) -> Self {
        self.variables.retain(|(name, _)| !names.iter().any(|pattern| matches(name, pattern.as_ref())));
        self
    }

    /// The same without the variables whose value is one of these secrets, or has one of at least 8 bytes inside.
    pub fn without_secrets<S: AsRef<str>>(mut self, secrets: &[S]) -> Self {
        self.variables.retain(|(_, value)| !secrets.iter().any(|secret| tells(value, secret.as_ref())));
        self
    }

    /// What a program would read under `name`.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    pub(super) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }
}

impl fmt::Debug for Environment {
    /// Names only: a value may be a key that nobody has told us of.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

/// Whether `pattern`, in which a `*` at either end stands for anything, describes `name`.
fn matches(name: &OsStr, pattern: &str) -> bool {
    let name = name.as_encoded_bytes().to_ascii_uppercase();
    let pattern = pattern.to_ascii_uppercase();
    let (open_start, rest) = match pattern.strip_prefix('*') {
        Some(rest) => (true, rest),
        None => (false, pattern.as_str()),
    };
    let (open_end, word) = match rest.strip_suffix('*') {
        Some(word) => (true, word),
        None => (false, rest),
    };
    let word = word.as_bytes();
    match (open_start, open_end) {
        (false, false) => name == word,
        (true, false) => name.ends_with(word),
        (false, true) => name.starts_with(word),
        (true, true) => contains(&name, word),
    }
}

/// Whether whoever reads `value` knows `secret`.
fn tells(value: &OsStr, secret: &str) -> bool {
    let (value, secret) = (value.as_encoded_bytes(), secret.trim().as_bytes());
    if secret.len() >= MIN_SECRET_INSIDE {
        contains(value, secret)
    } else {
        !secret.is_empty() && value.trim_ascii() == secret
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    word.is_empty() || text.windows(word.len()).any(|window| window == word)
}
