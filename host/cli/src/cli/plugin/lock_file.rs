//! What commands note in `plugins.lock` beside `add` and `upgrade`.

use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_registry::{Lock, Moment};
use bub_runtime::plugin::digest;
use bub_types::text::escaped;
use std::path::Path;

/// Notes the grants that installed plugins hold now. A lock that is not there stays so.
///
/// # Errors
///
/// The configuration or the lock cannot be read, or the lock cannot be written.
pub(super) fn note_grants(home: &Path, config: &Path) -> Result<()> {
    if !Lock::path(home).exists() {
        return Ok(());
    }
    let (plugins, _) = bub_config::read_plugins(config)?;
    Lock::change(home, |lock| {
        for (name, entry) in &mut lock.plugins {
            let settings = plugins.get(name).filter(|settings| settings.covers(&entry.digest));
            let grants = settings.and_then(|settings| settings.grants.as_ref());
            entry.grants = grants.into_iter().flat_map(|grants| grants.iter()).map(|grant| grant.as_str().to_owned()).collect();
        }
        Ok(())
    })
}

/// Checks that the version of a plugin that is to come back may be loaded.
///
/// # Errors
///
/// It is in quarantine, or a signature is required and it has none that is accepted.
pub(super) fn check_return(config: &Config, name: &str, bytes: &[u8]) -> Result<()> {
    let (lock, digest) = (Lock::read(&config.home)?, digest(bytes));
    let unchanged = || format!("the version before of plugin `{name}` is not brought back, and nothing is changed");
    if let Some(found) = lock.quarantine.get(&digest) {
        bail!("{}: it is in quarantine by advisory `{}`", unchanged(), escaped(&found.advisory, 100));
    }
    if !config.trust.requires(name) {
        return Ok(());
    }
    let entry = lock.entry(name, &digest);
    let signature = entry.map(|entry| entry.signature()).transpose()?.flatten();
    let moment = entry.map_or(Moment::Now, |entry| Moment::Installed(entry.installed));
    let verified = config.trust.verify(name, bytes, signature.as_ref(), None, moment);
    verified.map(drop).with_context(unchanged)
}

/// Takes content out of quarantine: that of a plugin, or that with a digest. Returns how much it was.
///
/// # Errors
///
/// The lock cannot be read or written.
pub(super) fn lift_quarantine(home: &Path, name: &str) -> Result<usize> {
    if !Lock::path(home).exists() {
        return Ok(0);
    }
    Lock::change(home, |lock| {
        let before = lock.quarantine.len();
        lock.quarantine.retain(|digest, found| found.plugin != name && !digest.eq_ignore_ascii_case(name));
        Ok(before - lock.quarantine.len())
    })
}
