//! Bytes to a plugin. Every refusal is worded here.

use super::bindings::{Exports, SERVED};
use super::call::{CallContext, GuestCall, call};
use super::command::{self, Command};
use super::compiler;
use super::engine::{Engines, LinkedEngine};
use super::manifest::{AfterTurnScope, GrantRequest, Manifest};
use super::output::LineRate;
use super::store::{LOAD, State};
use super::tool::{self, Tool};
use crate::host::Host;
use anyhow::{Context, Result, bail};
use bub_config::Limits;
use bub_config::OnFault;
use bub_permissions::{Grants, shell_word};
use bub_types::Error;
use bub_types::plugin_name::check_name;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use wasmparser::Parser;
use wasmtime::component::{Component, InstancePre, types::ComponentItem};

/// The version of everything that a plugin may import.
const IMPORTED: &str = "0.1.0";
/// The largest component file that is read, in bytes. A Python guest has 18 MB.
pub const MAX_FILE: u64 = 64 << 20;

/// A part of the hook `store` that a keeper of tapes may leave out.
const STORE_QUERY: &str = "bub:tape/store-query";

/// The longest name of a model provider, in bytes.
const MAX_PROVIDER: usize = 64;

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
    /// The last names of the contracts that it implements; they are unique over all packages.
    pub hooks: Vec<&'static str>,
    /// What it says of itself.
    pub manifest: Manifest,
    /// The grants that it asks for; none, when it says nothing of itself: then the user's word alone counts.
    pub wants: Option<Grants>,
    /// Names that no file may claim.
    reserved: Vec<&'static str>,
    /// What an embedded guest holds where the configuration is silent.
    pub table: Grants,
    /// What its faults do.
    pub on_fault: OnFault,
    /// What it may use up.
    pub limits: Limits,
    /// Its table of the configuration.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The tools that it has, asked once.
    pub tools: Vec<Tool>,
    /// The commands that it has, asked once.
    pub commands: Vec<Command>,
    /// The name of the model provider that it is.
    pub provider: Option<String>,
    /// How often what it writes goes to the log.
    pub(super) lines: LineRate,
    /// The compiled component, linked.
    pub ready: PreparedComponent,
    /// The same for the engine without a pool; compiled code fits both.
    spare: OnceLock<PreparedComponent>,
}

/// A component on one engine, ready to be instantiated. What it exports is numbered anew on each engine.
pub struct PreparedComponent {
    pub pre: InstancePre<State>,
    pub exports: Exports,
}

impl PreparedComponent {
    fn new(bench: &LinkedEngine, component: &Component) -> wasmtime::Result<Self> {
        let pre = bench.linker.instantiate_pre(component)?;
        let exports = Exports::find(&pre)?;
        Ok(Self { pre, exports })
    }
}

impl Plugin {
    /// Whether it implements the contract of that last name.
    pub fn implements(&self, hook: &str) -> bool {
        self.hooks.contains(&hook)
    }

    /// Whether, as a keeper of tapes, it finds entries itself.
    pub fn answers_queries(&self) -> bool {
        self.ready.exports.answers_queries()
    }

    /// Whether it may be granted directories.
    pub fn opens_files(&self) -> bool {
        self.wants.as_ref().is_none_or(|wants| wants.iter().any(|grant| grant.starts_with("fs:")))
    }

    /// The same component on the engine that never runs out of slots. Made at the first need: most runs have none.
    pub fn on_demand(&self, engines: &Engines) -> wasmtime::Result<&PreparedComponent> {
        if let Some(spare) = self.spare.get() {
            return Ok(spare);
        }
        let bench = engines.on_demand()?;
        let image = self.ready.pre.component().serialize()?;
        // SAFETY: these bytes were made by `serialize` a line above, in this process.
        #[allow(unsafe_code, reason = "deserialize is how compiled code moves between two engines")]
        let component = unsafe { Component::deserialize(&bench.engine, image)? };
        let spare = PreparedComponent::new(bench, &component)?;
        Ok(self.spare.get_or_init(|| spare))
    }

    /// Takes what it says of itself.
    fn describe(&mut self, manifest: Manifest) -> Result<()> {
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
    fn check_config(&self) -> Result<()> {
        let Some(schema) = &self.manifest.config_schema else { return Ok(()) };
        tool::fits(schema, &self.config.clone().into()).map_err(|reason| {
            anyhow::anyhow!("`[plugins.{}.config]` of config.toml: {}", self.name, bub_types::text::one_line(&reason))
        })
    }

    /// The error that a guest gets for a grant that it does not hold, with what the user can do about it.
    pub fn refusal(&self, grant: &str) -> Error {
        if !self.asks_for(grant) {
            return Error::denied(format!(
                "plugin `{}` does not ask for `{grant}` in its manifest, so it cannot be given",
                self.name
            ));
        }
        Error::denied(format!(
            "plugin `{0}` does not hold the grant `{grant}`; to give it: bub-wasm plugin grant {0} {1}",
            self.name,
            shell_word(grant)
        ))
    }
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
pub(super) async fn compile(host: &Host, candidate: Candidate<'_>) -> Result<Plugin> {
    let (engines, cache, program) = (&host.engines, &host.cache, &host.config.program);
    let (bytes, digest) = (candidate.bytes, candidate.digest);
    let bench = &engines.pooled;
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
    check_contracts(&component)?;
    let manifest = Manifest::read(bytes)?;
    let ready = PreparedComponent::new(bench, &component).map_err(one_cause)?;
    let names = ready.exports.names();
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
            .map(|name| name.rsplit('/').next().unwrap_or(name))
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
        ready,
        spare: OnceLock::new(),
    };
    manifest.map_or(Ok(()), |manifest| plugin.describe(manifest))?;
    plugin.check_config()?;
    Ok(plugin)
}

/// Runs what runs once: the types of all exports are checked, tools, commands and the provider's name asked for,
/// in an instance that has no turn and whose gated imports therefore answer nothing.
pub(super) async fn query_exports(host: &Arc<Host>, plugin: Plugin) -> Result<Plugin> {
    let plugin = Arc::new(plugin);
    let names = plugin.ready.exports.names();
    let (has_tools, is_provider) = (names.contains(&"bub:tools/tools"), names.contains(&"bub:model/provider"));
    let has_commands = names.contains(&"bub:hooks/commands");
    // What stands in a section is read without running anything, and wins.
    let describes = plugin.wants.is_none() && names.contains(&"bub:plugin/manifest");
    let component = &plugin.ready.pre.component().clone();
    let introduced =
        call(host, &plugin, CallContext::outside(LOAD), |GuestCall { exports, store, instance, .. }| {
            Box::pin(async move {
                exports.check(store, &instance, component)?;
                let tools = match has_tools {
                    true => exports.tools(store, &instance)?.call_list_tools(&mut *store).await?,
                    false => Vec::new(),
                };
                let commands = match has_commands {
                    true => exports.commands(store, &instance)?.call_list_commands(&mut *store).await?,
                    false => Vec::new(),
                };
                let provider = match is_provider {
                    true => Some(exports.provider(store, &instance)?.call_name(&mut *store).await?),
                    false => None,
                };
                let described = match describes {
                    true => Some(exports.manifest(store, &instance)?.call_describe(&mut *store).await?),
                    false => None,
                };
                Ok((tools, commands, provider, described))
            })
        });
    let (tools, commands, provider, described) = introduced.await?;
    let tools = tool::accept(tools).map_err(anyhow::Error::msg)?;
    provider.as_deref().map_or(Ok(()), check_provider)?;
    let mut plugin = Arc::into_inner(plugin).context("it is still held by its first call")?;
    plugin.tools = tools;
    plugin.commands = command::accept(commands)?;
    plugin.provider = provider;
    if let Some(described) = described {
        let wants = described.wants.into_iter().map(|want| GrantRequest { grant: want.grant, why: want.why });
        let manifest = Manifest {
            name: Some(described.name),
            version: described.version,
            about: described.about,
            wants: wants.collect(),
            config_schema: described.config_schema.and_then(|schema| super::parse_json(&schema).ok()),
            after_turn: AfterTurnScope::default(),
        };
        plugin.describe(manifest)?;
        plugin.check_config()?;
    }
    Ok(plugin)
}

/// A contract of another version, or one that nobody knows, is named before wasmtime says it in its own words.
fn check_contracts(component: &Component) -> Result<()> {
    let engine = component.engine();
    let ty = component.component_type();
    for (name, item) in ty.exports(engine) {
        if !matches!(item.ty, ComponentItem::ComponentInstance(_)) {
            continue;
        }
        let Some((interface, version)) = contract(name) else {
            continue;
        };
        let offered = offered(|served| served == interface);
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

/// The versions of those contracts that a plugin may export.
fn offered(is_meant: impl Fn(&str) -> bool) -> Vec<&'static str> {
    SERVED.iter().filter(|(interface, _)| is_meant(interface)).map(|(_, version)| *version).collect()
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

/// What stands before the colon in a model's name.
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

/// Whether that is a SHA-256 in hex.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// SHA-256, in hex.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
