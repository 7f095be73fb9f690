//! Installs a component after its owner has reviewed it: what `add` and `upgrade` share.

use super::grant_prompt::{self, Decision, GrantChoice};
use super::incoming::Incoming;
use super::{mend, report};
use crate::cli::replay::new_version;
use anyhow::{Context, Result};
use bub_permissions::{Grant, Grants, shell_word};
use bub_registry::{Lock, Signer};
use bub_runtime::host::Host;
use bub_runtime::plugin::{Plugin, PluginFiles, Source};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// How the grants of the version before count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    /// The user decides anew.
    Asked,
    /// They are kept; where the new version wants more, the user decides.
    Kept,
    /// They are kept, and it gets no others.
    KeptAlone,
}

/// What became of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installed {
    /// It is active, or was before.
    Yes,
    /// The user has declined it, or there was no terminal to ask at.
    No,
}

/// Installs a component whose signature was verified.
///
/// # Errors
///
/// It does not load, or a file cannot be written; what was installed is unchanged.
pub(super) async fn install(
    out: &mut impl Write,
    host: &Arc<Host>,
    incoming: &Incoming,
    signer: Option<&Signer>,
    choice: &GrantChoice,
    earlier: Earlier,
) -> Result<Installed> {
    let Incoming { name, shown, bytes, .. } = incoming;
    let files = PluginFiles::read_again(&host.config, name)?;
    let plugins = host.plugins();
    let candidate = host.probe(name, bytes).await;
    let candidate =
        candidate.map_err(|error| anyhow::anyhow!("`{shown}` is not added: {}", mend::with_mend(&error)))?;
    plugins.would_take(&candidate).with_context(|| format!("`{shown}` is not added"))?;
    let before = plugins.iter().find(|plugin| plugin.name == *name && plugin.source == Source::User);
    let is_there = before.is_some_and(|before| before.digest == candidate.digest);
    incoming.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    report::write(out, &candidate, bytes.len() as u64)?;
    if let Some(signer) = signer {
        writeln!(out, "signed by {}", signer.shown())?;
    }
    if let Some(before) = before.filter(|_| !is_there) {
        report::difference(out, before, &candidate)?;
        match Path::new(&incoming.source).is_absolute() {
            true => new_version::offer(out, &host.config, name, &incoming.source)?,
            // It came from a registry, and lies in no file that `replay` could be given.
            false => new_version::show(out, (&host.config, &host.workspace), name, bytes).await?,
        }
    }
    let held = before.map(|before| host.grants.given(before, Grants::clone)).unwrap_or_default();
    let decision = match kept(&candidate, &held, choice, earlier) {
        Some(decision) => decision,
        None => choice.decide(&candidate, &held, is_there)?,
    };
    let is_undecided = earlier == Earlier::Kept && matches!(decision, Decision::Nothing) && !choice.is_made();
    if (matches!(decision, Decision::Leave) || is_undecided) && !is_there {
        let why =
            if is_undecided { ": it wants more than the version before; --yes or --keep-grants decides" } else { "" };
        writeln!(out, "`{shown}` is not added{why}")?;
        return Ok(Installed::No);
    }
    // First the lock, with both versions, so that a program that serves finds its entry when it finds the file.
    let entry = incoming.locked(signer, &candidate.manifest.version);
    let former = Lock::change(&host.config.home, |lock| {
        let former = lock.clone();
        if !is_there || !lock.plugins.get(name).is_some_and(|old| old.digest == entry.digest && !old.removed) {
            lock.install(name, entry);
        } else if let Some(old) = lock.plugins.get_mut(name) {
            let before = old.before.take();
            *old = entry;
            old.before = before;
        }
        Ok(former)
    })?;
    if is_there {
        writeln!(out, "plugin `{name}` is already installed with this content")?;
    } else {
        if let Err(error) = files.install(bytes) {
            let former = former.plugins.get(name).cloned();
            Lock::change(&host.config.home, |lock| {
                match former {
                    Some(former) => drop(lock.plugins.insert(name.clone(), former)),
                    None => drop(lock.plugins.remove(name)),
                }
                Ok(())
            })?;
            return Err(error);
        }
        let back =
            if files.has_previous() { format!("; to go back: bub-wasm plugin rollback {name}") } else { String::new() };
        writeln!(out, "plugin `{name}` is there now: {}{back}", shell_word(&files.file().to_string_lossy()))?;
    }
    grant_prompt::apply(out, host, &candidate, &decision)?;
    Ok(Installed::Yes)
}

/// The grants of the version before, if they decide.
fn kept(candidate: &Plugin, held: &Grants, choice: &GrantChoice, earlier: Earlier) -> Option<Decision> {
    if choice.is_made() {
        return None;
    }
    let wanted: Vec<Grant> = candidate.wanted();
    match earlier {
        Earlier::Asked => None,
        Earlier::Kept => wanted.iter().all(|grant| held.allow(grant)).then_some(Decision::Give(wanted)),
        Earlier::KeptAlone => Some(Decision::Give(wanted.into_iter().filter(|grant| held.allow(grant)).collect())),
    }
}
