//! The boundary between plugins and the layer that calls them. A plugin carries linked code without knowing its type;
//! loading links code and queries exports through the traits of this module, which the calling layer implements.

use super::fault::Fault;
use super::loaded::Plugin;
use super::manifest::{DeclaredChannel, Manifest};
use bub_types::ToolSpec;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::sync::Arc;
use wasmtime::component::Component;

/// Compiled code of a plugin, linked for one engine.
pub trait LinkedCode: Any + Send + Sync {
    /// The compiled component.
    fn component(&self) -> &Component;
}

/// Links components with the imports that the host serves.
pub trait CodeLinker: Send + Sync {
    /// Links a component for the engine that it was compiled for.
    ///
    /// # Errors
    ///
    /// The component imports what the host does not serve, or exports a contract of another type.
    fn link(&self, component: &Component) -> wasmtime::Result<Box<dyn LinkedCode>>;

    /// The contracts that a plugin may export, by name and version.
    fn served(&self) -> &'static [(&'static str, &'static str)];
}

/// The exports that describe a plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queried {
    /// Whether it has tools.
    pub tools: bool,
    /// Whether it has commands.
    pub commands: bool,
    /// Whether it is a model provider.
    pub provider: bool,
    /// Whether it is a channel.
    pub channel: bool,
    /// Whether its manifest is an export.
    pub manifest: bool,
}

/// A plugin's answers about itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Introduction {
    /// Its tools.
    pub tools: Vec<ToolSpec>,
    /// The name of each of its commands, and what it does.
    pub commands: Vec<(String, String)>,
    /// The name of the model provider that it is.
    pub provider: Option<String>,
    /// The channel that it is.
    pub channel: Option<DeclaredChannel>,
    /// Its manifest.
    pub manifest: Option<Manifest>,
}

/// Calls the exports that describe a plugin.
pub trait ExportQuery: Send + Sync {
    /// Checks the types of all exports and calls those that are asked for; then `check` says what is wrong with the answer,
    /// which is a fault of the plugin.
    fn query<'a>(
        &'a self,
        plugin: &'a Arc<Plugin>,
        asked: Queried,
        check: &'a (dyn Fn(&Introduction) -> Result<(), String> + Sync),
    ) -> BoxFuture<'a, Result<Introduction, Fault>>;
}
