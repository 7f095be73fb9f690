//! Settings of models, which the configuration fills in.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// All that a [`Client`](crate::Client) needs to know.
///
/// Providers in `keys` and `bases` are compared without regard to case, and `-` is the same as `_`, since they come
/// from names of environment variables as often as from a JSON object.
#[derive(Clone)]
pub struct Settings {
    /// `provider:model`. It answers when a request names no model.
    pub model: String,
    /// Keys by provider.
    pub keys: HashMap<String, Secret>,
    /// The key for every provider. It wins over [`keys`](Self::keys).
    pub api_key: Option<Secret>,
    /// Addresses by provider, up to and without `/chat/completions` or `/messages`.
    pub bases: HashMap<String, String>,
    /// The address for every provider. It wins over [`bases`](Self::bases).
    pub api_base: Option<String>,
    /// Tokens that an answer may have when the request does not say.
    pub max_tokens: u64,
    /// Bounds one model's whole answer, from connecting to its end, retries included. `None`: no bound.
    pub timeout: Option<Duration>,
    /// Merged into every body. A key of the request's own options wins; `null` leaves a key out.
    pub completion_args: serde_json::Map<String, serde_json::Value>,
    /// Sent with every request. They win over the client's own, `authorization` included.
    pub headers: Vec<(String, String)>,
    /// Whether keys may be sent over plain HTTP to other machines.
    pub insecure_http: bool,
    /// The longest silence within an answer, the wait for its first byte included.
    pub idle: Duration,
    /// The pause before the second request to a server that failed; it doubles for the third.
    pub retry_delay: Duration,
}

impl Settings {
    /// Settings that only name a model: no keys, no addresses, Bub's limits.
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

/// A key. Printing it in any way gives `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes `text` as it is.
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
