//! `plugin list` and `plugin inspect`.

use super::gate;
use super::report;
use anyhow::Result;
use bub_permissions::{Grant, shell_word};
use bub_registry::{Lock, Signer};
use bub_runtime::host::Host;
use bub_runtime::host::grant_edit::given;
use bub_runtime::imports::grant_risk;
use bub_runtime::plugin::{Plugin, PluginSet, Source, grant_command};
use bub_types::text::one_line;
use std::io::Write;

/// The least width of the names in a list.
const NAME_WIDTH: usize = 12;

pub(super) fn list(out: &mut impl Write, host: &Host, plugins: &PluginSet) -> Result<()> {
    let longest = plugins.iter().map(|plugin| plugin.name.len()).max().unwrap_or_default();
    let width = longest.clamp(NAME_WIDTH, 2 * NAME_WIDTH);
    for plugin in plugins.iter() {
        let missing = host.grants.missing(plugin);
        writeln!(out, "{:<width$} {:<9} {}", plugin.name, plugin.source.name(), plugin.hook_names().join(" "))?;
        if let Some(gate) = gate::of(plugin) {
            writeln!(out, "{:width$} is a gate: {gate}", "")?;
        }
        if !plugin.commands.is_empty() {
            let commands: Vec<&str> = plugin.commands.iter().map(|command| command.name.as_str()).collect();
            writeln!(out, "{:width$} commands: {}", "", commands.join(" "))?;
        }
        if host.grants.is_for_other_bytes(plugin) {
            writeln!(out, "{:width$} its grants are not for these bytes", "")?;
        }
        if !missing.is_empty() {
            writeln!(out, "{:width$} wants: {}", "", grant_command(&plugin.name, &missing))?;
        }
    }
    for (plugin, reason) in &plugins.failed {
        writeln!(out, "{plugin:<width$} did not load: {reason}")?;
    }
    for name in gate::absent(&host.config, |gate| plugins.iter().any(|plugin| plugin.name == gate)) {
        writeln!(out, "{name:<width$} is a gate and not there: {}", gate::away(name))?;
    }
    for held in host.quarantined() {
        writeln!(out, "{:<width$} hook `{}` is {held}", held.plugin, held.hook)?;
    }
    for file in &plugins.untrusted {
        let (name, path) = (one_line(&file.name), shell_word(&file.path.to_string_lossy()));
        writeln!(out, "{name:<width$} workspace is not run; if you trust it: bub-wasm plugin trust {path}")?;
    }
    Ok(())
}

/// Where the plugin came from and who has signed it, by plugins.lock.
fn origin(out: &mut impl Write, host: &Host, plugin: &Plugin) -> Result<()> {
    let Ok(lock) = Lock::read(&host.config.home) else { return Ok(()) };
    let Some(entry) = lock.entry(&plugin.name, &plugin.digest).filter(|_| plugin.source == Source::User) else {
        return Ok(());
    };
    writeln!(out, "source: {}", one_line(&entry.source))?;
    match entry.signer() {
        Some(author) => {
            let name = host.config.trust.name_of(&author).map(str::to_owned);
            Ok(writeln!(out, "signed by {}", Signer { author, name }.shown())?)
        }
        None => Ok(writeln!(out, "not signed")?),
    }
}

pub(super) fn inspect(out: &mut impl Write, host: &Host, plugin: &Plugin) -> Result<()> {
    writeln!(out, "{}{} ({})", plugin.name, report::version(plugin), plugin.source.name())?;
    report::about(out, plugin)?;
    writeln!(out, "digest: {}", plugin.digest)?;
    origin(out, host, plugin)?;
    if let Some(gate) = gate::of(plugin) {
        writeln!(out, "gate (`on_fault = \"deny\"`): {gate}")?;
    }
    report::hooks(out, plugin)?;
    report::abilities(out, plugin)?;
    let (given, wanted) = (given(host, plugin), plugin.wanted());
    for grant in &wanted {
        let mark = if given.allow(grant) { "holds" } else { "wants" };
        // Hooks are listed above with their data.
        let power = match plugin.hooks.iter().any(|hook| Grant::hook(*hook) == *grant) {
            true => String::new(),
            false => format!(": {}{}", grant_risk::of_grant(grant), report::because(plugin, grant)),
        };
        writeln!(out, "{mark} {}{power}", one_line(grant.as_str()))?;
    }
    for grant in given.iter().filter(|grant| !wanted.iter().any(|wanted| wanted == *grant)) {
        writeln!(out, "given {}", one_line(grant.as_str()))?;
    }
    report::dangers(out, plugin, &wanted)?;
    if host.grants.is_for_other_bytes(plugin) {
        let command = grant_command(&plugin.name, &host.grants.missing(plugin));
        writeln!(out, "its bytes are not those that its grants were given to; {command} confirms them")?;
    }
    Ok(())
}
