//! `plugin`: what is loaded, what it wants, what it may do.

mod trust;

use crate::channel::Printer;
use crate::config::{Config, edit};
use crate::grants::{Grants, shell_word};
use crate::host::Host;
use crate::plugin::{CALLED_BY_NAME, Held, Plugin, PluginSet, Source, one_line};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show all plugins: where they come from, what they answer, what they may do
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one plugin: version, digest, hooks, tools, commands, what it wants and what it has
    Inspect {
        /// The plugin's name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a plugin grants; they hold for the bytes that it has now
    Grant {
        /// The plugin's name
        name: String,
        /// The grants, as in `hook:build-prompt` or `tape:read`; none: all that it wants
        grants: Vec<String>,
        /// Let the grants hold for whatever bytes come under this name: for what you build yourself
        #[arg(long)]
        follow: bool,
    },
    /// Let a plugin that a workspace brings along run: these bytes, in whichever workspace they lie
    Trust(trust::Arguments),
    /// Ask a plugin again that kept breaking, without waiting for the end of its pause
    Release {
        /// The plugin's name, or the digest of its bytes
        name: String,
    },
    /// Take grants away; a turn that runs notices at its next call
    Revoke {
        /// The plugin's name
        name: String,
        /// The grants; none: all
        grants: Vec<String>,
    },
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    // Before anything is loaded: a file is read for its digest, and no more.
    if let Command::Trust(arguments) = &arguments.command {
        return trust::run(arguments, &config);
    }
    let host = Host::start(config, workspace, Box::new(Printer::default())).await?;
    let plugins = host.plugins();
    let mut out = std::io::stdout().lock();
    match arguments.command {
        Command::List { json: true } => {
            let all: Vec<Value> = plugins.iter().map(|plugin| describe(&host, plugin)).collect();
            let untrusted = plugins.untrusted.iter();
            let untrusted =
                untrusted.map(|file| json!({ "name": file.name, "file": file.path, "digest": file.digest }));
            let untrusted: Vec<Value> = untrusted.collect();
            let held: Vec<Value> = host.quarantined().iter().map(describe_held).collect();
            let all =
                json!({ "plugins": all, "failed": failed(&plugins), "untrusted": untrusted, "quarantined": held });
            writeln!(out, "{all:#}")?;
        }
        Command::List { json: false } => list(&mut out, &host, &plugins)?,
        Command::Inspect { name, json } => {
            let plugin = find(&plugins, &name)?;
            match json {
                true => writeln!(out, "{:#}", describe(&host, plugin))?,
                false => inspect(&mut out, &host, plugin)?,
            }
        }
        Command::Grant { name, grants, follow } => grant(&mut out, &host, find(&plugins, &name)?, grants, follow)?,
        Command::Release { name } => match host.release(&name)? {
            0 => bail!(
                "plugin `{name}` is not in quarantine{}",
                crate::nearest::hint(&name, held_names(&host).iter().map(String::as_str))
            ),
            _ => writeln!(out, "plugin `{name}` is asked again")?,
        },
        Command::Trust(arguments) => return trust::run(&arguments, &host.config),
        Command::Revoke { name, grants } => revoke(&mut out, &host, find(&plugins, &name)?, &grants)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn find<'a>(plugins: &'a PluginSet, name: &str) -> Result<&'a Arc<Plugin>> {
    if let Some((_, reason)) = plugins.failed.iter().find(|(failed, _)| failed == name) {
        bail!("plugin `{name}` did not load: {reason}");
    }
    let found = plugins.iter().find(|plugin| plugin.name == name);
    found.with_context(|| {
        let hint = crate::nearest::hint(name, plugins.iter().map(|plugin| plugin.name.as_str()));
        format!("there is no plugin `{name}`{hint}")
    })
}

/// All that it wants: what its manifest asks for, and every hook that it exports.
fn wanted(plugin: &Plugin) -> Vec<String> {
    let mut wants: Vec<String> = plugin.manifest.wants.iter().map(|want| want.grant.clone()).collect();
    if plugin.wants.is_none() {
        let hooks = plugin.hooks.iter().filter(|hook| !CALLED_BY_NAME.contains(hook));
        wants.extend(hooks.map(|hook| crate::grants::hook_grant(hook)));
    }
    wants
}

fn given(host: &Host, plugin: &Plugin) -> Grants {
    host.ledger.given(plugin, Clone::clone)
}

fn describe(host: &Host, plugin: &Plugin) -> Value {
    let given = given(host, plugin);
    let wants = wanted(plugin).into_iter().map(|grant| {
        let why = plugin.manifest.wants.iter().find(|want| want.grant == grant).map(|want| want.why.as_str());
        json!({ "grant": grant, "why": why, "held": given.allow(&grant) })
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

fn held_names(host: &Host) -> Vec<String> {
    host.quarantined().into_iter().map(|held| held.plugin).collect()
}

fn failed(plugins: &PluginSet) -> Vec<Value> {
    plugins.failed.iter().map(|(plugin, reason)| json!({ "plugin": plugin, "reason": reason })).collect()
}

fn list(out: &mut impl Write, host: &Host, plugins: &PluginSet) -> Result<()> {
    for plugin in plugins.iter() {
        let given = given(host, plugin);
        let missing: Vec<String> = wanted(plugin).into_iter().filter(|grant| !given.allow(grant)).collect();
        writeln!(out, "{:<12} {:<9} {}", plugin.name, plugin.source.name(), plugin.hooks.join(" "))?;
        if !plugin.commands.is_empty() {
            let commands: Vec<&str> = plugin.commands.iter().map(|command| command.name.as_str()).collect();
            writeln!(out, "{:12} commands: {}", "", commands.join(" "))?;
        }
        if host.ledger.is_for_other_bytes(plugin) {
            writeln!(out, "{:12} its grants are not for these bytes", "")?;
        }
        if !missing.is_empty() {
            let missing: Vec<String> = missing.iter().map(|grant| shell_word(grant)).collect();
            writeln!(out, "{:12} wants: bub-wasm plugin grant {} {}", "", plugin.name, missing.join(" "))?;
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

fn inspect(out: &mut impl Write, host: &Host, plugin: &Plugin) -> Result<()> {
    let manifest = &plugin.manifest;
    writeln!(out, "{} {} ({})", plugin.name, manifest.version, plugin.source.name())?;
    if !manifest.about.is_empty() {
        writeln!(out, "{}", manifest.about)?;
    }
    writeln!(out, "digest: {}", plugin.digest)?;
    writeln!(out, "answers: {}", plugin.hooks.join(" "))?;
    if !plugin.tools.is_empty() {
        let tools: Vec<&str> = plugin.tools.iter().map(|tool| tool.name.as_str()).collect();
        writeln!(out, "tools: {}", tools.join(" "))?;
    }
    for command in &plugin.commands {
        let about = if command.about.is_empty() { String::new() } else { format!(": {}", command.about) };
        writeln!(out, "command {}{about}", command.name)?;
    }
    let given = given(host, plugin);
    for grant in wanted(plugin) {
        let mark = if given.allow(&grant) { "holds" } else { "wants" };
        let why = manifest.wants.iter().find(|want| want.grant == grant);
        let why = why.map(|want| format!(": {}", crate::plugin::one_line(&want.why))).unwrap_or_default();
        writeln!(out, "{mark} {grant}{why}")?;
    }
    for grant in given.iter().filter(|grant| !wanted(plugin).iter().any(|wanted| wanted == grant)) {
        writeln!(out, "given {grant}")?;
    }
    if host.ledger.is_for_other_bytes(plugin) {
        writeln!(
            out,
            "its bytes are not those that its grants were given to; `bub-wasm plugin grant {}` confirms them",
            plugin.name
        )?;
    }
    Ok(())
}

fn grant(out: &mut impl Write, host: &Host, plugin: &Plugin, grants: Vec<String>, follow: bool) -> Result<()> {
    if follow && plugin.source == Source::Workspace {
        bail!("plugin `{}` is the workspace's, and what it may do is for these bytes alone", plugin.name);
    }
    let grants = if grants.is_empty() { wanted(plugin) } else { grants };
    for grant in &grants {
        Grants::check(grant).map_err(|reason| anyhow::anyhow!("what was to be granted is {reason}"))?;
        if plugin.wants.as_ref().is_some_and(|wants| !wants.allow(grant)) {
            bail!("plugin `{}` does not ask for `{grant}`, so giving it would change nothing", plugin.name);
        }
    }
    // Grants that were given to other bytes are confirmed only by naming them again.
    let mut all = given(host, plugin);
    for grant in &grants {
        all.insert(grant);
    }
    write(host, plugin, &all, follow)?;
    writeln!(out, "plugin `{}` may now: {}", plugin.name, grants.join(" "))?;
    Ok(())
}

fn revoke(out: &mut impl Write, host: &Host, plugin: &Plugin, grants: &[String]) -> Result<()> {
    let held = given(host, plugin);
    let mut left = held.clone();
    let gone: Vec<&str> = match grants {
        [] => held.iter().collect(),
        grants => grants.iter().map(String::as_str).collect(),
    };
    for grant in &gone {
        if !left.remove(grant) {
            let hint = crate::nearest::hint(grant, held.iter());
            bail!("plugin `{}` was not given `{grant}`{hint}", plugin.name);
        }
    }
    write(host, plugin, &left, false)?;
    writeln!(out, "plugin `{}` no longer may: {}", plugin.name, gone.join(" "))?;
    Ok(())
}

fn write(host: &Host, plugin: &Plugin, grants: &Grants, follow: bool) -> Result<()> {
    edit::edit(&host.config.file(), |document| {
        // Of a stranger's file the name says nothing: what it may do stands where it is trusted.
        if plugin.source == Source::Workspace {
            edit::set_list(edit::trusted(document, &plugin.digest)?, "grants", grants.iter());
            return Ok(());
        }
        let table = edit::plugin(document, &plugin.name)?;
        edit::set_list(table, "grants", grants.iter());
        // The program's own guests change with the program, and no file can take their names.
        if plugin.source == Source::User {
            match follow || host.config.plugin(&plugin.name).follow {
                true => {
                    table["follow"] = toml_edit::value(true);
                    table.remove("digest");
                }
                false => table["digest"] = toml_edit::value(plugin.digest.as_str()),
            }
        }
        Ok(())
    })
}
