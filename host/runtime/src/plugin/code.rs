//! The boundary between plugins and the layer that calls them. A plugin carries linked code without knowing its type;
//! loading links code and queries exports through the traits of this module, which the calling layer implements.

use super::loaded::Plugin;
use super::manifest::Manifest;
use anyhow::Result;
use bub_types::ToolSpec;
use futures_util::future::BoxFuture;
use std::any::Any;
use std::sync::Arc;
use wasmtime::component::Component;

/// Compiled code of a plugin, linked for one engine.
pub trait LinkedCode: Any + Send + Sync {
    /// The compiled component.
    fn component(&self) -> &Component;

    /// The names of the contracts that it exports, without versions.
    fn interfaces(&self) -> Vec<&'static str>;

    /// The version in which it exports the contract of that last name.
    fn version(&self, hook: &str) -> Option<&'static str>;

    /// Whether it exports `store-query`: it finds entries itself.
    fn answers_queries(&self) -> bool;

    /// Whether it exports the version of `build-prompt` that sees the prompts of other plugins.
    fn adds_to_prompt(&self) -> bool;
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

/// The exports that are queried when a plugin is loaded.
#[derive(Debug, Clone, Copy)]
pub struct Queried {
    /// Whether it has tools.
    pub tools: bool,
    /// Whether it has commands.
    pub commands: bool,
    /// Whether it is a model provider.
    pub provider: bool,
    /// Whether its manifest is an export.
    pub manifest: bool,
}

/// What a plugin says of itself.
#[derive(Default)]
pub struct Introduction {
    /// Its tools.
    pub tools: Vec<ToolSpec>,
    /// The name of each of its commands, and what it does.
    pub commands: Vec<(String, String)>,
    /// The name of the model provider that it is.
    pub provider: Option<String>,
    /// Its manifest.
    pub manifest: Option<Manifest>,
}

/// Calls the exports that describe a plugin.
pub trait ExportQuery: Send + Sync {
    /// Checks the types of all exports and calls those that are asked for.
    fn query<'a>(&'a self, plugin: &'a Arc<Plugin>, asked: Queried) -> BoxFuture<'a, Result<Introduction>>;
}
