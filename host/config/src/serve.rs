//! `[serve]` and `[[tokens]]`: settings and access tokens of the HTTP API.

use super::Quota;
use anyhow::{Result, bail, ensure};
use bub_types::Principal;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `[serve]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Serve {
    /// The listening address; default loopback.
    pub listen: SocketAddr,
    /// TLS certificate and key; none: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Whether a reverse proxy terminates TLS: plain connections beyond loopback are accepted, and its headers name the
    /// client.
    pub behind_proxy: bool,
    /// Accepted host names, in addition to loopback names and the listening address.
    pub hosts: Vec<String>,
    /// Web origins that may use the API; empty: none.
    pub origins: Vec<String>,
    /// Maximum concurrent turns.
    pub max_turns: usize,
    /// Maximum queued messages of all sessions.
    pub max_waiting: usize,
    /// Maximum queued messages of one session.
    pub max_waiting_per_session: usize,
    /// Plugin channels to serve: names, `all`, and `!NAME` to exclude one.
    pub enabled_channels: Vec<String>,
    /// Mebibytes for concurrent request bodies of owner and peer tokens.
    pub body_budget_mib: usize,
    /// The same for all other callers: anonymous tokens and webhooks.
    pub unknown_body_budget_mib: usize,
    /// Timeout in seconds for a request's head, its body, an idle connection and an unread answer.
    pub patience_seconds: u64,
    /// Seconds that turns may continue after the program is asked to stop.
    pub drain_seconds: u64,
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8420)),
            tls: None,
            behind_proxy: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            max_turns: 64,
            max_waiting: 1024,
            max_waiting_per_session: 64,
            enabled_channels: vec!["all".to_owned()],
            body_budget_mib: 128,
            unknown_body_budget_mib: 2,
            patience_seconds: 30,
            drain_seconds: 20,
        }
    }
}

impl Serve {
    /// Whether a plugin's channel is served.
    pub fn enables(&self, channel: &str) -> bool {
        let excluded = |name: &String| name.strip_prefix('!') == Some(channel);
        let named = |name: &String| name == "all" || name == channel;
        // Exclusions alone include all others.
        let only_excludes = self.enabled_channels.iter().all(|name| name.starts_with('!'));
        !self.enabled_channels.iter().any(excluded)
            && (self.enabled_channels.iter().any(named) || (only_excludes && !self.enabled_channels.is_empty()))
    }

    /// Rejects plain HTTP beyond loopback, unless `insecure_http` of the command line allows it.
    ///
    /// # Errors
    ///
    /// The listening address is beyond loopback, and there is no TLS.
    pub fn check_exposure(&self, insecure_http: bool) -> Result<()> {
        let is_local = self.listen.ip().to_canonical().is_loopback();
        ensure!(
            is_local || self.tls.is_some() || self.behind_proxy || insecure_http,
            "at `{}` tokens would cross the network in clear text: name a certificate and its key in `[serve.tls]` of \
             config.toml, or set `serve.behind_proxy = true` behind a proxy that ends TLS, or pass `--insecure-http`",
            self.listen
        );
        Ok(())
    }

    pub(super) fn check(&self) -> Result<()> {
        for (key, value) in [
            ("max_turns", self.max_turns),
            ("max_waiting", self.max_waiting),
            ("max_waiting_per_session", self.max_waiting_per_session),
            ("body_budget_mib", self.body_budget_mib),
            ("unknown_body_budget_mib", self.unknown_body_budget_mib),
            ("patience_seconds", usize::try_from(self.patience_seconds).unwrap_or(usize::MAX)),
        ] {
            ensure!(value > 0, "`serve.{key}` of config.toml: `0` is not a positive whole number");
        }
        Ok(())
    }
}

/// `[serve.tls]`: files in PEM; a path that is not absolute begins at `$BUB_HOME`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificate, followed by its chain.
    pub certificate: PathBuf,
    /// The private key, readable by the user only.
    pub key: PathBuf,
}

/// The scope of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Send messages to the agent.
    Turns,
    /// Read conversations and events.
    Read,
    /// Have the signed heads of a home witnessed.
    Witness,
    /// Everything, including commands.
    Admin,
}

impl Scope {
    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Read => "read",
            Self::Witness => "witness",
            Self::Admin => "admin",
        }
    }
}

/// An entry of `[[tokens]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The name of the bearer, which is the sender of their messages.
    pub name: String,
    /// SHA-256 of the token, in hex. The token itself is not stored.
    pub hash: String,
    /// Its scopes.
    pub scopes: BTreeSet<Scope>,
    /// Prefix of the session ids that it may access.
    #[serde(default)]
    pub session_prefix: String,
    /// The bearer's principal.
    #[serde(default = "anonymous", deserialize_with = "principal")]
    pub principal: Principal,
    /// The bearer's quota, which overrides `[quotas]`.
    #[serde(default)]
    pub quota: Quota,
}

fn anonymous() -> Principal {
    Principal::Anonymous
}

fn principal<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Principal, D::Error> {
    let name = String::deserialize(deserializer)?;
    match name.as_str() {
        "owner" => Ok(Principal::Owner),
        "peer" => Ok(Principal::Peer),
        "anonymous" => Ok(Principal::Anonymous),
        _ => Err(serde::de::Error::custom(format!("`{name}` is no principal: `owner`, `peer` or `anonymous`"))),
    }
}

pub(super) fn check_tokens(tokens: &[Token]) -> Result<()> {
    for (position, token) in tokens.iter().enumerate() {
        let name = &token.name;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        ensure!(
            (1..=64).contains(&name.len()) && name.chars().all(is_plain),
            "a token of config.toml is called `{}`: letters, digits, `.`, `_`, `-`, at most 64",
            name.escape_debug()
        );
        let is_hash = token.hash.len() == 64 && token.hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        ensure!(is_hash, "`hash` of token `{name}` is no SHA-256 in hex: `printf %s TOKEN | sha256sum` prints it");
        token.quota.check(&format!("tokens.{name}.quota"))?;
        ensure!(!token.scopes.is_empty(), "token `{name}` has no `scopes`: `turns`, `read`, `witness`, `admin`");
        if tokens.iter().take(position).any(|other| other.name == *name || other.hash == token.hash) {
            bail!("there are two tokens like `{name}` in config.toml: each needs a name and a hash of its own");
        }
    }
    Ok(())
}
