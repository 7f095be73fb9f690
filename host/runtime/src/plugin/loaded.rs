//! A loaded plugin: what it is, what it asks for and what it may use up.

use super::code::{CodeLinker, LinkedCode, Queried};
use super::command::Command;
use super::component_bytes::ComponentBytes;
use super::engine::Engines;
use super::exports::Exported;
use super::line_rate::LineRate;
use super::manifest::Manifest;
use super::open_error::OpenError;
use super::tool::{self, Tool};
use anyhow::{Context, Result, bail};
use bub_config::Limits;
use bub_config::OnFault;
use bub_permissions::{Grant, GrantKind, Grants};
use bub_types::Error;
use bub_types::hook::Hook;
use bub_types::plugin_name::check_name;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;
use tokio::sync::OnceCell;
use wasmtime::component::Component;

/// Where a plugin's bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Inside this program.
    Embedded,
    /// `$BUB_HOME/plugins`.
    User,
    /// `.bub/plugins` of the workspace, and the user has vouched for the bytes.
    Workspace,
}

impl Source {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }
}

/// A component that was loaded, with what it may do.
pub struct Plugin {
    /// Its name: unique among all plugins, at most 64 lower-case ASCII letters, digits, `-` and `_`. It is the identity
    /// that grants, settings and sidecars belong to.
    pub name: String,
    /// Where it came from.
    pub source: Source,
    /// The file that it was read from; none for an embedded guest.
    pub file: Option<PathBuf>,
    /// SHA-256 of the bytes that run, in hex.
    pub digest: String,
    /// The hooks that it implements.
    pub hooks: Vec<Hook>,
    /// Its manifest.
    pub manifest: Manifest,
    /// The grants that it asks for; none, when it has no manifest: then the user's word alone counts.
    pub wants: Option<Grants>,
    /// Names that no file may claim.
    pub(super) reserved: Vec<&'static str>,
    /// The grants of an embedded guest where the configuration is silent.
    pub table: Grants,
    /// The consequence of its faults.
    pub on_fault: OnFault,
    /// The limits on what it may use up.
    pub limits: Limits,
    /// Its table of the configuration.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The tools that it has, as its manifest declares them or as it listed them when it was loaded.
    pub tools: Vec<Tool>,
    /// The commands that it has, as with the tools.
    pub commands: Vec<Command>,
    /// The name of the model provider that it is.
    pub provider: Option<String>,
    /// How often what it writes goes to the log.
    pub(crate) lines: LineRate,
    /// The contracts that it exports.
    pub(super) exported: Exported,
    /// The names of all that it imports.
    pub(super) imported: BTreeSet<String>,
    /// The questions that it can answer about itself.
    pub(super) asked: Queried,
    /// The bytes that it is compiled from.
    pub(super) bytes: ComponentBytes,
    /// The compiled component, linked for the engine with a pool: there once it was opened.
    pub(super) code: OnceLock<Box<dyn LinkedCode>>,
    /// Whether it was opened, and why it could not be.
    pub(super) opened: OnceCell<Result<(), OpenError>>,
    /// Held while it is compiled: a first call and the background want the same code.
    pub(super) compiling: tokio::sync::Mutex<()>,
    /// The same for the engine without a pool; compiled code fits both.
    pub(super) on_demand: OnceLock<Box<dyn LinkedCode>>,
}

impl Plugin {
    /// Whether it implements the contract of that last name.
    pub fn implements(&self, hook: Hook) -> bool {
        self.hooks.contains(&hook)
    }

    /// Whether it may be granted directories.
    pub fn opens_files(&self) -> bool {
        self.wants.as_ref().is_none_or(|wants| wants.iter().any(|grant| grant.kind() == GrantKind::Fs))
    }

    /// Its code. It was opened before: that is what calling it begins with.
    pub(crate) fn code(&self) -> wasmtime::Result<&dyn LinkedCode> {
        self.code.get().map(|code| &**code).ok_or_else(|| wasmtime::Error::msg("the plugin is not opened"))
    }

    /// The same component on the engine that never runs out of slots. Created at the first need: most runs have none.
    pub(crate) fn on_demand(&self, engines: &Engines, linker: &dyn CodeLinker) -> wasmtime::Result<&dyn LinkedCode> {
        if let Some(linked) = self.on_demand.get() {
            return Ok(&**linked);
        }
        let engine = engines.on_demand()?;
        let image = self.code()?.component().serialize()?;
        // SAFETY: these bytes were made by `serialize` a line above, in this process.
        #[allow(unsafe_code, reason = "deserialize is how compiled code moves between two engines")]
        let component = unsafe { Component::deserialize(engine, image)? };
        let linked = linker.link(&component)?;
        Ok(&**self.on_demand.get_or_init(|| linked))
    }

    /// Takes what it says of itself.
    pub(super) fn describe(&mut self, manifest: Manifest) -> Result<()> {
        let manifest = manifest.checked()?;
        if let Some(name) = &manifest.name {
            check_name(name).with_context(|| format!("it calls itself `{}`", bub_types::text::one_line(name)))?;
        }
        if let Some(name) = manifest.name.as_deref().filter(|name| self.reserved.contains(name)) {
            bail!("it calls itself `{name}`, which is the name of an embedded plugin");
        }
        self.wants = Some(manifest.grants());
        self.manifest = manifest;
        Ok(())
    }

    /// Holds its table of the configuration against what it says that the table may be.
    pub(super) fn check_config(&self) -> Result<()> {
        let Some(schema) = &self.manifest.config_schema else { return Ok(()) };
        // Every embedded guest accepts an empty configuration. To compile all their schemas in order to find that took a
        // sixth of the instructions of a program that ends after one turn.
        if self.source == Source::Embedded && self.config.is_empty() {
            return Ok(());
        }
        tool::fits(schema, &self.config.clone().into()).map_err(|reason| {
            anyhow::anyhow!("`[plugins.{}.config]` of config.toml: {}", self.name, bub_types::text::one_line(&reason))
        })
    }

    /// The error that a guest gets for a grant that it does not hold, with what the user can do about it.
    pub fn refusal(&self, grant: &Grant) -> Error {
        if !self.asks_for(grant) {
            return Error::denied(format!(
                "plugin `{}` does not ask for `{grant}` in its manifest, so it cannot be given",
                self.name
            ));
        }
        Error::denied(format!(
            "plugin `{0}` does not hold the grant `{grant}`; to give it: bub-wasm plugin grant {0} {1}",
            self.name,
            grant.shell_word()
        ))
    }
}
