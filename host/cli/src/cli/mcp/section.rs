//! A server as a table of config.toml.

use anyhow::{Result, ensure};
use bub_config::{Config, McpEffect, McpServer, check_mcp_name, edit};
use toml_edit::{Item, Table, value};

/// Writes a new `[mcp.NAME]`. The rest of the file stays as it is.
///
/// # Errors
///
/// There is a server of that name, or the server is not what a server can be.
pub(super) fn add(config: &Config, name: &str, server: &McpServer) -> Result<()> {
    server.check()?;
    edit::edit(&config.file(), |document| {
        let is_there = document.get("mcp").and_then(|servers| servers.get(name)).is_some();
        ensure!(
            !is_there && !config.mcp.contains_key(name),
            "`[mcp.{name}]` is in config.toml already: change it there, or `bub-wasm mcp remove {name}` first"
        );
        write(edit::mcp(document, name)?, server);
        Ok(())
    })
}

/// Writes the digest of the list that was accepted.
///
/// # Errors
///
/// The file cannot be written, or has no such server any more.
pub(super) fn accept(config: &Config, name: &str, digest: &str) -> Result<()> {
    edit::edit(&config.file(), |document| {
        let is_there = document.get("mcp").and_then(|servers| servers.get(name)).is_some();
        ensure!(is_there, "`[mcp.{name}]` is not in config.toml any more");
        edit::mcp(document, name)?["digest"] = value(digest);
        Ok(())
    })
}

fn write(table: &mut Table, server: &McpServer) {
    let default = McpServer::default();
    if !server.enabled {
        table["enabled"] = value(false);
    }
    for (key, text) in [
        ("command", &server.command),
        ("url", &server.url),
        ("directory", &server.directory),
        ("protocol", &server.protocol),
    ] {
        if let Some(text) = text {
            table[key] = value(text.as_str());
        }
    }
    if !server.args.is_empty() {
        edit::set_list(table, "args", server.args.iter().map(String::as_str));
    }
    if server.timeout_seconds != default.timeout_seconds {
        table["timeout_seconds"] = value(i64::try_from(server.timeout_seconds).unwrap_or(i64::MAX));
    }
    if server.trust_annotations {
        table["trust_annotations"] = value(true);
    }
    let texts = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(key, text)| (key.clone(), text.clone())).collect::<Vec<_>>()
    };
    let effects = server.effects.iter().map(|(tool, effect)| (tool.clone(), effect_name(*effect).to_owned()));
    for (key, rows) in
        [("env", texts(&server.env)), ("headers", texts(&server.headers)), ("effects", effects.collect())]
    {
        if !rows.is_empty() {
            let mut inner = Table::new();
            rows.into_iter().for_each(|(key, text)| drop(inner.insert(&key, value(text))));
            table.insert(key, Item::Table(inner));
        }
    }
}

/// An effect as it is written.
pub(super) fn effect_name(effect: McpEffect) -> &'static str {
    match effect {
        McpEffect::Read => "read",
        McpEffect::Write => "write",
        McpEffect::Send => "send",
        McpEffect::Run => "run",
    }
}

/// The line about a server that is not configured.
pub(super) fn unknown(config: &Config, name: &str) -> String {
    let hint = bub_types::suggest::hint(name, config.mcp.keys().map(String::as_str));
    format!("there is no server `[mcp.{name}]` in config.toml{hint}; `bub-wasm mcp list` shows those that there are")
}

/// Checks the name of a server on the command line.
pub(super) fn name(text: &str) -> Result<String, String> {
    check_mcp_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}
