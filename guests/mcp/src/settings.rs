//! What the host says of a server: a key of the configuration, made of `[mcp.NAME]` and of the list that the user has accepted.

use bub_guest::{Error, Result, config};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Settings {
    /// The address; none: the server is a program.
    pub url: Option<String>,
    /// Headers, with placeholders of secrets.
    pub headers: BTreeMap<String, String>,
    /// The revision of the protocol that the user wants.
    pub protocol: Option<String>,
    timeout_seconds: u64,
    /// SHA-256 of the list that was accepted.
    pub digest: Option<String>,
    /// The server's own names of the tools that were accepted, by the names here.
    pub tools: BTreeMap<String, String>,
}

impl Settings {
    /// The settings of a server.
    ///
    /// # Errors
    ///
    /// `not-found`, if there is none of that name.
    pub fn load(server: &str) -> Result<Self> {
        let missing = || Error::not_found(format!("there is no server `[mcp.{server}]` in config.toml"));
        config::get(&format!("server.{server}"))?.ok_or_else(missing)
    }

    /// The longest time for a call.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.max(1))
    }
}
