//! The world of a component, and its manifest as it is written: what a registry is told of it.

use super::exports::Exported;
use super::outline::Outline;
use anyhow::{Result, bail, ensure};

/// The names of what a component imports and exports, with versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComponentWorld {
    /// The imports.
    pub imports: Vec<String>,
    /// The exports.
    pub exports: Vec<String>,
    /// The text of its section `bub:manifest`.
    pub manifest: Option<String>,
}

impl ComponentWorld {
    /// Reads the world of a component.
    ///
    /// # Errors
    ///
    /// The bytes are no component, or it has two manifests.
    pub fn read(component: &[u8]) -> Result<Self> {
        let outline = Outline::read(component);
        ensure!(outline.is_whole && wasmparser::Parser::is_component(component), "it is no component");
        if outline.has_two_manifests {
            bail!("it has two sections `bub:manifest`");
        }
        let manifest = outline.manifest.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok(Self { imports: outline.imports, exports: outline.exports, manifest })
    }

    /// Checks that this host serves a component with these imports and exports as a plugin, as far as names say that.
    ///
    /// # Errors
    ///
    /// A contract or a version that this host does not know, or none of its contracts.
    pub fn check_served(imports: &[String], exports: &[String], served: &[(&'static str, &'static str)]) -> Result<()> {
        let exported = Exported::new(exports, imports, served)?;
        ensure!(!exported.is_empty(), "it exports none of this host's contracts");
        Ok(())
    }
}
