//! A component as it is pushed.

use crate::manifest::{
    BUNDLE, CONFIG_TYPE, CREATED, DESCRIPTION, Descriptor, ImageManifest, LAYER_TYPE, MANIFEST_TYPE, PLUGIN_MANIFEST,
    README, SIGNATURE, SIGNER, TITLE, VERSION, WasmConfig, World,
};
use crate::{Bundle, Digest, PublicKey, Reference, Registry, Signature};
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::clipped;
use std::collections::BTreeMap;

/// The longest README that is pushed, in characters. The manifest of an artifact is read as a whole.
const MAX_README: usize = 64 << 10;

/// What is pushed.
pub struct Publication<'a> {
    /// Where to, with the version.
    pub reference: Reference,
    /// The name of the plugin.
    pub name: &'a str,
    /// Its purpose, in a sentence.
    pub about: &'a str,
    /// The component.
    pub component: &'a [u8],
    /// The JSON of its section `bub:manifest`.
    pub plugin_manifest: &'a str,
    /// The interfaces that it imports and exports.
    pub world: World,
    /// The README, in Markdown.
    pub readme: Option<&'a str>,
    /// The signature, and the key that verifies it.
    pub signature: Option<(&'a Signature, &'a PublicKey)>,
    /// The keyless signature.
    pub bundle: Option<&'a Bundle>,
}

/// What was pushed.
#[derive(Debug)]
pub struct Published {
    /// The digest of the manifest.
    pub digest: Digest,
    /// Whether the registry had exactly this already.
    pub was_there: bool,
}

impl Publication<'_> {
    /// The configuration and the manifest, with what is in them of the time of the push.
    fn build(&self, created: &str) -> Result<(Vec<u8>, Vec<u8>)> {
        let layer = Digest::of(self.component).to_string();
        let config = WasmConfig {
            created: Some(created.to_owned()),
            author: None,
            architecture: "wasm".to_owned(),
            os: "wasip2".to_owned(),
            layer_digests: vec![layer.clone()],
            component: Some(self.world.clone()),
        };
        let config = serde_json::to_vec(&config)?;
        let version = self.reference.version.as_deref().context("it has no version")?;
        let mut annotations = BTreeMap::new();
        let mut annotate = |key: &str, value: &str| annotations.insert(key.to_owned(), value.to_owned());
        annotate(TITLE, self.name);
        annotate(VERSION, version);
        annotate(CREATED, created);
        annotate(PLUGIN_MANIFEST, self.plugin_manifest);
        if !self.about.is_empty() {
            annotate(DESCRIPTION, self.about);
        }
        if let Some(readme) = self.readme {
            annotate(README, &clipped(readme, MAX_README));
        }
        if let Some((signature, key)) = self.signature {
            annotate(SIGNATURE, signature.as_str());
            annotate(SIGNER, key.as_str());
        }
        if let Some(bundle) = self.bundle {
            annotate(BUNDLE, bundle.as_str());
        }
        let descriptor = |media_type: &str, digest: String, size: usize| Descriptor {
            media_type: media_type.to_owned(),
            digest,
            size: size as u64,
            annotations: BTreeMap::new(),
        };
        let manifest = ImageManifest {
            schema_version: 2,
            media_type: Some(MANIFEST_TYPE.to_owned()),
            config: descriptor(CONFIG_TYPE, Digest::of(&config).to_string(), config.len()),
            layers: vec![descriptor(LAYER_TYPE, layer, self.component.len())],
            annotations,
        };
        Ok((config, serde_json::to_vec(&manifest)?))
    }
}

impl Registry<'_> {
    /// Pushes a component under its version. A version that is there is never replaced.
    ///
    /// # Errors
    ///
    /// The registry cannot be reached, does not take it, or has another component under that version.
    pub async fn publish(&self, publication: &Publication<'_>) -> Result<Published> {
        if let Some(digest) = self.is_there(publication).await? {
            return Ok(Published { digest, was_there: true });
        }
        let path = &publication.reference.repository.path;
        let version = publication.reference.version.as_deref().context("it has no version")?;
        let (config, manifest) = publication.build(&jiff::Timestamp::now().to_string())?;
        ensure!(manifest.len() as u64 <= crate::manifest::MAX_MANIFEST, "its manifest and README are too long");
        self.push_blob(path, publication.component).await?;
        self.push_blob(path, &config).await?;
        let digest = self.push_manifest(path, version, &manifest).await?;
        Ok(Published { digest, was_there: false })
    }

    /// The digest, if the registry has the same component under that version already.
    ///
    /// # Errors
    ///
    /// It has another one, or cannot be reached.
    pub async fn is_there(&self, publication: &Publication<'_>) -> Result<Option<Digest>> {
        let reference = &publication.reference;
        let version = reference.version.as_deref().context("it has no version")?;
        if !self.has(&reference.repository.path, version).await? {
            return Ok(None);
        }
        let there = self.describe(reference).await?;
        if there.manifest.layer()?.digest()? != Digest::of(publication.component) {
            bail!("`{reference}` is there with another content: a version is never replaced; give it a new version");
        }
        Ok(Some(there.digest))
    }
}
