//! Verifies signatures of components with what their manifests say of them.

use super::manifest::Manifest;
use anyhow::{Context, Result, ensure};
use bub_registry::{Moment, PluginSignature, PublicKey, Signer, Statement, Trust};

/// Verifies a plugin's signature, as [`Trust::verify_any`] does. A keyless signature is for the name and the version in the
/// component's own manifest.
///
/// # Errors
///
/// The signature is wrong, by a signer who is not accepted, for another plugin, or missing.
pub fn verify_signature(
    trust: &Trust,
    plugin: &str,
    component: &[u8],
    signature: Option<&PluginSignature>,
    own_key: Option<&PublicKey>,
    moment: Moment,
) -> Result<Option<(Signer, Statement)>> {
    trust.verify_any(plugin, component, signature, own_key, moment, &own_identity)
}

/// The name and the version that the manifest of a component gives it.
///
/// # Errors
///
/// It has no manifest, or that has no valid name or no version.
pub fn own_identity(component: &[u8]) -> Result<(String, String)> {
    let manifest = Manifest::read(component)?.context("it has no manifest")?;
    let name = manifest.name.context("its manifest has no `name`")?;
    bub_types::plugin_name::check_name(&name)?;
    ensure!(!manifest.version.is_empty(), "its manifest has no `version`");
    Ok((name, manifest.version))
}
