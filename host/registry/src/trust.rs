//! `[trust]`: whose plugins are loaded.

use crate::author::Author;
use crate::identity::{Sigstore, TrustedIdentity};
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
    /// Whether every plugin of a file needs a signature of a trusted key or identity.
    pub require: bool,
    /// The file of advisories for `plugin audit`.
    pub advisories: Option<PathBuf>,
    /// The keys of authors, by the name that the user gives them.
    pub keys: BTreeMap<String, TrustedKey>,
    /// The identities of authors who sign without a key, by the name that the user gives them.
    pub identities: BTreeMap<String, TrustedIdentity>,
    /// With what keyless signatures are verified.
    pub sigstore: Sigstore,
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
    /// The only key or identity that may sign it, by its name.
    pub signer: Option<String>,
}

/// Who has signed a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The key or the identity.
    pub author: Author,
    /// Its name in `[trust.keys]` or `[trust.identities]`, if it is there.
    pub name: Option<String>,
}

impl Signer {
    /// As it is shown to people.
    pub fn shown(&self) -> String {
        match &self.name {
            Some(name) => format!("`{}` ({})", escaped(name, 64), self.author),
            None => format!("{}, which is not in `[trust.{}]` of config.toml", self.author, self.author.table()),
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
        self.check_identities()?;
        for (name, plugin) in &self.plugins {
            let is_known = |signer: &String| self.keys.contains_key(signer) || self.identities.contains_key(signer);
            if let Some(signer) = plugin.signer.as_ref().filter(|signer| !is_known(signer)) {
                bail!(
                    "`trust.plugins.{}.signer` of config.toml: there is no `[trust.keys.{}]`, and no identity of \
                     that name",
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
        let (table, shown) = (format!("[trust.keys.{}]", escaped(name, 64)), escaped(name, 64));
        let shown = format!("key `{shown}` ({key_id})");
        ensure!(!key.revoked, "plugin `{plugin}` is signed by {shown}, which is revoked");
        let own = self.plugins.get(plugin).and_then(|own| own.signer.as_deref());
        check_terms(plugin, name, &shown, &table, end_of(key.expires), &key.plugins, own, moment)?;
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
        Ok(Some((Signer { author: Author::Key(key), name }, statement)))
    }
}

/// The last day, and the moment at which it ends.
pub(crate) fn end_of(last: Option<Date>) -> Option<(Date, Timestamp)> {
    let last = last?;
    let end = last.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some((last, end.timestamp()))
}

/// Checks the terms of a key or an identity, which is `shown` and has its `table` in config.toml, for a plugin, of which only
/// `own` may be the signer.
#[expect(clippy::too_many_arguments, reason = "keys and identities share their terms, and are two types")]
pub(crate) fn check_terms(
    plugin: &str,
    name: &str,
    shown: &str,
    table: &str,
    end: Option<(Date, Timestamp)>,
    plugins: &[String],
    own: Option<&str>,
    moment: Moment,
) -> Result<()> {
    let at = match moment {
        Moment::Now => Timestamp::now(),
        Moment::Installed(time) => time,
    };
    if let Some((last, _)) = end.filter(|(_, end)| at >= *end) {
        bail!("plugin `{plugin}` is signed by {shown}, which has expired on {last}");
    }
    ensure!(
        plugins.iter().any(|pattern| matches(pattern, plugin)),
        "plugin `{plugin}` is signed by {shown}, which may not sign it: `plugins` of `{table}` does not name it"
    );
    if let Some(own) = own.filter(|own| *own != name) {
        bail!(
            "plugin `{plugin}` is signed by {shown}, and `[trust.plugins.{plugin}]` wants one of `{}`",
            escaped(own, 64)
        );
    }
    Ok(())
}

/// Whether a name is meant by a pattern: itself, or its beginning with `*` behind it.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |beginning| name.starts_with(beginning))
}

/// The present day, in UTC.
pub fn today() -> civil::Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}
