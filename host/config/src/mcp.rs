//! `[mcp.NAME]`: servers of the Model Context Protocol.

use super::Config;
use anyhow::{Context, Result, bail, ensure};
use bub_egress::{Target, secret};
use bub_permissions::Grant;
use bub_types::Effect;
use bub_types::text::escaped;
use reqwest::Url;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The longest name of a server, in bytes: it is a part of the names of its tools.
const MAX_NAME: usize = 24;

/// Servers that may be configured.
const MAX_SERVERS: usize = 64;

/// Seconds for a call where nothing is said, and the most.
const TIMEOUT: u64 = 60;
const MAX_TIMEOUT: u64 = 1800;

/// Revisions of the protocol that can be asked for.
pub const MCP_PROTOCOLS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// `[mcp.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpServer {
    /// Whether it is used.
    pub enabled: bool,
    /// The program that it is, started without a shell.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Variables of the program, in addition to those of [`super::Process`]. `{{secret:NAME}}` stands for a secret.
    pub env: BTreeMap<String, String>,
    /// The program's working directory; default: the user's home. `<workspace>` is the workspace, if it is trusted.
    pub directory: Option<String>,
    /// The address that it is, for streamable HTTP.
    pub url: Option<String>,
    /// Headers of each request. `{{secret:NAME}}` stands for a secret.
    pub headers: BTreeMap<String, String>,
    /// The revision of the protocol to speak; default: what the server says.
    pub protocol: Option<String>,
    /// Longest time for one call, in seconds.
    pub timeout_seconds: u64,
    /// Effects of tools by their names, `*` for all others.
    pub effects: BTreeMap<String, McpEffect>,
    /// Whether the server's own words about its tools may make their effects smaller.
    pub trust_annotations: bool,
    /// SHA-256 of the list of tools that the user has accepted, in hex.
    pub digest: Option<String>,
    /// That list itself, where it is in no file: of a server that a client brings for its session.
    #[serde(skip)]
    pub list: Option<String>,
}

/// An effect, as users write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpEffect {
    /// It reads.
    Read,
    /// It changes files or notes.
    Write,
    /// It sends data to others.
    Send,
    /// It runs programs.
    Run,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpTransport<'a> {
    /// A program, over its standard input and output.
    Program(&'a str),
    /// An address, over HTTP.
    Address(&'a str),
}

impl Default for McpServer {
    fn default() -> Self {
        Self {
            enabled: true,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            directory: None,
            url: None,
            headers: BTreeMap::new(),
            protocol: None,
            timeout_seconds: TIMEOUT,
            effects: BTreeMap::new(),
            trust_annotations: false,
            digest: None,
            list: None,
        }
    }
}

impl From<McpEffect> for Effect {
    fn from(effect: McpEffect) -> Self {
        match effect {
            McpEffect::Read => Self::Read,
            McpEffect::Write => Self::Write,
            McpEffect::Send => Self::Send,
            McpEffect::Run => Self::Run,
        }
    }
}

/// Checks the name of a server.
///
/// # Errors
///
/// The name is invalid. The error says what a name is.
pub fn check_mcp_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    ensure!(
        begins && name.len() <= MAX_NAME && name.chars().all(is_plain),
        "`{}` is no name of a server: it has at most {MAX_NAME} lower-case ASCII letters, digits and `-`, a letter or a \
         digit first",
        escaped(name, 40)
    );
    ensure!(
        Grant::program(name) != Grant::PROCESS_SANDBOXED,
        "`{name}` is no name of a server: `{}` is the grant for programs in a sandbox; choose another name",
        Grant::PROCESS_SANDBOXED
    );
    Ok(())
}

/// Checks all of them.
pub(super) fn check(servers: &BTreeMap<String, McpServer>) -> Result<()> {
    ensure!(
        servers.len() <= MAX_SERVERS,
        "config.toml has {} tables `[mcp.NAME]`; at most {MAX_SERVERS}",
        servers.len()
    );
    for (name, server) in servers {
        let table = || format!("`[mcp.{}]` of config.toml", escaped(name, 40));
        check_mcp_name(name).and_then(|()| server.check()).with_context(table)?;
    }
    Ok(())
}

impl McpServer {
    /// Checks what can be known without the server.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<()> {
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => bail!("it has `command` and `url`, and can have one of them"),
            (None, None) => bail!("it has neither `command` nor `url`"),
            (Some(command), None) => {
                ensure!(!command.trim().is_empty(), "`command` is empty");
                ensure!(self.headers.is_empty(), "`headers` go with `url`");
            }
            (None, Some(url)) => {
                target(url)?;
                let is_of_programs = self.args.is_empty() && self.env.is_empty() && self.directory.is_none();
                ensure!(is_of_programs, "`args`, `env` and `directory` go with `command`");
            }
        }
        for (name, value) in &self.env {
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            ensure!(is_name, "`env`: `{}` is not the name of a variable", escaped(name, 40));
            let is_own = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("BUB_"));
            ensure!(!is_own, "`env`: `{name}` is a variable of bub-wasm, which programs never get");
            secret::placeholders(value).with_context(|| format!("`env.{name}`"))?;
        }
        for (name, value) in &self.headers {
            let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            ensure!(
                !name.is_empty() && name.chars().all(is_token),
                "`headers`: `{}` is not the name of a header",
                escaped(name, 40)
            );
            ensure!(!value.chars().any(char::is_control), "`headers.{name}` has a control character in it");
            secret::placeholders(value).with_context(|| format!("`headers.{name}`"))?;
        }
        if let Some(protocol) = &self.protocol {
            ensure!(
                MCP_PROTOCOLS.contains(&protocol.as_str()),
                "`protocol`: `{}` is none of `{}`",
                escaped(protocol, 40),
                MCP_PROTOCOLS.join("`, `")
            );
        }
        ensure!(
            (1..=MAX_TIMEOUT).contains(&self.timeout_seconds),
            "`timeout_seconds`: `{}` is not between 1 and {MAX_TIMEOUT}",
            self.timeout_seconds
        );
        Ok(())
    }

    /// How it is reached; none before it was checked.
    pub fn transport(&self) -> Option<McpTransport<'_>> {
        match (&self.command, &self.url) {
            (Some(command), _) => Some(McpTransport::Program(command)),
            (None, Some(url)) => Some(McpTransport::Address(url)),
            (None, None) => None,
        }
    }

    /// The grant with which a plugin reaches it.
    pub fn grant(&self, name: &str) -> Option<Grant> {
        match self.transport()? {
            McpTransport::Program(_) => Some(Grant::program(name)),
            McpTransport::Address(url) => target(url).ok().map(Grant::http),
        }
    }

    /// The names of the secrets in its headers.
    pub fn header_secrets(&self) -> Vec<String> {
        self.headers.values().filter_map(|value| secret::placeholders(value).ok()).flatten().collect()
    }

    /// The longest time for one call.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// The effect that the user gave to that tool, by its own name.
    pub fn effect(&self, tool: &str) -> Option<Effect> {
        self.effects.get(tool).map(|effect| (*effect).into())
    }

    /// The effect of tools that the user does not name: `run`, unless `*` says otherwise.
    pub fn default_effect(&self) -> Effect {
        self.effects.get("*").map_or(Effect::Run, |effect| (*effect).into())
    }
}

impl Config {
    /// The file with the list of tools of a server that the user has accepted.
    pub fn mcp_list(&self, name: &str) -> PathBuf {
        self.home.join("mcp").join(format!("{name}.json"))
    }

    /// The servers that are switched on.
    pub fn mcp_servers(&self) -> impl Iterator<Item = (&str, &McpServer)> {
        self.mcp.iter().filter(|(_, server)| server.enabled).map(|(name, server)| (name.as_str(), server))
    }
}

/// The host of an address, as a grant names it.
fn target(url: &str) -> Result<Target> {
    let shown = escaped(url, 100);
    let parsed = Url::parse(url).with_context(|| format!("`url`: `{shown}` is no address"))?;
    ensure!(parsed.fragment().is_none(), "`url`: `{shown}` has a fragment");
    Target::from_url(&parsed)
        .with_context(|| format!("`url`: `{shown}` is no address with `https://` or `http://` and without a user name"))
}
