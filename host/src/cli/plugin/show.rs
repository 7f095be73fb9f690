//! `plugin list` and `plugin inspect`.

use super::grants::given;
use super::{powers, report};
use crate::grants::{hook_grant, shell_word};
use crate::host::Host;
use crate::plugin::{Held, Plugin, PluginSet, grant_command, one_line};
use anyhow::Result;
use serde_json::{Value, json};
use std::io::Write;

/// All plugins, those that did not load or are not run, and those in quarantine.
pub(super) fn list_json(host: &Host, plugins: &PluginSet) -> Value {
    let all: Vec<Value> = plugins.iter().map(|plugin| describe(host, plugin)).collect();
    let untrusted = plugins.untrusted.iter();
    let untrusted = untrusted.map(|file| json!({ "name": file.name, "file": file.path, "digest": file.digest }));
    let untrusted: Vec<Value> = untrusted.collect();
    let held: Vec<Value> = host.quarantined().iter().map(describe_held).collect();
    json!({ "plugins": all, "failed": failed(plugins), "untrusted": untrusted, "quarantined": held })
}

/// All that there is to know of a plugin.
pub(super) fn describe(host: &Host, plugin: &Plugin) -> Value {
    let given = given(host, plugin);
    let wants = plugin.wanted().into_iter().map(|grant| {
        json!({ "grant": grant, "why": plugin.why(&grant), "means": powers::of_grant(&grant), "held": given.allow(&grant) })
    });
    json!({
        "name": plugin.name,
        "source": plugin.source.name(),
        "version": plugin.manifest.version,
        "about": plugin.manifest.about,
        "digest": plugin.digest,
        "hooks": plugin.hooks,
        "tools": plugin.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "commands": plugin.commands.iter().map(|command| json!({ "name": command.name, "about": command.about })).collect::<Vec<_>>(),
        "provider": plugin.provider,
        "wants": wants.collect::<Vec<_>>(),
        "grants": given.iter().collect::<Vec<_>>(),
        "imports": plugin.imports(),
        "dangers": powers::dangers(plugin, &plugin.wanted()),
        "other_bytes": host.ledger.is_for_other_bytes(plugin),
    })
}

fn describe_held(held: &Held) -> Value {
    json!({
        "plugin": held.plugin,
        "digest": held.digest,
        "hook": held.hook,
        "session": held.session,
        "seconds": held.left.as_secs(),
        "fault": held.fault,
    })
}

fn failed(plugins: &PluginSet) -> Vec<Value> {
    plugins.failed.iter().map(|(plugin, reason)| json!({ "plugin": plugin, "reason": reason })).collect()
}

pub(super) fn list(out: &mut impl Write, host: &Host, plugins: &PluginSet) -> Result<()> {
    for plugin in plugins.iter() {
        let missing = host.ledger.missing(plugin);
        writeln!(out, "{:<12} {:<9} {}", plugin.name, plugin.source.name(), plugin.hooks.join(" "))?;
        if !plugin.commands.is_empty() {
            let commands: Vec<&str> = plugin.commands.iter().map(|command| command.name.as_str()).collect();
            writeln!(out, "{:12} commands: {}", "", commands.join(" "))?;
        }
        if host.ledger.is_for_other_bytes(plugin) {
            writeln!(out, "{:12} its grants are not for these bytes", "")?;
        }
        if !missing.is_empty() {
            writeln!(out, "{:12} wants: {}", "", grant_command(&plugin.name, &missing))?;
        }
    }
    for (plugin, reason) in &plugins.failed {
        writeln!(out, "{plugin:<12} did not load: {reason}")?;
    }
    for held in host.quarantined() {
        writeln!(out, "{:<12} hook `{}` is {held}", held.plugin, held.hook)?;
    }
    for file in &plugins.untrusted {
        let (name, path) = (one_line(&file.name), shell_word(&file.path.to_string_lossy()));
        writeln!(out, "{name:<12} workspace is not run; if you trust it: bub-wasm plugin trust {path}")?;
    }
    Ok(())
}

pub(super) fn inspect(out: &mut impl Write, host: &Host, plugin: &Plugin) -> Result<()> {
    writeln!(out, "{}{} ({})", plugin.name, report::version(plugin), plugin.source.name())?;
    report::about(out, plugin)?;
    writeln!(out, "digest: {}", plugin.digest)?;
    report::hooks(out, plugin)?;
    report::abilities(out, plugin)?;
    let (given, wanted) = (given(host, plugin), plugin.wanted());
    for grant in &wanted {
        let mark = if given.allow(grant) { "holds" } else { "wants" };
        // What its hooks see stands above.
        let power = match plugin.hooks.iter().any(|hook| hook_grant(hook) == *grant) {
            true => String::new(),
            false => format!(": {}{}", powers::of_grant(grant), report::because(plugin, grant)),
        };
        writeln!(out, "{mark} {}{power}", one_line(grant))?;
    }
    for grant in given.iter().filter(|grant| !wanted.iter().any(|wanted| wanted == grant)) {
        writeln!(out, "given {}", one_line(grant))?;
    }
    report::dangers(out, plugin, &wanted)?;
    if host.ledger.is_for_other_bytes(plugin) {
        let command = grant_command(&plugin.name, &host.ledger.missing(plugin));
        writeln!(out, "its bytes are not those that its grants were given to; {command} confirms them")?;
    }
    Ok(())
}
