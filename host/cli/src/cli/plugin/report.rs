//! The description of a plugin for its review before it is installed. Its texts are untrusted, so each goes through
//! [`one_line`].

use crate::cli::text::bytes;
use bub_permissions::Grant;
use bub_runtime::imports::grant_risk;
use bub_runtime::plugin::Plugin;
use bub_types::hook::Hook;
use bub_types::text::one_line;
use std::collections::BTreeSet;
use std::io::{Result, Write};

/// Prints the identity of the plugin, its hooks, its requested grants with their reasons, and the risks. `size`: of its
/// file, in bytes.
pub(super) fn write(out: &mut impl Write, plugin: &Plugin, size: u64) -> Result<()> {
    writeln!(out, "{}{}: {}, sha256 {}", plugin.name, version(plugin), bytes(size), plugin.digest)?;
    about(out, plugin)?;
    hooks(out, plugin)?;
    abilities(out, plugin)?;
    for grant in plugin.wanted() {
        // Hooks are listed above, with their data.
        if !plugin.hooks.iter().any(|hook| Grant::hook(*hook) == grant) {
            writeln!(
                out,
                "wants {}: {}{}",
                one_line(grant.as_str()),
                grant_risk::of_grant(&grant),
                because(plugin, &grant)
            )?;
        }
    }
    dangers(out, plugin, &plugin.wanted())
}

/// The description of the plugin.
pub(super) fn about(out: &mut impl Write, plugin: &Plugin) -> Result<()> {
    match one_line(&plugin.manifest.about) {
        about if about.is_empty() => Ok(()),
        about => writeln!(out, "{about}"),
    }
}

/// Its version after a space; empty if it has none.
pub(super) fn version(plugin: &Plugin) -> String {
    let version = one_line(&plugin.manifest.version);
    if version.is_empty() { version } else { format!(" {version}") }
}

/// The reason for a grant.
pub(super) fn because(plugin: &Plugin, grant: &Grant) -> String {
    let why = plugin.why(grant).map(one_line).filter(|why| !why.is_empty());
    why.map(|why| format!(", because: {why}")).unwrap_or_default()
}

/// The data of its hooks.
pub(super) fn hooks(out: &mut impl Write, plugin: &Plugin) -> Result<()> {
    for hook in plugin.gated() {
        let grant = &Grant::hook(hook);
        match plugin.asks_for(grant) {
            true => {
                writeln!(out, "hook {hook}: {}{}{}", hook.spec().power, queries(plugin, hook), because(plugin, grant))?
            }
            false => writeln!(out, "hook {hook}: is never called, because its manifest does not request `{grant}`")?,
        }
    }
    Ok(())
}

/// The second interface of a tape store.
fn queries(plugin: &Plugin, hook: Hook) -> &'static str {
    if hook == Hook::Store && plugin.answers_queries() { "; finds entries itself (`store-query`)" } else { "" }
}

/// Its tools and commands.
pub(super) fn abilities(out: &mut impl Write, plugin: &Plugin) -> Result<()> {
    for tool in &plugin.tools {
        let outside =
            if tool.reads_outside { "; reads outside: what others wrote, so each call taints its turn" } else { "" };
        let people = if tool.for_model { "" } else { "; for people only" };
        writeln!(out, "tool {}: can {}{outside}{people}", one_line(&tool.name), tool.effect_name())?;
    }
    for command in &plugin.commands {
        let about = one_line(&command.about);
        let about = if about.is_empty() { about } else { format!(": {about}") };
        writeln!(out, "command {}{about}", command.name)?;
    }
    match &plugin.provider {
        Some(provider) => writeln!(out, "models {}:NAME", one_line(provider)),
        None => Ok(()),
    }
}

/// The risks of these grants together.
pub(super) fn dangers(out: &mut impl Write, plugin: &Plugin, grants: &[Grant]) -> Result<()> {
    grant_risk::dangers(plugin, grants).iter().try_for_each(|danger| writeln!(out, "careful: {danger}"))
}

/// Prints the differences from the previous version.
pub(super) fn difference(out: &mut impl Write, before: &Plugin, after: &Plugin) -> Result<()> {
    let named = match version(before) {
        version if version.is_empty() => format!(" {}", &before.digest[..12]),
        version => version,
    };
    writeln!(out, "it replaces version{named}")?;
    let mut is_same = true;
    for (what, of) in PARTS {
        let (old, new) = (of(before), of(after));
        for gone in old.difference(&new) {
            writeln!(out, "  - {what} {}", one_line(gone))?;
            is_same = false;
        }
        for come in new.difference(&old) {
            writeln!(out, "  + {what} {}", one_line(come))?;
            is_same = false;
        }
    }
    if is_same {
        writeln!(out, "  its hooks, tools, commands, imports and requested grants are the same")?;
    }
    Ok(())
}

type Part = (&'static str, fn(&Plugin) -> BTreeSet<String>);

const PARTS: [Part; 6] = [
    ("hook", |plugin| plugin.hooks.iter().map(|hook| hook.name().to_owned()).collect()),
    ("tool", |plugin| plugin.tools.iter().map(|tool| tool.name.clone()).collect()),
    ("reads-outside of tool", |plugin| {
        plugin.tools.iter().filter(|tool| tool.reads_outside).map(|tool| tool.name.clone()).collect()
    }),
    ("command", |plugin| plugin.commands.iter().map(|command| command.name.clone()).collect()),
    ("import", |plugin| plugin.imports().clone()),
    ("want", |plugin| plugin.wanted().into_iter().map(String::from).collect()),
];
