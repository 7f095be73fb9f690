//! `[serve]` and `[[tokens]]`: who may reach this program over HTTP, and how much of it.

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
    /// Where it listens. Beyond loopback only when this says so.
    pub listen: SocketAddr,
    /// What connections are encrypted with; none: they are not.
    pub tls: Option<TlsFiles>,
    /// A proxy on the way here ends TLS: connections beyond loopback may come unencrypted, and its headers say where from.
    pub behind_proxy: bool,
    /// Names that it answers to, beside those of loopback and the address that it listens at.
    pub hosts: Vec<String>,
    /// Origins whose pages may use the API; none: no page may.
    pub origins: Vec<String>,
    /// Turns that run at once.
    pub max_turns: usize,
    /// Messages that may wait for their turns, of all sessions together.
    pub max_waiting: usize,
    /// Messages that may wait in one session.
    pub max_waiting_per_session: usize,
    /// Channels of plugins that are served: names, `all`, and `!NAME` for one that is not.
    pub enabled_channels: Vec<String>,
    /// Mebibytes that bodies of requests may take at once, those of the owner's and peers' tokens.
    pub body_budget_mib: usize,
    /// The same for all other callers together: anonymous tokens, and webhooks of channels.
    pub unknown_body_budget_mib: usize,
    /// How long the head of a request may take, and its body, how long a connection may lie idle between two, and how long
    /// a client may leave an answer unread.
    pub patience_seconds: u64,
    /// How long turns may go on once the program is told to stop.
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
    /// Whether that channel of a plugin is served.
    pub fn enables(&self, channel: &str) -> bool {
        let excluded = |name: &String| name.strip_prefix('!') == Some(channel);
        let named = |name: &String| name == "all" || name == channel;
        // Who only says what is not to be served wants the others.
        let only_excludes = self.enabled_channels.iter().all(|name| name.starts_with('!'));
        !self.enabled_channels.iter().any(excluded)
            && (self.enabled_channels.iter().any(named) || (only_excludes && !self.enabled_channels.is_empty()))
    }

    /// Refuses to send tokens and conversations in clear text over a network, unless the user has said that this is meant:
    /// `insecure_http` is what the command line says.
    ///
    /// # Errors
    ///
    /// It listens beyond loopback, and nothing encrypts.
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
    /// The certificate, and behind it those that lead to a root.
    pub certificate: PathBuf,
    /// Its private key, which only the user may read.
    pub key: PathBuf,
}

/// What a token lets its bearer do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Say something to the agent.
    Turns,
    /// Read conversations, and what the program does.
    Read,
    /// Everything, commands included.
    Admin,
}

impl Scope {
    /// As it is written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }
}

/// One of `[[tokens]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// What its bearer is called: the sender of what they say.
    pub name: String,
    /// SHA-256 of the token, in hex. The token itself stands nowhere.
    pub hash: String,
    /// What it lets its bearer do.
    pub scopes: BTreeSet<Scope>,
    /// Sessions that it reaches: those whose ids begin so.
    #[serde(default)]
    pub session_prefix: String,
    /// Who its bearer is to this program.
    #[serde(default = "anonymous", deserialize_with = "principal")]
    pub principal: Principal,
    /// What its bearer may take, where that differs from `[quotas]`.
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
        ensure!(!token.scopes.is_empty(), "token `{name}` has no `scopes`: `turns`, `read`, `admin`");
        if tokens.iter().take(position).any(|other| other.name == *name || other.hash == token.hash) {
            bail!("there are two tokens like `{name}` in config.toml: each needs a name and a hash of its own");
        }
    }
    Ok(())
}
