//! `bub:plugin/secrets`. The program keeps no secrets for plugins yet, so there is none that could be granted.

use crate::plugin::bindings::{Error, ErrorKind, secrets::Host};
use crate::plugin::store::State;
use wasmtime::Result;

impl Host for State {
    async fn placeholder(&mut self, name: String) -> Result<Result<String, Error>> {
        Ok(Err(self.no_secret(&name)))
    }

    async fn matches(&mut self, name: String, _value: String) -> Result<Result<bool, Error>> {
        Ok(Err(self.no_secret(&name)))
    }

    async fn hmac_sha256(&mut self, name: String, _data: Vec<u8>) -> Result<Result<Vec<u8>, Error>> {
        Ok(Err(self.no_secret(&name)))
    }
}

impl State {
    fn no_secret(&self, name: &str) -> Error {
        match self.granted(&format!("secret:{name}")) {
            Err(refusal) => refusal,
            Ok(()) => Error::new(ErrorKind::NotFound, format!("there is no secret `{name}`")),
        }
    }
}
