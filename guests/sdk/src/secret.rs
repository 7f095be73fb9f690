//! Secrets of the user. A plugin uses them, and never holds one.

use crate::Result;
use crate::backend::secrets;
use crate::grant::Secret;

impl Secret {
    /// The text that the host replaces by the secret, in the path, the query and the headers of a request to a host that the
    /// secret is bound to.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn placeholder(&self) -> Result<String> {
        secrets::placeholder(self.0)
    }

    /// The placeholder of another secret, for a plugin whose configuration names it.
    ///
    /// # Errors
    ///
    /// `denied`, if the grant does not cover that name.
    pub fn placeholder_of(&self, name: &str) -> Result<String> {
        secrets::placeholder(name)
    }

    /// Whether the value is the secret, compared in constant time.
    ///
    /// # Errors
    ///
    /// `denied`; `not-found` if there is no such secret, `config` if it cannot be read.
    pub fn matches(&self, value: &str) -> Result<bool> {
        secrets::matches(self.0, value)
    }

    /// The HMAC of the data with the secret as its key.
    ///
    /// # Errors
    ///
    /// As [`matches`](Self::matches).
    pub fn hmac_sha256(&self, data: &[u8]) -> Result<Vec<u8>> {
        secrets::hmac_sha256(self.0, data)
    }
}
