//! `bub:plugin/secrets`: secrets that a guest names and never holds.

use crate::guest::State;
use crate::guest::bindings::secrets::Host;
use bub_egress::secret;
use bub_permissions::Grant;
use bub_types::{Error, ErrorKind};
use wasmtime::Result;

impl Host for State {
    async fn placeholder(&mut self, name: String) -> Result<Result<String, Error>> {
        Ok(self.secret(&name).and_then(|()| secret::placeholder(&name).map_err(into_error)))
    }

    async fn matches(&mut self, name: String, value: String) -> Result<Result<bool, Error>> {
        let granted = self.secret(&name);
        Ok(granted.and_then(|()| self.host.config.secrets.matches(&name, value.as_bytes()).map_err(into_error)))
    }

    async fn hmac_sha256(&mut self, name: String, data: Vec<u8>) -> Result<Result<Vec<u8>, Error>> {
        let granted = self.secret(&name);
        Ok(granted.and_then(|()| self.host.config.secrets.hmac_sha256(&name, &data).map_err(into_error)))
    }
}

impl State {
    /// Refuses unless the plugin holds the secret's grant, before the caller learns whether there is such a secret.
    fn secret(&self, name: &str) -> std::result::Result<(), Error> {
        self.granted(&Grant::secret(name))
    }
}

fn into_error(error: secret::Error) -> Error {
    let kind = match &error {
        secret::Error::NotGranted { .. } | secret::Error::NotBound { .. } => ErrorKind::Denied,
        secret::Error::NotFound { .. } => ErrorKind::NotFound,
        secret::Error::Unusable { .. } | secret::Error::File(_) => ErrorKind::Config,
        secret::Error::Invalid(_) => ErrorKind::InvalidInput,
    };
    Error::new(kind, error.to_string())
}
