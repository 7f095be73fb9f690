//! `[trust]`: whose plugins are loaded.

use crate::{PublicKey, Signature, Statement};
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::escaped;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `[trust]` of config.toml.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trust {
    /// Whether every plugin of a file needs a signature of a trusted key.
    pub require: bool,
    /// The file of advisories for `plugin audit`.
    pub advisories: Option<PathBuf>,
    /// The keys of authors, by the name that the user gives them.
    pub keys: BTreeMap<String, TrustedKey>,
    /// Rules for single plugins, by name.
    pub plugins: BTreeMap<String, PluginTrust>,
}

/// `[trust.keys.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedKey {
    /// The public key, as in `minisign.pub` without its comment.
    pub key: String,
    /// The plugins that it may sign: names, or beginnings with `*` behind them.
    pub plugins: Vec<String>,
    /// The last day, in UTC, on which it may sign what is installed.
    #[serde(default)]
    pub expires: Option<Date>,
    /// Whether nothing that it has signed is loaded any more.
    #[serde(default)]
    pub revoked: bool,
}

/// `[trust.plugins.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PluginTrust {
    /// Whether it needs a signature of a trusted key; none: what `[trust]` says.
    pub require: Option<bool>,
    /// The only key that may sign it, by its name.
    pub signer: Option<String>,
}

/// Who has signed a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The key.
    pub key: PublicKey,
    /// The name of the key in `[trust.keys]`, if it is there.
    pub name: Option<String>,
}

impl Signer {
    /// As it is shown to people.
    pub fn shown(&self) -> String {
        match &self.name {
            Some(name) => format!("`{}` (key {})", escaped(name, 64), self.key.id()),
            None => format!("key {}, which is not in `[trust.keys]` of config.toml", self.key.id()),
        }
    }
}

/// When something is judged.
#[derive(Debug, Clone, Copy)]
pub enum Moment {
    /// It is to be installed now.
    Now,
    /// It was installed then.
    Installed(Timestamp),
}

impl Trust {
    /// Checks what the program reads of it once.
    ///
    /// # Errors
    ///
    /// One line that names the key of config.toml.
    pub fn check(&self) -> Result<()> {
        for (name, key) in &self.keys {
            let at = || format!("`trust.keys.{}.key` of config.toml", escaped(name, 64));
            key.key.parse::<PublicKey>().with_context(at)?;
        }
        for (name, plugin) in &self.plugins {
            if let Some(signer) = plugin.signer.as_ref().filter(|signer| !self.keys.contains_key(*signer)) {
                bail!(
                    "`trust.plugins.{}.signer` of config.toml: there is no `[trust.keys.{}]`",
                    escaped(name, 64),
                    escaped(signer, 64)
                );
            }
        }
        Ok(())
    }

    /// Whether a plugin of that name needs a signature of a trusted key.
    pub fn requires(&self, plugin: &str) -> bool {
        let own = self.plugins.get(plugin);
        own.and_then(|own| own.require.or(own.signer.as_ref().map(|_| true))).unwrap_or(self.require)
    }

    /// Whether any plugin needs one.
    pub fn requires_any(&self) -> bool {
        self.require || self.plugins.keys().any(|name| self.requires(name))
    }

    /// The trusted key with that id.
    pub fn find(&self, key_id: &str) -> Option<(&str, &TrustedKey, PublicKey)> {
        self.keys.iter().find_map(|(name, key)| {
            let public: PublicKey = key.key.parse().ok()?;
            (public.id() == key_id).then_some((name.as_str(), key, public))
        })
    }

    /// Checks, before a component is fetched, that a signature by that key could be accepted for the plugin.
    ///
    /// # Errors
    ///
    /// It could not: the key is not trusted, revoked, expired, or for other plugins.
    pub fn check_key(&self, plugin: &str, key_id: &str, moment: Moment) -> Result<Option<(&str, PublicKey)>> {
        let Some((name, key, public)) = self.find(key_id) else {
            ensure!(
                !self.requires(plugin),
                "plugin `{plugin}` is signed by key {key_id}, which is not in `[trust.keys]` of config.toml"
            );
            return Ok(None);
        };
        let shown = escaped(name, 64);
        ensure!(!key.revoked, "plugin `{plugin}` is signed by key `{shown}` ({key_id}), which is revoked");
        if let Some(last) = key.expires {
            let end = last.tomorrow().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok()).map(|day| day.timestamp());
            let at = match moment {
                Moment::Now => Timestamp::now(),
                Moment::Installed(time) => time,
            };
            ensure!(
                end.is_none_or(|end| at < end),
                "plugin `{plugin}` is signed by key `{shown}` ({key_id}), which has expired on {last}"
            );
        }
        ensure!(
            key.plugins.iter().any(|pattern| matches(pattern, plugin)),
            "plugin `{plugin}` is signed by key `{shown}` ({key_id}), which may not sign it: `plugins` of \
             `[trust.keys.{shown}]` does not name it"
        );
        let wanted = self.plugins.get(plugin).and_then(|own| own.signer.as_deref());
        if let Some(wanted) = wanted.filter(|wanted| *wanted != name) {
            bail!(
                "plugin `{plugin}` is signed by key `{shown}` ({key_id}), and `[trust.plugins.{plugin}]` wants one of \
                 `{}`",
                escaped(wanted, 64)
            );
        }
        Ok(Some((name, public)))
    }

    /// Verifies a plugin's signature, and returns who has signed it; none: it has no signature and needs none. A key that
    /// is not in the configuration verifies with `own_key`, which its author claims to be theirs.
    ///
    /// # Errors
    ///
    /// The signature is wrong, by a key that is not accepted, for another plugin, or missing.
    pub fn verify(
        &self,
        plugin: &str,
        component: &[u8],
        signature: Option<&Signature>,
        own_key: Option<&PublicKey>,
        moment: Moment,
    ) -> Result<Option<(Signer, Statement)>> {
        let Some(signature) = signature else {
            ensure!(
                !self.requires(plugin),
                "plugin `{plugin}` has no signature, and `[trust]` of config.toml requires one"
            );
            return Ok(None);
        };
        let (name, key) = match self.check_key(plugin, signature.key_id(), moment)? {
            Some((name, key)) => (Some(name.to_owned()), key),
            None => (None, own_key.cloned().context("its signature comes without the key that verifies it")?),
        };
        let statement = signature.verify(&key, component)?;
        ensure!(
            statement.name == plugin,
            "plugin `{plugin}` is signed as `{}`: its author has signed it under that name",
            escaped(&statement.name, 64)
        );
        Ok(Some((Signer { key, name }, statement)))
    }
}

/// Whether a name is meant by a pattern: itself, or its beginning with `*` behind it.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |beginning| name.starts_with(beginning))
}

/// The present day, in UTC.
pub fn today() -> civil::Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}
