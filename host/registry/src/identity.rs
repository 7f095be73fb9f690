//! `[trust.identities]` and `[trust.sigstore]`: whose keyless signatures are accepted.

use crate::author::Author;
use crate::trust::{check_terms, end_of};
use crate::{Moment, PluginSignature, PublicKey, Signer, Statement, Trust};
use anyhow::{Context, Result, bail, ensure};
use bub_sigstore::{Bundle, IdentityRule, MAX_ROOT, TrustedRoot};
use bub_system::files::read_regular;
use bub_types::text::escaped;
use jiff::civil::Date;
use serde::Deserialize;
use std::path::PathBuf;

/// `[trust.sigstore]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sigstore {
    /// The file with the trusted root: the keys of certificate authorities and logs.
    pub root: Option<PathBuf>,
}

/// `[trust.identities.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedIdentity {
    /// The identity in the certificate, with `*` at the end for the rest of a ref.
    pub identity: String,
    /// Who vouches for it.
    pub issuer: String,
    /// The plugins that it may sign: names, or beginnings with `*` behind them.
    pub plugins: Vec<String>,
    /// The last day, in UTC, on which it may sign what is installed.
    #[serde(default)]
    pub expires: Option<Date>,
    /// Whether nothing that it has signed is loaded any more.
    #[serde(default)]
    pub revoked: bool,
}

/// Reads the name and the version that a component itself has.
pub type OwnIdentity<'a> = &'a dyn Fn(&[u8]) -> Result<(String, String)>;

impl TrustedIdentity {
    fn rule(&self) -> Result<IdentityRule> {
        IdentityRule::new(&self.identity, &self.issuer)
    }

    fn is(&self, signer: &bub_sigstore::Signer) -> bool {
        self.rule().is_ok_and(|rule| rule.matches(signer))
    }
}

impl Trust {
    pub(crate) fn check_identities(&self) -> Result<()> {
        for (name, identity) in &self.identities {
            let at = || format!("`trust.identities.{}` of config.toml", escaped(name, 64));
            identity.rule().with_context(at)?;
            ensure!(!self.keys.contains_key(name), "{}: there is a `[trust.keys]` of that name too", at());
        }
        Ok(())
    }

    /// Reads the trusted root, if there is one.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is none.
    pub fn read_root(&self) -> Result<Option<TrustedRoot>> {
        let Some(path) = &self.sigstore.root else { return Ok(None) };
        let at = || format!("`root` of `[trust.sigstore]` in config.toml, `{}`", escaped(&path.to_string_lossy(), 300));
        let (bytes, _) = read_regular(path, MAX_ROOT + 1).with_context(at)?;
        TrustedRoot::parse(&bytes).map(Some).with_context(at)
    }

    /// Whether the two are one signer: the same, or two refs of a workflow that one rule means.
    pub fn is_same(&self, before: &Author, now: &Author) -> bool {
        let signer = |author: &Author| match author {
            Author::Key(_) => None,
            Author::Identity { identity, issuer } => {
                Some(bub_sigstore::Signer { identity: identity.clone(), issuer: issuer.clone(), time: None })
            }
        };
        let is_one_rule = || {
            let (before, now) = (signer(before)?, signer(now)?);
            self.identities.values().find(|known| known.is(&before) && known.is(&now))
        };
        before == now || is_one_rule().is_some()
    }

    /// The name of an author in the configuration.
    pub fn name_of(&self, author: &Author) -> Option<&str> {
        match author {
            Author::Key(key) => self.find(key.id()).map(|(name, ..)| name),
            Author::Identity { identity, issuer } => {
                let signer = bub_sigstore::Signer { identity: identity.clone(), issuer: issuer.clone(), time: None };
                self.identities.iter().find(|(_, known)| known.is(&signer)).map(|(name, _)| name.as_str())
            }
        }
    }

    /// Whether the configuration names who claims to have made the signature.
    pub fn is_named(&self, signature: &PluginSignature) -> bool {
        match signature {
            PluginSignature::Key(signature) => self.find(signature.key_id()).is_some(),
            PluginSignature::Keyless(bundle) => self.identities.values().any(|known| known.is(bundle.claimed())),
        }
    }

    /// Checks, before a component is fetched, that its signature could be accepted for the plugin.
    ///
    /// # Errors
    ///
    /// It could not: its signer is not trusted, revoked, expired, or for other plugins.
    pub fn check_signature(&self, plugin: &str, signature: &PluginSignature, moment: Moment) -> Result<()> {
        match signature {
            PluginSignature::Key(signature) => self.check_key(plugin, signature.key_id(), moment).map(drop),
            PluginSignature::Keyless(bundle) => self.check_identity(plugin, bundle.claimed(), moment).map(drop),
        }
    }

    /// Checks whether an identity is accepted for the plugin. Returns its name in the configuration.
    fn check_identity(&self, plugin: &str, signer: &bub_sigstore::Signer, moment: Moment) -> Result<Option<&str>> {
        let known: Vec<_> = self.identities.iter().filter(|(_, known)| known.is(signer)).collect();
        if known.is_empty() {
            ensure!(
                !self.requires(plugin),
                "plugin `{plugin}` is signed by {signer}, which is not in `[trust.identities]` of config.toml"
            );
            return Ok(None);
        }
        let shown = |name: &str| format!("identity `{}` ({signer})", escaped(name, 64));
        if let Some((name, _)) = known.iter().find(|(_, known)| known.revoked) {
            bail!("plugin `{plugin}` is signed by {}, which is revoked", shown(name));
        }
        // Of several rules for one identity, the first that accepts it.
        let mut refused = None;
        for (name, identity) in &known {
            let own = self.plugins.get(plugin).and_then(|own| own.signer.as_deref());
            let table = format!("[trust.identities.{}]", escaped(name, 64));
            match check_terms(
                plugin,
                name,
                &shown(name),
                &table,
                end_of(identity.expires),
                &identity.plugins,
                own,
                moment,
            ) {
                Ok(()) => return Ok(Some(name.as_str())),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        refused.map_or(Ok(None), Err)
    }

    /// Verifies a plugin's signature of either kind, and returns who has signed it; none: it has no signature and needs
    /// none. `stated`: name and version that the component itself has, which is what a keyless signature is for.
    ///
    /// # Errors
    ///
    /// The signature is wrong, by a signer who is not accepted, for another plugin, or missing.
    pub fn verify_any(
        &self,
        plugin: &str,
        component: &[u8],
        signature: Option<&PluginSignature>,
        own_key: Option<&PublicKey>,
        moment: Moment,
        stated: OwnIdentity<'_>,
    ) -> Result<Option<(Signer, Statement)>> {
        let bundle = match signature {
            Some(PluginSignature::Keyless(bundle)) => bundle,
            Some(PluginSignature::Key(signature)) => {
                return self.verify(plugin, component, Some(signature), own_key, moment);
            }
            None => return self.verify(plugin, component, None, own_key, moment),
        };
        let name = self.check_identity(plugin, bundle.claimed(), moment)?;
        let signer = self.verify_bundle(bundle, component)?;
        let (stated, version) = stated(component).context("its keyless signature is for no name and version")?;
        ensure!(
            stated == plugin,
            "plugin `{plugin}` is signed as `{}`: its author has signed it under that name",
            escaped(&stated, 64)
        );
        let statement = Statement { name: stated, version, time: signer.time };
        Ok(Some((Signer { author: Author::of(&signer), name: name.map(str::to_owned) }, statement)))
    }

    fn verify_bundle(&self, bundle: &Bundle, component: &[u8]) -> Result<bub_sigstore::Signer> {
        let root = self.read_root()?.context(
            "its keyless signature cannot be verified without a trusted root of Sigstore: name its file by `root` of \
             `[trust.sigstore]` in config.toml",
        )?;
        bundle.verify(component, &root)
    }
}
