//! Whether a plugin's bytes may be loaded by the user's word about signatures (`[trust]`), and by advisories.
//!
//! The signature that a plugin was installed with is in `plugins.lock`. It is verified whenever the file is loaded, so
//! neither a changed file nor a changed lock makes a plugin run that no trusted key has signed.

use super::signature::verify_signature;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_registry::{Lock, Moment, Trust, TrustedRoot, today};
use bub_types::text::escaped;
use jiff::civil::Date;
use std::sync::Arc;

/// What is known of signatures at one moment. Equal gates admit the same bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SignatureGate(Option<Arc<Rules>>);

#[derive(Debug, PartialEq)]
struct Rules {
    trust: Trust,
    /// The trusted root of keyless signatures, or why it cannot be read: it is renewed in place.
    root: Result<Option<TrustedRoot>, String>,
    /// The lock, or why it cannot be read.
    lock: Result<Lock, String>,
    /// Keys expire.
    day: Date,
}

impl SignatureGate {
    /// Reads the lock. With `again`, `[trust]` is read again too: it may have changed while the program runs.
    pub(super) fn read(config: &Config, again: bool) -> Self {
        if config.is_trial {
            return Self(None);
        }
        let trust = match again {
            true => bub_config::read_trust(&config.file()).unwrap_or_else(|_| config.trust.clone()),
            false => config.trust.clone(),
        };
        let lock = Lock::read(&config.home).map_err(|error| format!("{error:#}"));
        if let Err(error) = &lock {
            tracing::warn!("{error}");
        }
        let has_rules = trust.requires_any() || lock.as_ref().map_or(true, |lock| !lock.quarantine.is_empty());
        Self(has_rules.then(|| {
            let root = trust.read_root().map_err(|error| format!("{error:#}"));
            Arc::new(Rules { trust, root, lock, day: today() })
        }))
    }

    /// Whether these bytes may be loaded under that name.
    ///
    /// # Errors
    ///
    /// They are quarantined, or a signature is required and there is none that is accepted.
    pub(super) fn admit(&self, name: &str, digest: &str, bytes: &[u8]) -> Result<()> {
        let Some(rules) = &self.0 else { return Ok(()) };
        rules.check_quarantine(name, digest)?;
        if !rules.trust.requires(name) {
            return Ok(());
        }
        let lock = rules.lock.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
        let entry = lock.entry(name, digest).with_context(|| match lock.plugins.contains_key(name) {
            true => format!(
                "its content is not what was installed, and `[trust]` of config.toml requires a signature: install it \
                 again by `bub-wasm plugin add`, or go back by `bub-wasm plugin rollback {name}`"
            ),
            false => "it has no signature in plugins.lock, and `[trust]` of config.toml requires one: install it by \
                      `bub-wasm plugin add`"
                .to_owned(),
        })?;
        let moment = Moment::Installed(entry.installed);
        verify_signature(&rules.trust, name, bytes, entry.signature()?.as_ref(), None, moment)?;
        Ok(())
    }

    /// Whether bytes that were admitted before may run on.
    pub(super) fn still_admits(&self, name: &str, digest: &str) -> bool {
        let Some(rules) = &self.0 else { return true };
        if rules.check_quarantine(name, digest).is_err() {
            return false;
        }
        // What runs was verified; a lock that cannot be read says nothing against it.
        let (true, Ok(lock)) = (rules.trust.requires(name), &rules.lock) else { return true };
        let Some(entry) = lock.entry(name, digest) else { return false };
        let moment = Moment::Installed(entry.installed);
        let signature = entry.signature().ok().flatten();
        signature.is_some_and(|signature| rules.trust.check_signature(name, &signature, moment).is_ok())
    }
}

impl Rules {
    fn check_quarantine(&self, name: &str, digest: &str) -> Result<()> {
        let quarantined = self.lock.as_ref().ok().and_then(|lock| lock.quarantine.get(digest));
        if let Some(quarantined) = quarantined {
            let (id, summary) = (escaped(&quarantined.advisory, 100), escaped(&quarantined.summary, 300));
            let says = if summary.is_empty() { String::new() } else { format!(" ({summary})") };
            bail!(
                "advisory `{id}`{says} put it into quarantine; to run it all the same: bub-wasm plugin unquarantine {name}"
            );
        }
        Ok(())
    }
}
