//! Secrets that guests name but never see.
//!
//! They are stored in `$BUB_HOME/secrets.toml`, each bound to hosts:
//!
//! ```toml
//! [telegram]
//! value = "123456:abcdef"
//! hosts = ["api.telegram.org"]
//!
//! [search]
//! file = "/run/secrets/search"
//! hosts = ["*.example.com"]
//! ```
//!
//! The variable `BUB_SECRET_TELEGRAM` overrides the file's value, never its hosts. If the file has no such table,
//! `BUB_SECRET_TELEGRAM_HOSTS` names the hosts. A secret without hosts is never sent: it can only be compared and used
//! for signatures.

mod change;
mod environment;
mod error;
mod file;
mod fill;
mod host;
mod injector;
mod name;
mod placeholder;
mod redaction;
mod table;
mod value;

pub use error::Error;
pub use fill::placeholders;
pub use injector::{InjectedRequest, SecretInjector};
pub use name::check_name;
pub use placeholder::placeholder;
pub use value::Value;

use environment::Variable;
use hmac::{Hmac, KeyInit, Mac};
use host::Pattern;
use name::{PREFIX, key, listed};
use redaction::Redaction;
use sha2::Sha256;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::Entry;
use value::Source;

/// The file of secrets, below `$BUB_HOME`.
pub const FILE: &str = "secrets.toml";

/// All secrets of one home. Printing it shows names, hosts and `***`.
#[derive(Debug)]
pub struct Secrets {
    path: PathBuf,
    /// By [`key`], which is unique within the file.
    entries: BTreeMap<String, Entry>,
    variables: BTreeMap<String, Variable>,
    redaction: Arc<Redaction>,
}

/// A new value of a secret.
#[derive(Debug, Clone)]
pub enum NewValue {
    /// The value itself, which is written into the file of secrets.
    Text(Value),
    /// The absolute path of a file that is read at every use.
    File(PathBuf),
}

/// Where the value of a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In `secrets.toml`.
    Written,
    /// In that file.
    File(PathBuf),
    /// In that environment variable.
    Variable(String),
    /// Bound to hosts in `secrets.toml`, but without a value.
    Missing,
}

/// A secret that was looked up.
struct ResolvedSecret<'a> {
    source: Option<&'a Source>,
    /// Whether `source` is the environment's.
    from_variable: bool,
    hosts: &'a [Pattern],
}

/// A model's key.
#[derive(Debug, Clone)]
pub struct Key {
    /// The name of the secret. [`Secrets::check_host`] decides where it may go.
    pub name: String,
    /// The key.
    pub value: Value,
}

impl Secrets {
    /// Reads `secrets.toml` below `home`, if it exists, and the variables of `environment` with the prefix
    /// `BUB_SECRET_`. Values in files of their own are read at each use.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if the file cannot be read, belongs to or is open to other users, or is invalid;
    /// [`Error::Invalid`] for a variable. Each is one line without values.
    pub fn load(home: &Path, environment: impl Iterator<Item = (String, String)>) -> Result<Self, Error> {
        let path = home.join(FILE);
        let variables = environment::read(environment)?;
        let mut secrets = Self { path, entries: BTreeMap::new(), variables, redaction: Arc::default() };
        let text = file::read(&secrets.path)?;
        secrets.take(&text)?;
        Ok(secrets)
    }

    /// The secrets of a trial run in that home: none, but the values of `self` are still redacted.
    pub fn for_trial(&self, home: &Path) -> Self {
        let (entries, variables) = (BTreeMap::new(), BTreeMap::new());
        Self { path: home.join(FILE), entries, variables, redaction: self.redaction.clone() }
    }

    /// Replaces the file's text. [`redact`](Self::redact) still redacts the earlier values.
    fn take(&mut self, text: &str) -> Result<(), Error> {
        self.entries = by_key(&self.path, table::entries(&self.path, text)?)?;
        let written = self.entries.values().filter_map(|entry| entry.source.as_ref());
        for source in written.chain(self.variables.values().filter_map(|variable| variable.source.as_ref())) {
            // A missing file is an error only when its secret is used.
            if let Ok(value) = source.read() {
                self.learn(source, &value);
            }
        }
        Ok(())
    }

    fn learn(&self, source: &Source, value: &Value) {
        match source {
            Source::Text(_) => self.redaction.learn_written(value),
            Source::File(_) => self.redaction.learn_read(value),
        }
    }

    /// The names of all secrets, in order. One that only the environment defines is listed with `-` for `_`; both
    /// spellings find it.
    pub fn names(&self) -> Vec<String> {
        let written = self.entries.values().map(|entry| entry.name.clone());
        let others = self
            .variables
            .iter()
            .filter(|(key, variable)| variable.source.is_some() && !self.entries.contains_key(*key));
        written.chain(others.map(|(key, _)| listed(key))).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The hosts that the secret is bound to, as `api.example.com` or `*.example.com`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if `name` is not a valid name, [`Error::NotFound`] if there is no such secret.
    pub fn hosts(&self, name: &str) -> Result<Vec<String>, Error> {
        Ok(self.find(name)?.hosts.iter().map(ToString::to_string).collect())
    }

    /// Where the secret's value comes from.
    ///
    /// # Errors
    ///
    /// Those of [`hosts`](Self::hosts).
    pub fn origin(&self, name: &str) -> Result<Origin, Error> {
        let found = self.find(name)?;
        Ok(match found.source {
            None => Origin::Missing,
            Some(_) if found.from_variable => {
                let variable = self.variables.get(&key(name)).map(|variable| variable.name.clone());
                Origin::Variable(variable.unwrap_or_else(|| format!("{PREFIX}{}", key(name))))
            }
            Some(Source::Text(_)) => Origin::Written,
            Some(Source::File(path)) => Origin::File(path.clone()),
        })
    }

    /// Checks that the secret may go to `host` (without its port): over https if it is bound to it, over plain http
    /// only if that host is this machine. No `*.suffix` matches this machine, so it must be bound by its exact name.
    ///
    /// # Errors
    ///
    /// [`Error::NotBound`], and those of [`hosts`](Self::hosts).
    pub fn check_host(&self, name: &str, host: &str, https: bool) -> Result<(), Error> {
        let hosts = self.find(name)?.hosts;
        let shown = host.escape_debug();
        let why = if !hosts.iter().any(|bound| bound.matches(host)) {
            format!("is not bound to host `{shown}`")
        } else if !https && !host::is_loopback(host) {
            format!("does not go to `{shown}` over plain http")
        } else {
            return Ok(());
        };
        Err(Error::NotBound { name: name.into(), why })
    }

    /// Whether `value` is the secret, compared in constant time.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if the value cannot be read, and those of [`hosts`](Self::hosts).
    pub fn matches(&self, name: &str, value: &[u8]) -> Result<bool, Error> {
        let secret = self.read(name)?;
        // Digests have equal lengths and are compared in constant time.
        let digest = |data: &[u8]| sign(b"bub-wasm compares secrets", data);
        Ok(digest(secret.expose())? == digest(value)?)
    }

    /// The HMAC-SHA256 of `data` with the secret as its key: 32 bytes.
    ///
    /// # Errors
    ///
    /// Those of [`matches`](Self::matches).
    pub fn hmac_sha256(&self, name: &str, data: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(sign(self.read(name)?.expose(), data)?.into_bytes().to_vec())
    }

    /// The key for a model's provider: the secret named like it, else that name with `-api-key` appended; `None`
    /// without either. Case is ignored, and `-`, `_` and `.` are equal.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if the secret exists and its value cannot be read.
    pub fn key_for(&self, provider: &str) -> Result<Option<Key>, Error> {
        let provider = key(provider).replace('.', "_");
        for key in [provider.clone(), format!("{provider}_API_KEY")] {
            let name = self.entries.get(&key).map_or_else(|| listed(&key), |entry| entry.name.clone());
            if self.find(&name).is_ok() {
                let value = self.read(&name)?;
                return Ok(Some(Key { name, value }));
            }
        }
        Ok(None)
    }

    /// Replaces every known value in `text` by `***`, also in another case, reversed, in Base64, in hexadecimal,
    /// percent-encoded, escaped or as HTML references. Values shorter than 6 characters are not redacted, since they
    /// occur in ordinary words.
    pub fn redact(&self, text: &str) -> String {
        self.redaction.clean(text)
    }

    /// [`redact`](Self::redact) for another thread.
    pub fn redactor(&self) -> impl Fn(&str) -> String + Send + Sync + use<> {
        let redaction = self.redaction.clone();
        move |text| redaction.clean(text)
    }

    /// The patterns of all values that are known by now, for streams.
    pub fn patterns(&self) -> bub_redact::Patterns {
        self.redaction.patterns()
    }

    /// The files that hold values of secrets, by the absolute paths in `secrets.toml` and the environment.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let written = self.entries.values().filter_map(|entry| entry.source.as_ref());
        let variables = self.variables.values().filter_map(|variable| variable.source.as_ref());
        written.chain(variables).filter_map(|source| match source {
            Source::File(path) => Some(path.as_path()),
            Source::Text(_) => None,
        })
    }

    fn find(&self, name: &str) -> Result<ResolvedSecret<'_>, Error> {
        check_name(name)?;
        let variable = self.variables.get(&key(name));
        let source = variable.and_then(|variable| variable.source.as_ref());
        match (self.entries.get(&key(name)), source, variable) {
            (Some(entry), _, _) if entry.name != name => Err(Error::NotFound { name: name.into() }),
            (Some(entry), Some(_), _) => Ok(ResolvedSecret { source, from_variable: true, hosts: &entry.hosts }),
            (Some(entry), None, _) => {
                Ok(ResolvedSecret { source: entry.source.as_ref(), from_variable: false, hosts: &entry.hosts })
            }
            (None, Some(_), Some(variable)) => {
                Ok(ResolvedSecret { source, from_variable: true, hosts: &variable.hosts })
            }
            (None, _, _) => Err(Error::NotFound { name: name.into() }),
        }
    }

    fn read(&self, name: &str) -> Result<Value, Error> {
        let unusable = |why: String| Error::Unusable { name: name.into(), why };
        let source = self.find(name)?.source.ok_or_else(|| {
            unusable(format!("has no value: `bub-wasm secret set {name}`, or set `{PREFIX}{}`", key(name)))
        })?;
        let value = source.read().map_err(unusable)?;
        self.learn(source, &value);
        Ok(value)
    }
}

/// The entries by the part of their variables' names after `BUB_SECRET_`.
fn by_key(path: &Path, entries: Vec<Entry>) -> Result<BTreeMap<String, Entry>, Error> {
    let mut map: BTreeMap<String, Entry> = BTreeMap::new();
    for entry in entries {
        let key = key(&entry.name);
        if let Some(other) = map.get(&key) {
            return Err(Error::File(format!(
                "`{}`: `[{}]` and `[{}]` would share the variable `{PREFIX}{key}`",
                path.display(),
                other.name,
                entry.name
            )));
        }
        map.insert(key, entry);
    }
    Ok(map)
}

fn sign(key: &[u8], data: &[u8]) -> Result<hmac::digest::CtOutput<Hmac<Sha256>>, Error> {
    // Cannot fail: HMAC accepts keys of any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|error| Error::Invalid(error.to_string()))?;
    mac.update(data);
    Ok(mac.finalize())
}
