//! Edits of config.toml by commands, which preserve comments and order.

use super::Section;
use anyhow::{Context, Result};
use bub_permissions::policy::commands::CommandRule;
use bub_system::files::{Draft, make_private_dir, read_text};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value};

const TRUSTED: &str = "trusted_plugins";

/// Edits the file atomically: a reader sees the old or the new content.
///
/// # Errors
///
/// The file is not TOML, or cannot be written.
pub fn edit(path: &Path, change: impl FnOnce(&mut DocumentMut) -> Result<()>) -> Result<()> {
    let mut document = read(path)?;
    change(&mut document)?;
    write(path, &document.to_string()).with_context(|| format!("`{}` cannot be written", path.display()))
}

fn read(path: &Path) -> Result<DocumentMut> {
    let read = read_text(path, super::file::MAX_FILE).map_err(anyhow::Error::msg)?;
    let text = read.map(|(text, _)| text).unwrap_or_default();
    text.parse().map_err(|_| anyhow::anyhow!("`{}` is not TOML; fix it first", path.display()))
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mode = fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777).unwrap_or(0o600);
    path.parent().map_or(Ok(()), make_private_dir)?;
    let mut draft = Draft::new(path, mode)?;
    draft.write_all(text.as_bytes())?;
    draft.publish_durably()
}

/// The table `[plugins.NAME]`, created if missing.
pub fn plugin<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut Table> {
    let plugins = document.entry("plugins").or_insert_with(implicit_table);
    let plugins = plugins.as_table_mut().context("`plugins` in config.toml is not a table")?;
    let plugin = plugins.entry(name).or_insert_with(|| Item::Table(Table::new()));
    plugin.as_table_mut().with_context(|| format!("`plugins.{name}` in config.toml is not a table"))
}

/// Reads `[plugins.NAME]`; an empty table if missing.
///
/// # Errors
///
/// The file is not TOML, or cannot be read.
pub fn read_plugin(path: &Path, name: &str) -> Result<Table> {
    let document = read(path)?;
    let plugin = document.get("plugins").and_then(|plugins| plugins.get(name)).and_then(Item::as_table_like);
    Ok(plugin.map(|plugin| plugin.iter().map(|(key, item)| (key, item.clone())).collect()).unwrap_or_default())
}

/// Reads the table; `None` if it is missing.
pub(super) fn read_section(path: &Path, section: Section<'_>) -> Result<Option<Table>> {
    let document = read(path)?;
    let (table, name) = match section {
        Section::Plugin(name) => ("plugins", name),
        Section::Trusted(digest) => (TRUSTED, digest),
    };
    let found = document.get(table).and_then(|table| table.get(name)).and_then(Item::as_table_like);
    Ok(found.map(|table| table.iter().map(|(key, item)| (key, item.clone())).collect()))
}

/// Removes `[plugins.NAME]`.
pub fn drop_plugin(document: &mut DocumentMut, name: &str) {
    if let Some(plugins) = document.get_mut("plugins").and_then(Item::as_table_mut) {
        plugins.remove(name);
    }
}

/// The table `[mcp.NAME]`, created if missing.
///
/// # Errors
///
/// `mcp` or `mcp.NAME` is something else than a table.
pub fn mcp<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut Table> {
    let servers = document.entry("mcp").or_insert_with(implicit_table);
    let servers = servers.as_table_mut().context("`mcp` in config.toml is not a table")?;
    let server = servers.entry(name).or_insert_with(|| Item::Table(Table::new()));
    server.as_table_mut().with_context(|| format!("`mcp.{name}` in config.toml is not a table"))
}

/// Removes `[mcp.NAME]`. `false`: it was missing.
pub fn drop_mcp(document: &mut DocumentMut, name: &str) -> bool {
    let servers = document.get_mut("mcp").and_then(Item::as_table_mut);
    servers.is_some_and(|servers| servers.remove(name).is_some())
}

/// The table `[trusted_plugins.DIGEST]`, created if missing.
pub fn trusted<'a>(document: &'a mut DocumentMut, digest: &str) -> Result<&'a mut Table> {
    let trusted = document.entry(TRUSTED).or_insert_with(implicit_table);
    let trusted = trusted.as_table_mut().context("`trusted_plugins` in config.toml is not a table")?;
    let plugin = trusted.entry(digest).or_insert_with(|| Item::Table(Table::new()));
    plugin.as_table_mut().with_context(|| format!("`trusted_plugins.{digest}` in config.toml is not a table"))
}

/// Removes `[trusted_plugins.DIGEST]`. `false`: it was missing.
pub fn distrust(document: &mut DocumentMut, digest: &str) -> bool {
    let trusted = document.get_mut(TRUSTED).and_then(Item::as_table_mut);
    trusted.is_some_and(|trusted| trusted.remove(digest).is_some())
}

/// Adds a rule to `[[process.rules]]`, unless it is there.
///
/// # Errors
///
/// `process` or `process.rules` is something else than tables.
pub fn add_rule(document: &mut DocumentMut, rule: &CommandRule) -> Result<()> {
    let process = document.entry("process").or_insert_with(implicit_table);
    let process = process.as_table_like_mut().context("`process` in config.toml is not a table")?;
    let rules = process.entry("rules").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let mut table = Table::new();
    table["prefix"] = toml_edit::value(rule.prefix.iter().map(String::as_str).collect::<Array>());
    table["decision"] = toml_edit::value(rule.decision.name());
    for (key, _) in [("exact", rule.exact), ("tainted", rule.tainted), ("outside", rule.outside)]
        .into_iter()
        .filter(|(_, is_set)| *is_set)
    {
        table[key] = toml_edit::value(true);
    }
    match rules {
        Item::ArrayOfTables(rules) if rules.iter().any(|known| known.to_string() == table.to_string()) => {}
        Item::ArrayOfTables(rules) => rules.push(table),
        Item::Value(Value::Array(rules)) => rules.push(table.into_inline_table()),
        _ => anyhow::bail!("`process.rules` in config.toml is not a list of rules"),
    }
    Ok(())
}

/// Adds a host to `allow_hosts` of `[process]`.
///
/// # Errors
///
/// `process` is not a table, or `allow_hosts` in it is not a list of strings.
pub fn allow_host(document: &mut DocumentMut, host: &str) -> Result<()> {
    let process = document.entry("process").or_insert_with(|| Item::Table(Table::new()));
    let process = process.as_table_mut().context("`process` in config.toml is not a table")?;
    let not_list = "`process.allow_hosts` in config.toml is not a list of hosts";
    let list = process.entry("allow_hosts").or_insert_with(|| toml_edit::value(Array::new()));
    let list = list.as_array_mut().context(not_list)?;
    if !list.iter().any(|known| known.as_str() == Some(host)) {
        list.push(host);
    }
    Ok(())
}

/// Sets `key` to a list of strings, one per line when there are many.
pub fn set_list<'a>(table: &mut Table, key: &str, values: impl IntoIterator<Item = &'a str>) {
    let mut list: Array = values.into_iter().collect();
    if list.len() > 3 {
        for value in list.iter_mut() {
            value.decor_mut().set_prefix("\n    ");
        }
        list.set_trailing("\n");
        list.set_trailing_comma(true);
    }
    table[key] = toml_edit::value(list);
}

fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}
