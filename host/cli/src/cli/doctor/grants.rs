//! Settings of plugins that are missing, and grants of secrets that do not exist.

use super::{Diagnostic, State, diagnostic};
use bub_permissions::{Grant, GrantKind, shell_word};
use bub_runtime::host::Host;
use bub_runtime::plugin::{Plugin, Source, is_embedded};
use bub_types::text::one_line;
use std::sync::Arc;

pub(super) fn diagnostics(host: &Arc<Host>) -> Vec<Diagnostic> {
    let set = host.plugins();
    let mut diagnostics = Vec::new();
    for plugin in set.iter() {
        diagnostics.extend(absent_secrets(host, plugin));
        diagnostics.extend(other_name(plugin));
    }
    let names: Vec<&str> = set.iter().map(|plugin| plugin.name.as_str()).collect();
    for name in host.config.plugin_tables() {
        let is_there =
            names.contains(&name) || is_embedded(name) || set.failed.iter().any(|(failed, _)| failed == name);
        if !is_there {
            let hint = bub_types::suggest::hint(name, names.iter().copied());
            let text =
                format!("there is no plugin of that name; remove the table from config.toml, or rename it{hint}");
            diagnostics.push(diagnostic(format!("`[plugins.{}]`", one_line(name)), State::Note, text));
        }
    }
    diagnostics
}

/// Secrets that the plugin was granted by the user and that do not exist, so its requests fail.
fn absent_secrets(host: &Host, plugin: &Plugin) -> Vec<Diagnostic> {
    // Default grants of embedded guests are not counted: most users have no bot.
    if plugin.source == Source::Embedded && host.config.plugin(&plugin.name).grants.is_none() {
        return Vec::new();
    }
    let granted = host.grants.given(plugin, |given| {
        given.iter().filter(|grant| grant.kind() == GrantKind::Secret).cloned().collect::<Vec<_>>()
    });
    let named = granted.iter().map(Grant::target).filter(|name| !name.ends_with('*'));
    let absent = named.filter(|name| host.config.secrets.hosts(name).is_err());
    let absent = absent.map(|name| {
        let text = format!(
            "is granted secret `{}`, which does not exist; bub-wasm secret set {} --host HOST",
            one_line(name),
            shell_word(&one_line(name))
        );
        diagnostic(format!("plugin `{}`", plugin.name), State::Wrong, text)
    });
    absent.collect()
}

/// The name of a plugin is that of its file: settings under the name in its manifest have no effect.
fn other_name(plugin: &Plugin) -> Option<Diagnostic> {
    let own = plugin.manifest.name.as_deref().filter(|own| *own != plugin.name && plugin.source != Source::Embedded)?;
    let text = format!(
        "calls itself `{}` in its manifest; it is known by its file's name, in grants and in `[plugins.{}]`",
        one_line(own),
        plugin.name
    );
    Some(diagnostic(format!("plugin `{}`", plugin.name), State::Note, text))
}
