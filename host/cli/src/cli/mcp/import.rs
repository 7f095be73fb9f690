//! `mcp import`: the `mcpServers` of other programs.

use super::section;
use anyhow::{Context, Result, bail};
use bub_config::{Config, McpServer, check_mcp_name};
use bub_egress::secret::{NewValue, Secrets, Value as SecretValue, placeholder};
use bub_system::files::read_text;
use bub_types::text::line;
use reqwest::Url;
use serde_json::{Map, Value};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The largest file, in bytes, and the most servers in it.
const MAX_FILE: usize = 1 << 20;
const MAX_SERVERS: usize = 64;

/// Parts of names whose values are taken for secrets.
const SECRET_NAMES: [&str; 6] = ["key", "token", "secret", "password", "credential", "authorization"];

/// The keys of a server that are carried over, or say nothing beyond them.
const KNOWN: [&str; 10] =
    ["command", "args", "env", "url", "serverUrl", "headers", "cwd", "type", "disabled", "enabled"];

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// File with `mcpServers` (or `servers`) in JSON
    file: PathBuf,
}

pub(super) fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let shown = arguments.file.display();
    let (text, _) = read_text(&arguments.file, MAX_FILE)
        .map_err(anyhow::Error::msg)?
        .with_context(|| format!("there is no file `{shown}`"))?;
    bub_runtime::plugin::check_json(&text).map_err(|why| anyhow::anyhow!("`{shown}` is {why}"))?;
    let file: Value = serde_json::from_str(&text).with_context(|| format!("`{shown}` is no JSON"))?;
    let servers = ["mcpServers", "servers"].iter().find_map(|key| file.get(key)?.as_object());
    let servers = servers.with_context(|| format!("`{shown}` has no object `mcpServers`"))?;
    if servers.len() > MAX_SERVERS {
        bail!("`{shown}` has {} servers; at most {MAX_SERVERS} are taken", servers.len());
    }
    let mut import = Import { config, secrets: secrets(config)?, added: Vec::new(), notes: Vec::new() };
    for (name, server) in servers {
        import.take(name, server);
    }
    let mut out = std::io::stdout();
    for note in &import.notes {
        writeln!(out, "{}", line(note))?;
    }
    for name in &import.added {
        writeln!(
            out,
            "server `{name}` is added; to see its tools and accept them: bub-wasm mcp check {name} --accept"
        )?;
    }
    let is_empty = import.added.is_empty() && !servers.is_empty();
    Ok(if is_empty { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn secrets(config: &Config) -> Result<Secrets> {
    let environment = bub_system::environment::all()
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Secrets::load(&config.home, environment)?)
}

/// An import under way.
struct Import<'a> {
    config: &'a Config,
    secrets: Secrets,
    added: Vec<String>,
    /// Lines about what is not carried over as it is.
    notes: Vec<String>,
}

impl Import<'_> {
    /// Adds a server, or says why not.
    fn take(&mut self, written: &str, server: &Value) {
        let name = own_name(written);
        let outcome = check_mcp_name(&name).and_then(|()| {
            let table = server.as_object().context("it is no object")?;
            if self.config.mcp.contains_key(&name) || self.added.contains(&name) {
                bail!("`[mcp.{name}]` is in config.toml already");
            }
            let mut notes = Vec::new();
            // Refused before its secrets are stored.
            let plain = read(table, &mut notes)?;
            plain.check()?;
            let server = self.keep_secrets(&name, plain, &mut notes)?;
            section::add(self.config, &name, &server)?;
            Ok(notes)
        });
        match outcome {
            Ok(notes) => {
                if name != written {
                    self.notes.push(format!("server `{written}` is called `{name}` here"));
                }
                self.notes.extend(notes.into_iter().map(|note| format!("server `{name}`: {note}")));
                self.added.push(name);
            }
            Err(error) => self.notes.push(format!("server `{written}` is left out: {error:#}")),
        }
    }

    /// Puts values that are keys by their names among the secrets, and placeholders in their place.
    fn keep_secrets(&mut self, name: &str, mut server: McpServer, notes: &mut Vec<String>) -> Result<McpServer> {
        let host = server.url.as_deref().and_then(|url| Url::parse(url).ok()?.host_str().map(str::to_owned));
        let hosts: Vec<String> = host.into_iter().collect();
        for (what, hosts, values) in [("env", &[][..], &mut server.env), ("headers", &hosts[..], &mut server.headers)] {
            for (key, value) in values.iter_mut().filter(|(key, value)| is_secret(key) && !value.contains("{{")) {
                // `Bearer KEY`: the word stays.
                let (front, key_text) = value.rsplit_once(' ').map_or(("", value.as_str()), |(word, key)| (word, key));
                let (front, key_text) = (front.to_owned(), key_text.to_owned());
                let secret = secret_name(name, key);
                match self.secrets.set(&secret, NewValue::Text(SecretValue::new(key_text)), hosts) {
                    Ok(()) => {
                        let placeholder = placeholder(&secret)?;
                        *value = if front.is_empty() { placeholder } else { format!("{front} {placeholder}") };
                        notes.push(format!("`{what}.{key}` is the secret `{secret}` now"));
                    }
                    Err(error) => notes.push(format!("`{what}.{key}` stays in config.toml: {error}")),
                }
            }
        }
        Ok(server)
    }
}

/// A server as other programs write it.
fn read(table: &Map<String, Value>, notes: &mut Vec<String>) -> Result<McpServer> {
    let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
    if table.get("type").and_then(Value::as_str) == Some("sse") {
        bail!(
            "it speaks the transport `sse`, which is not supported; most servers have an address for streamable HTTP too"
        );
    }
    let is_off = table.get("disabled") == Some(&Value::Bool(true)) || table.get("enabled") == Some(&Value::Bool(false));
    let mut server = McpServer {
        enabled: !is_off,
        command: text("command"),
        url: text("url").or_else(|| text("serverUrl")),
        directory: text("cwd"),
        ..McpServer::default()
    };
    for argument in table.get("args").and_then(Value::as_array).into_iter().flatten() {
        server.args.push(argument.as_str().context("an argument is no text")?.to_owned());
    }
    for (key, values) in [("env", &mut server.env), ("headers", &mut server.headers)] {
        for (name, value) in table.get(key).and_then(Value::as_object).into_iter().flatten() {
            let value = match value {
                Value::String(value) => value.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => bail!("`{key}.{name}` is no text"),
            };
            if value.contains("${") {
                notes.push(format!(
                    "`{key}.{name}` refers to a variable, which is not carried over: store it by `bub-wasm secret set`, \
                     and write `{{{{secret:NAME}}}}`"
                ));
                continue;
            }
            values.insert(name.clone(), value);
        }
    }
    if server.args.iter().chain(&server.command).any(|text| text.contains("${")) {
        notes.push("`${...}` in its command is not replaced: write what it stands for into config.toml".to_owned());
    }
    for key in table.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
        notes.push(format!("`{key}` is not carried over"));
    }
    Ok(server)
}

/// The nearest name that a server may have here.
fn own_name(written: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = written.chars().take(24).map(plain).collect();
    name.trim_matches('-').to_owned()
}

fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| key.contains(part))
}

fn secret_name(server: &str, key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = format!("mcp-{server}-").chars().chain(key.chars().map(plain)).take(60).collect();
    name.trim_end_matches('-').to_owned()
}
