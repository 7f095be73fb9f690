//! `mcp add`: a new server.

use super::{offer, section};
use anyhow::{Context, Result, bail, ensure};
use bub_config::{Config, McpEffect, McpServer};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of the server, in `a-z`, `0-9` and `-`: its tools are called `mcp.NAME.TOOL`
    #[arg(value_parser = section::name)]
    name: String,
    /// Address of a server that speaks streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env", "directory"])]
    url: Option<String>,
    /// Header of each request; `{{secret:NAME}}` stands for a secret
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    headers: Vec<(String, String)>,
    /// Variable of the program; `{{secret:NAME}}` stands for a secret
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// Working directory of the program, an absolute path or `<workspace>` [default: your home directory]
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,
    /// Effect of a tool by its own name, or of all others with `*`: read, write, send or run [default: run]
    #[arg(long = "effect", value_name = "TOOL=EFFECT", value_parser = effect)]
    effects: Vec<(String, McpEffect)>,
    /// Believe the server where it says that its tools only read, or destroy nothing
    #[arg(long)]
    trust_annotations: bool,
    /// Longest time for one call, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Add it without asking it for its tools, which are then not used before `mcp check NAME --accept`
    #[arg(long)]
    no_check: bool,
    /// Program and arguments of a server that speaks over its standard input and output
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) async fn run(arguments: Arguments, config: &Config, workspace: &Path) -> Result<ExitCode> {
    let (name, is_checked) = (arguments.name.clone(), !arguments.no_check);
    let server = arguments.server()?;
    section::add(config, &name, &server).with_context(|| format!("server `{name}` is not added"))?;
    let mut out = std::io::stdout();
    writeln!(out, "`[mcp.{name}]` is in `{}` now", config.file().display())?;
    if !is_checked {
        writeln!(out, "to see its tools and accept them: bub-wasm mcp check {name} --accept")?;
        return Ok(ExitCode::SUCCESS);
    }
    let compared = offer::ask(&config.home, workspace, &name).await.with_context(|| {
        format!("server `{name}` is added, and its tools are not used before `bub-wasm mcp check {name} --accept`")
    })?;
    compared.write(&mut out, &server)?;
    compared.accept(config)?;
    writeln!(out, "these are accepted; if the server changes them, `bub-wasm mcp check {name}` shows how")?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn server(self) -> Result<McpServer> {
        let default = McpServer::default();
        let mut words = self.command.into_iter();
        let command = words.next();
        if command.is_none() && self.url.is_none() {
            bail!("a server is a program or an address: give `-- COMMAND ARG...` or `--url URL`");
        }
        ensure!(!(command.is_some() && self.url.is_some()), "a server is a program or an address, and not both");
        Ok(McpServer {
            command,
            args: words.collect(),
            env: self.env.into_iter().collect(),
            directory: self.directory,
            url: self.url,
            headers: self.headers.into_iter().collect(),
            timeout_seconds: self.timeout.unwrap_or(default.timeout_seconds),
            effects: self.effects.into_iter().collect::<BTreeMap<_, _>>(),
            trust_annotations: self.trust_annotations,
            ..default
        })
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it is not `NAME=VALUE`".to_owned()),
    }
}

fn effect(text: &str) -> Result<(String, McpEffect), String> {
    let (tool, effect) = pair(text).map_err(|_| "it is not `TOOL=EFFECT`".to_owned())?;
    let all = [McpEffect::Read, McpEffect::Write, McpEffect::Send, McpEffect::Run];
    let found = all.into_iter().find(|known| section::effect_name(*known) == effect);
    found.map(|effect| (tool, effect)).ok_or_else(|| "an effect is `read`, `write`, `send` or `run`".to_owned())
}
