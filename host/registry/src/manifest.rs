//! What a registry holds of a plugin: an image manifest, a configuration, and one layer, as the tools of the Bytecode
//! Alliance write them.

use crate::Digest;
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::{escaped, one_line};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The media type of an image manifest.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// The media type of the configuration of a component.
pub const CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";

/// The media type of a component.
pub const LAYER_TYPE: &str = "application/wasm";

/// The annotation with the plugin's manifest, the JSON of its section `bub:manifest`.
pub const PLUGIN_MANIFEST: &str = "bub.plugin.manifest";

/// The annotation with the README.
pub const README: &str = "bub.plugin.readme";

/// The annotation with the signature, as minisign writes it.
pub const SIGNATURE: &str = "bub.plugin.signature";

/// The annotation with the public key of the signature, in Base64.
pub const SIGNER: &str = "bub.plugin.signer";

/// The annotation with the keyless signature, a bundle of Sigstore.
pub const BUNDLE: &str = "bub.plugin.sigstore";

/// The annotation with the version.
pub const VERSION: &str = "org.opencontainers.image.version";

/// The annotation with the purpose, in a sentence.
pub const DESCRIPTION: &str = "org.opencontainers.image.description";

/// The annotation with the name.
pub const TITLE: &str = "org.opencontainers.image.title";

/// The annotation with the time of the push.
pub const CREATED: &str = "org.opencontainers.image.created";

/// The largest manifest that is read, in bytes.
pub(crate) const MAX_MANIFEST: u64 = 1 << 20;

/// The largest configuration that is read, in bytes.
pub(crate) const MAX_CONFIG: u64 = 1 << 20;

/// Content in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// Its digest.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
    /// What its author says of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// The digest.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn digest(&self) -> Result<Digest> {
        self.digest.parse()
    }
}

/// An image manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    /// Always 2.
    pub schema_version: u32,
    /// Its own media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// The component.
    pub layers: Vec<Descriptor>,
    /// What its author says of it.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

impl ImageManifest {
    /// Parses the manifest of a component.
    ///
    /// # Errors
    ///
    /// It is something else: an index, an image, an artifact with another layer, or one larger than `max_layer`.
    pub fn parse(bytes: &[u8], max_layer: u64) -> Result<Self> {
        let manifest: Self = match serde_json::from_slice(bytes) {
            Ok(manifest) => manifest,
            Err(_) if is_index(bytes) => bail!("it is an index of several images, and not a component"),
            Err(error) => bail!("its manifest is not one of an image: {}", one_line(&error.to_string())),
        };
        ensure!(manifest.schema_version == 2, "its manifest has the version {}, not 2", manifest.schema_version);
        if let Some(media_type) = manifest.media_type.as_deref().filter(|found| *found != MANIFEST_TYPE) {
            bail!("its manifest has the media type `{}`, not `{MANIFEST_TYPE}`", escaped(media_type, 100));
        }
        let found = &manifest.config.media_type;
        ensure!(
            found == CONFIG_TYPE,
            "it is not a component: its configuration has the media type `{}`, not `{CONFIG_TYPE}`",
            escaped(found, 100)
        );
        manifest.config.digest().context("its configuration")?;
        ensure!(manifest.config.size <= MAX_CONFIG, "its configuration is larger than {} MiB", MAX_CONFIG >> 20);
        let layer = manifest.layer()?;
        ensure!(
            layer.media_type == LAYER_TYPE,
            "its layer has the media type `{}`, not `{LAYER_TYPE}`",
            escaped(&layer.media_type, 100)
        );
        layer.digest().context("its layer")?;
        ensure!(layer.size > 0, "its layer is empty");
        ensure!(
            layer.size <= max_layer,
            "its layer has {} bytes, which is larger than {} MiB",
            layer.size,
            max_layer >> 20
        );
        Ok(manifest)
    }

    /// The component.
    ///
    /// # Errors
    ///
    /// There is none, or more than one.
    pub fn layer(&self) -> Result<&Descriptor> {
        match self.layers.as_slice() {
            [layer] => Ok(layer),
            layers => bail!("it has {} layers; a plugin has one", layers.len()),
        }
    }

    /// An annotation of it.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }
}

fn is_index(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(bytes).is_ok_and(|value| value.get("manifests").is_some())
}

/// The configuration of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WasmConfig {
    /// When it was made.
    #[serde(default)]
    pub created: Option<String>,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// `wasm`.
    pub architecture: String,
    /// `wasip2`.
    pub os: String,
    /// The digests of the layers.
    #[serde(default)]
    pub layer_digests: Vec<String>,
    /// The world of it; none: it is a core module.
    #[serde(default)]
    pub component: Option<World>,
}

/// The world of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// The interfaces that it exports.
    #[serde(default)]
    pub exports: Vec<String>,
    /// The interfaces that it imports.
    #[serde(default)]
    pub imports: Vec<String>,
    /// The name of the world that it was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl WasmConfig {
    /// Parses the configuration of a component for WASI 0.2.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub fn parse(bytes: &[u8], layer: &Descriptor) -> Result<Self> {
        let config: Self = serde_json::from_slice(bytes).map_err(|error| {
            anyhow::anyhow!("its configuration is not understood: {}", one_line(&error.to_string()))
        })?;
        ensure!(
            config.architecture == "wasm",
            "it is made for `{}`, not for WebAssembly: plugins are not distributed as machine code",
            escaped(&config.architecture, 60)
        );
        ensure!(
            config.component.is_some(),
            "it is a core module, and no component: build it for the target `wasm32-wasip2`"
        );
        if let Some(other) = config.layer_digests.iter().find(|digest| **digest != layer.digest) {
            bail!("its configuration is for another layer: `{}`", escaped(other, 100));
        }
        Ok(config)
    }

    /// The world.
    pub fn world(&self) -> World {
        self.component.clone().unwrap_or_default()
    }
}
