//! What changes of plugins note in `plugins.lock`, and what they check in it.

use super::digest::digest;
use super::signature::verify_signature;
use anyhow::{Context, Result, bail, ensure};
use bub_config::Config;
use bub_registry::{Lock, Locked, Moment};
use bub_types::text::{escaped, one_line};
use jiff::Timestamp;
use std::path::Path;

/// Notes the grants that installed plugins hold now. A lock that is not there stays so.
///
/// # Errors
///
/// The configuration or the lock cannot be read, or the lock cannot be written.
pub fn note_grants(home: &Path, config: &Path) -> Result<()> {
    if !Lock::path(home).exists() {
        return Ok(());
    }
    let (plugins, _) = bub_config::read_plugins(config)?;
    Lock::change(home, |lock| {
        for (name, entry) in &mut lock.plugins {
            let settings = plugins.get(name).filter(|settings| settings.covers(&entry.digest));
            let grants = settings.and_then(|settings| settings.grants.as_ref());
            entry.grants =
                grants.into_iter().flat_map(|grants| grants.iter()).map(|grant| grant.as_str().to_owned()).collect();
        }
        Ok(())
    })
}

/// Checks that the version of a plugin that is to come back may be loaded.
///
/// # Errors
///
/// It is in quarantine, or a signature is required and it has none that is accepted.
pub fn check_return(config: &Config, name: &str, bytes: &[u8]) -> Result<()> {
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
    let verified = verify_signature(&config.trust, name, bytes, signature.as_ref(), None, moment);
    verified.map(drop).with_context(unchanged)
}

/// Takes content out of quarantine: that of a plugin, or that with a digest. Returns how much it was.
///
/// # Errors
///
/// The lock cannot be read or written.
pub fn lift_quarantine(home: &Path, name: &str) -> Result<usize> {
    if !Lock::path(home).exists() {
        return Ok(0);
    }
    Lock::change(home, |lock| {
        let before = lock.quarantine.len();
        lock.quarantine.retain(|digest, found| found.plugin != name && !digest.eq_ignore_ascii_case(name));
        Ok(before - lock.quarantine.len())
    })
}

/// Checks that a component without a signature may take the place of what is installed under that name.
///
/// # Errors
///
/// A signature is required, what is installed has one, or the component is in quarantine.
pub fn check_unsigned(config: &Config, name: &str, digest: &str) -> Result<()> {
    let lock = Lock::read(&config.home)?;
    ensure!(
        !config.trust.requires(name),
        "plugin `{name}` needs a signature, by `[trust]` of config.toml: install it by `bub-wasm plugin add`"
    );
    if let Some(found) = lock.quarantine.get(digest) {
        bail!("it is in quarantine by advisory `{}`", escaped(&found.advisory, 100));
    }
    let signer = lock.plugins.get(name).filter(|entry| entry.digest != digest).and_then(Locked::signer);
    match signer {
        Some(signer) => bail!(
            "plugin `{name}` is signed by {signer}, and this component has no signature: replace it by `bub-wasm plugin add`"
        ),
        None => Ok(()),
    }
}

/// Notes a component without a signature that takes the place of what is installed.
///
/// # Errors
///
/// The lock cannot be read or written.
pub fn note_unsigned(home: &Path, name: &str, source: &str, digest: &str, version: &str) -> Result<()> {
    let version = Some(one_line(version)).filter(|version| !version.is_empty());
    let entry = Locked {
        version,
        source: source.to_owned(),
        manifest: None,
        digest: digest.to_owned(),
        installed: Timestamp::now(),
        signer: None,
        signer_issuer: None,
        signer_name: None,
        signature: None,
        grants: Vec::new(),
        removed: false,
        before: None,
    };
    Lock::change(home, |lock| {
        lock.install(name, entry);
        Ok(())
    })
}

/// Notes that the version of a plugin with that digest is back.
///
/// # Errors
///
/// The lock cannot be read or written.
pub fn note_return(home: &Path, name: &str, digest: &str) -> Result<()> {
    change(home, |lock| lock.roll_back(name, digest))
}

/// Notes that a plugin was removed.
///
/// # Errors
///
/// The lock cannot be read or written.
pub fn note_removal(home: &Path, name: &str) -> Result<()> {
    change(home, |lock| lock.remove(name))
}

/// Changes a lock. One that is not there stays so.
fn change(home: &Path, change: impl FnOnce(&mut Lock)) -> Result<()> {
    if !Lock::path(home).exists() {
        return Ok(());
    }
    Lock::change(home, |lock| {
        change(lock);
        Ok(())
    })
}
