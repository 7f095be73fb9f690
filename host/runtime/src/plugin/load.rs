//! Bytes to a plugin. Every refusal is worded here.

use super::cache::Cache;
use super::code::{CodeLinker, ExportQuery, Introduction, Queried};
use super::command;
use super::compiler;
use super::engine::Engines;
use super::grant_registry::GrantRegistry;
use super::line_rate::LineRate;
use super::loaded::{Plugin, Source};
use super::manifest::Manifest;
use super::tool;
use anyhow::{Context, Result, bail};
use bub_config::{Config, Limits};
use bub_permissions::Grants;
use bub_types::hook::Hook;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use wasmparser::Parser;
use wasmtime::component::{Component, types::ComponentItem};

/// The version of everything that a plugin may import.
const IMPORTED: &str = "0.1.0";
/// A part of the hook `store` that a keeper of tapes may leave out.
const STORE_QUERY: &str = "bub:tape/store-query";

/// The longest name of a model provider, in bytes.
const MAX_PROVIDER: usize = 64;

/// What plugins are loaded with.
#[derive(Clone, Copy)]
pub struct LoadContext<'a> {
    /// The configuration: directories, settings and limits of plugins.
    pub config: &'a Config,
    /// The workspace, whose trusted plugins are loaded too.
    pub workspace: &'a Path,
    /// The engines that components are compiled for.
    pub engines: &'a Engines,
    /// Compiled components of earlier runs.
    pub cache: &'a Cache,
    /// The grants, and the workspace's files that the user trusts.
    pub grants: &'a GrantRegistry,
    /// Links components with the imports of the host.
    pub linker: &'a dyn CodeLinker,
    /// Calls the exports that describe a plugin.
    pub query: &'a dyn ExportQuery,
}

/// What a plugin is made of before anything of it has run.
pub(super) struct Candidate<'a> {
    pub name: &'a str,
    pub source: Source,
    pub file: Option<PathBuf>,
    pub bytes: &'a [u8],
    /// Theirs.
    pub digest: String,
    /// What it holds where the configuration is silent.
    pub table: Grants,
    /// Names that it may not claim.
    pub reserved: Vec<&'static str>,
    pub settings: &'a bub_config::Plugin,
    pub limits: Limits,
}

/// Compiles and checks what can be checked without running anything.
pub(super) async fn compile(with: &LoadContext<'_>, candidate: Candidate<'_>) -> Result<Plugin> {
    let (engines, cache, program) = (with.engines, with.cache, &with.config.program);
    let (bytes, digest) = (candidate.bytes, candidate.digest);
    if Parser::is_core_wasm(bytes) {
        bail!(
            "it is a core module, and no component: build it for the target `wasm32-wasip2`, or make a component of it by `wasm-tools component new`"
        );
    }
    let compiled = match candidate.source {
        Source::Embedded => compiler::embedded(engines, cache, (candidate.name, bytes, &digest)),
        _ => compiler::component(engines, cache, program, (candidate.name, bytes, &digest), &candidate.limits).await,
    };
    let component = compiled.map_err(one_cause).map_err(without_async)?;
    check_contracts(&component, with.linker.served())?;
    let manifest = Manifest::read(bytes)?;
    let code = with.linker.link(&component).map_err(one_cause)?;
    let names = code.interfaces();
    if names.is_empty() {
        bail!("it exports none of this host's contracts");
    }
    if names.contains(&"bub:hooks/run-model") && names.contains(&"bub:hooks/run-model-stream") {
        bail!("it exports both `run-model` and `run-model-stream`; a plugin exports one of them");
    }
    if names.contains(&STORE_QUERY) && !names.contains(&"bub:tape/store") {
        bail!("it exports `store-query` without `store`; a plugin that finds entries keeps the tapes too");
    }
    let mut plugin = Plugin {
        name: candidate.name.to_owned(),
        source: candidate.source,
        file: candidate.file,
        digest,
        // What belongs to `store` is no hook of its own.
        hooks: names
            .iter()
            .filter(|name| **name != STORE_QUERY)
            .filter_map(|name| Hook::from_name(name.rsplit('/').next().unwrap_or(name)))
            .collect(),
        wants: None,
        manifest: Manifest::default(),
        table: candidate.table,
        reserved: candidate.reserved,
        on_fault: candidate.settings.on_fault,
        limits: candidate.limits,
        config: candidate.settings.config.clone(),
        tools: Vec::new(),
        commands: Vec::new(),
        provider: None,
        lines: LineRate::default(),
        code,
        on_demand: OnceLock::new(),
    };
    manifest.map_or(Ok(()), |manifest| plugin.describe(manifest))?;
    plugin.check_config()?;
    Ok(plugin)
}

/// Queries what a plugin says of itself: its tools, its commands, the name of its model provider and its manifest, in an
/// instance that has no turn and whose gated imports therefore answer nothing. The types of all exports are checked first.
pub(super) async fn query_exports(with: &LoadContext<'_>, plugin: Plugin) -> Result<Plugin> {
    let plugin = Arc::new(plugin);
    let names = plugin.code.interfaces();
    let asked = Queried {
        tools: names.contains(&"bub:tools/tools"),
        commands: names.contains(&"bub:hooks/commands"),
        provider: names.contains(&"bub:model/provider"),
        // The manifest of a section is read without running anything, and takes precedence.
        manifest: plugin.wants.is_none() && names.contains(&"bub:plugin/manifest"),
    };
    let Introduction { tools, commands, provider, manifest } = with.query.query(&plugin, asked).await?;
    let tools = tool::accept(tools).map_err(anyhow::Error::msg)?;
    provider.as_deref().map_or(Ok(()), check_provider)?;
    let mut plugin = Arc::into_inner(plugin).context("it is still held by its first call")?;
    plugin.tools = tools;
    plugin.commands = command::accept(commands)?;
    plugin.provider = provider;
    if let Some(manifest) = manifest {
        plugin.describe(manifest)?;
        plugin.check_config()?;
    }
    Ok(plugin)
}

/// Names an unknown contract or version, before wasmtime's own error would.
fn check_contracts(component: &Component, served: &[(&str, &'static str)]) -> Result<()> {
    let engine = component.engine();
    let ty = component.component_type();
    for (name, item) in ty.exports(engine) {
        if !matches!(item.ty, ComponentItem::ComponentInstance(_)) {
            continue;
        }
        let Some((interface, version)) = contract(name) else {
            continue;
        };
        let offered: Vec<&str> =
            served.iter().filter(|(served, _)| *served == interface).map(|(_, version)| *version).collect();
        if offered.is_empty() {
            bail!("it exports `{name}`, which is no contract of this host");
        }
        if !offered.iter().any(|offered| compatible(version, offered)) {
            bail!("it exports `{name}`, which this host does not know; it offers {}", offered.join(" and "));
        }
    }
    for (name, _) in ty.imports(engine) {
        if let Some((_, version)) = contract(name)
            && !compatible(version, IMPORTED)
        {
            bail!("it imports `{name}`, which this host does not know; it offers {IMPORTED}");
        }
    }
    Ok(())
}

/// Interface and version of one of our own contracts.
fn contract(name: &str) -> Option<(&str, &str)> {
    let (interface, version) = name.split_once('@')?;
    interface.starts_with("bub:").then_some((interface, version))
}

/// Below 1.0 the middle number is the one that breaks.
fn compatible(version: &str, offered: &str) -> bool {
    let breaking = |version: &str| version.rsplit_once('.').map(|(breaking, _)| breaking.to_owned());
    breaking(version).is_some_and(|version| breaking(offered) == Some(version))
}

/// Checks the name of a provider, which is before the colon in a model's name.
fn check_provider(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > MAX_PROVIDER || !name.chars().all(is_plain) {
        let shown: String = name.chars().take(MAX_PROVIDER).flat_map(char::escape_debug).collect();
        bail!("its model provider `{shown}` has no name of at most {MAX_PROVIDER} letters, digits, `_`, `-` and `.`");
    }
    Ok(())
}

/// Why it does not compile, with what helps where that is known.
fn without_async(error: anyhow::Error) -> anyhow::Error {
    match error.to_string().contains("requires the component model async") {
        true => anyhow::anyhow!(
            "it uses the async ABI of the Component Model, which this host does not have: build it without (`--sync` of componentize-qjs, no `async` in wit-bindgen)"
        ),
        false => error.context("it does not compile"),
    }
}

fn one_cause(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{}", bub_types::text::one_line(&format!("{error:#}")))
}
