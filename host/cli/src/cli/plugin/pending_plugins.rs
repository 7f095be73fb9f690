//! Plugins in the user's directory whose grants are not decided yet.

use super::grant_prompt::{self, Decision, GrantChoice, GrantOptions};
use super::report;
use anyhow::Result;
use bub_permissions::Grants;
use bub_runtime::host::{Host, grant_edit};
use bub_runtime::plugin::Plugin;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

/// Finds new plugins and asks for their grants.
#[derive(Default)]
pub(in crate::cli) struct PendingPlugins {
    choice: GrantChoice,
    /// Whether a person can be asked.
    is_interactive: bool,
    /// Digests of plugins that were presented: each is presented once, whatever the answer.
    presented: BTreeSet<String>,
}

impl PendingPlugins {
    /// # Errors
    ///
    /// The options name an invalid grant.
    pub(in crate::cli) fn new(grant_options: &GrantOptions, is_interactive: bool) -> Result<Self> {
        Ok(Self { choice: grant_options.parse()?, is_interactive, presented: BTreeSet::new() })
    }

    /// Whether the command line decides, without a prompt.
    pub(in crate::cli) fn is_unattended(&self) -> bool {
        self.choice.is_made()
    }

    /// The plugins to decide about now.
    pub(in crate::cli) fn pending(&self, host: &Host) -> Vec<Arc<Plugin>> {
        if !self.is_interactive && !self.is_unattended() {
            return Vec::new();
        }
        let plugins = host.plugins();
        let is_pending = |plugin: &&Arc<Plugin>| {
            host.grants.is_undecided(plugin)
                && !host.grants.missing(plugin).is_empty()
                && !self.presented.contains(&plugin.digest)
        };
        plugins.iter().filter(is_pending).cloned().collect()
    }

    /// Decides about all pending plugins, by the command line or by prompts, and stores the decisions. Blocks.
    ///
    /// # Errors
    ///
    /// The terminal has gone, or the configuration cannot be written.
    pub(in crate::cli) fn decide(&mut self, host: &Host) -> Result<()> {
        for plugin in self.pending(host) {
            self.presented.insert(plugin.digest.clone());
            match self.choice.decision_for(&plugin) {
                // Stdout belongs to the conversation.
                Some(decision) => grant_prompt::apply(&mut std::io::stderr(), host, &plugin, &decision)?,
                None => ask(host, &plugin)?,
            }
        }
        Ok(())
    }
}

fn ask(host: &Host, plugin: &Plugin) -> Result<()> {
    let mut out = std::io::stdout();
    let size = plugin.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
    writeln!(out, "There is a new plugin.")?;
    report::write(&mut out, plugin, size)?;
    if host.grants.is_for_other_bytes(plugin) {
        writeln!(out, "The grants of plugin `{}` were given to other bytes, and are not for these.", plugin.name)?;
    }
    let decision = grant_prompt::ask(plugin, &Grants::default(), None)?;
    match &decision {
        // Without an answer, the next chat asks again.
        Decision::Leave => return Ok(()),
        // Stored, so that the question is asked once.
        Decision::Nothing => drop(grant_edit::write(host, plugin, &Grants::default(), false)?),
        Decision::Give(_) => {}
    }
    grant_prompt::apply(&mut out, host, plugin, &decision)?;
    writeln!(out)?;
    Ok(())
}
