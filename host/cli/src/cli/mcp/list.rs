//! `mcp list`: the servers of config.toml. None of them is started.

use crate::cli::text;
use anyhow::Result;
use bub_config::{Config, McpServer, McpTransport};
use bub_runtime::plugin::McpList;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let servers: Vec<Value> = config.mcp.iter().map(|(name, server)| as_json(config, name, server)).collect();
        writeln!(out, "{}", text::json(&json!({ "servers": servers })))?;
        return Ok(ExitCode::SUCCESS);
    }
    if config.mcp.is_empty() {
        writeln!(out, "no server is configured: `bub-wasm mcp add NAME` adds one")?;
    }
    for (name, server) in &config.mcp {
        let state = match State::new(config, name, server) {
            State::Off => "off".to_owned(),
            State::Open => "no tools accepted".to_owned(),
            State::Broken(why) => text::line(&why),
            State::Accepted(tools) => text::count(tools as u64, "tool", "tools"),
        };
        writeln!(out, "{name:<24} {:<28} {}", text::cut(&state, 28), text::cut(&target(config, server), 60))?;
    }
    Ok(ExitCode::SUCCESS)
}

enum State {
    Off,
    Open,
    Broken(String),
    Accepted(usize),
}

impl State {
    fn new(config: &Config, name: &str, server: &McpServer) -> Self {
        match McpList::accepted(config, name, server) {
            _ if !server.enabled => Self::Off,
            Ok(Some(list)) => Self::Accepted(list.tools.len()),
            Ok(None) => Self::Open,
            Err(why) => Self::Broken(why),
        }
    }
}

/// The program with its arguments, or the address, without secrets.
fn target(config: &Config, server: &McpServer) -> String {
    let target = match server.transport() {
        Some(McpTransport::Program(command)) => {
            std::iter::once(command).chain(server.args.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
        }
        Some(McpTransport::Address(url)) => url.to_owned(),
        None => String::new(),
    };
    config.redact(&target)
}

fn as_json(config: &Config, name: &str, server: &McpServer) -> Value {
    let (state, tools, problem) = match State::new(config, name, server) {
        State::Off => ("off", Value::Null, Value::Null),
        State::Open => ("not_accepted", Value::Null, Value::Null),
        State::Broken(why) => ("broken", Value::Null, json!(why)),
        State::Accepted(tools) => ("accepted", json!(tools), Value::Null),
    };
    let kind = if server.command.is_some() { "program" } else { "address" };
    json!({
        "name": name,
        "kind": kind,
        "target": target(config, server),
        "state": state,
        "tools": tools,
        "problem": problem,
        "digest": server.digest,
    })
}
