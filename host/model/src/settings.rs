//! Settings of models, filled in by the configuration.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// The settings of a [`Client`](crate::Client).
///
/// Names of providers in `keys` and `bases` are compared ignoring case, with `-` equal to `_`, since they may come from
/// environment variables.
#[derive(Clone)]
pub struct Settings {
    /// `provider:model`, for requests that name no model.
    pub model: String,
    /// Keys by provider.
    pub keys: HashMap<String, Secret>,
    /// The key for every provider. Overrides [`keys`](Self::keys).
    pub api_key: Option<Secret>,
    /// Base URLs by provider, without `/chat/completions` or `/messages`.
    pub bases: HashMap<String, String>,
    /// The base URL for every provider. Overrides [`bases`](Self::bases).
    pub api_base: Option<String>,
    /// Default maximum tokens of an answer.
    pub max_tokens: u64,
    /// Timeout of one model's whole answer, including connecting and retries. `None`: unlimited.
    pub timeout: Option<Duration>,
    /// Merged into every body. The request's own options override them; `null` leaves a key out.
    pub completion_args: serde_json::Map<String, serde_json::Value>,
    /// Sent with every request. They override the client's own, `authorization` included.
    pub headers: Vec<(String, String)>,
    /// Whether keys may be sent over plain HTTP to other machines.
    pub insecure_http: bool,
    /// Timeout between parts of an answer, and for its first byte.
    pub idle: Duration,
    /// The pause before the first retry; it doubles for the next.
    pub retry_delay: Duration,
}

impl Settings {
    /// Settings with a model only: no keys, no addresses, Bub's limits.
    pub fn new(model: impl Into<String>) -> Settings {
        Settings {
            model: model.into(),
            keys: HashMap::new(),
            api_key: None,
            bases: HashMap::new(),
            api_base: None,
            max_tokens: 16_384,
            timeout: None,
            completion_args: serde_json::Map::new(),
            headers: Vec::new(),
            insecure_http: false,
            idle: Duration::from_secs(300),
            retry_delay: Duration::from_millis(500),
        }
    }
}

/// Shows for which providers there are keys and headers, not their values, and no addresses, which may contain
/// passwords.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Settings")
            .field("model", &self.model)
            .field("keys", &self.keys)
            .field("api_key", &self.api_key)
            .field("max_tokens", &self.max_tokens)
            .field("timeout", &self.timeout)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// A key. `Debug` shows `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text` unchanged.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The key. The caller is responsible for where it goes.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(bub_redact::REPLACEMENT)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(bub_redact::REPLACEMENT)
    }
}
