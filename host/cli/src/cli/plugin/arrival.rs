//! Plugins that a chat finds in the user's directory, and of which nobody has said yet what they may do.

use super::consent::{self, Consent, Decision};
use super::{grants, report};
use anyhow::Result;
use bub_permissions::Grants;
use bub_runtime::host::Host;
use bub_runtime::plugin::Plugin;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

/// Who has arrived, and who decides about it.
#[derive(Default)]
pub(in crate::cli) struct Arrivals {
    consent: Consent,
    /// Whether somebody can be asked.
    asks: bool,
    /// Those that were spoken of, by digest: once is enough, whatever was answered.
    spoken_of: BTreeSet<String>,
}

impl Arrivals {
    /// # Errors
    ///
    /// What the command line says makes no sense.
    pub(in crate::cli) fn new(consent: Consent, asks: bool) -> Result<Self> {
        consent.check()?;
        Ok(Self { consent, asks, spoken_of: BTreeSet::new() })
    }

    /// Whether the command line decides, so that nobody is asked.
    pub(in crate::cli) fn are_decided(&self) -> bool {
        self.consent.is_said()
    }

    /// Those that are to be decided about at this moment.
    pub(in crate::cli) fn waiting(&self, host: &Host) -> Vec<Arc<Plugin>> {
        if !self.asks && !self.are_decided() {
            return Vec::new();
        }
        let plugins = host.plugins();
        let is_waiting = |plugin: &&Arc<Plugin>| {
            host.ledger.is_undecided(plugin)
                && !host.ledger.missing(plugin).is_empty()
                && !self.spoken_of.contains(&plugin.digest)
        };
        plugins.iter().filter(is_waiting).cloned().collect()
    }

    /// Decides about all that wait, by asking where nothing is said, and writes the answers down. It waits for a person.
    ///
    /// # Errors
    ///
    /// The terminal has gone, or the configuration cannot be written.
    pub(in crate::cli) fn decide(&mut self, host: &Host) -> Result<()> {
        for plugin in self.waiting(host) {
            self.spoken_of.insert(plugin.digest.clone());
            match self.consent.said_of(&plugin) {
                // What is printed there is the conversation's.
                Some(decision) => consent::settle(&mut std::io::stderr(), host, &plugin, &decision)?,
                None => ask(host, &plugin)?,
            }
        }
        Ok(())
    }
}

fn ask(host: &Host, plugin: &Plugin) -> Result<()> {
    let mut out = std::io::stdout();
    let size = plugin.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
    writeln!(out, "There is a plugin that nobody has said anything of.")?;
    report::write(&mut out, plugin, size)?;
    if host.ledger.is_for_other_bytes(plugin) {
        writeln!(out, "The grants of plugin `{}` were given to other bytes, and are not for these.", plugin.name)?;
    }
    let decision = consent::ask(plugin, &Grants::default(), None)?;
    match &decision {
        // Nobody has answered: the next chat asks again.
        Decision::Leave => return Ok(()),
        // It is remembered, so that it is asked once.
        Decision::Nothing => drop(grants::write(host, plugin, &Grants::default(), false)?),
        Decision::Give(_) => {}
    }
    consent::settle(&mut out, host, plugin, &decision)?;
    writeln!(out)?;
    Ok(())
}
