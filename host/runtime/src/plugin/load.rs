//! Bytes to a plugin. Every refusal is worded here.

use super::cache::{Cache, Described};
use super::code::{CodeLinker, ExportQuery, Introduction, Queried};
use super::compiler::is_kept;
use super::component_bytes::ComponentBytes;
use super::embedded::Embedded;
use super::engine::Engines;
use super::exports::Exported;
use super::grant_registry::GrantRegistry;
use super::line_rate::LineRate;
use super::loaded::{Plugin, Source};
use super::manifest::Manifest;
use super::open::{open, query_exports};
use super::open_ahead::OpenAhead;
use super::outline::Outline;
use super::tool::accept_all;
use anyhow::{Context, Result, bail};
use bub_config::{Config, Limits};
use bub_permissions::Grants;
use bub_types::ToolSpec;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio::sync::OnceCell;
use wasmparser::Parser;

/// Which plugins are opened when they are loaded, instead of at the first call into them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// None.
    AtFirstCall,
    /// Those of files: a version that cannot be called must not take the place of one that can.
    Files,
    /// All, so that what is wrong with any is known.
    All,
}

/// The context that plugins are loaded with.
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
    /// Which plugins are opened at once.
    pub opening: Opening,
    /// Gets the embedded guests as they are loaded, to open those that the first turn will call.
    pub ahead: Option<&'a OpenAhead>,
    /// Whether embedded guests are compiled quickly where no compiled code is kept.
    pub compiles_quickly: bool,
}

/// A plugin before anything of it has run.
pub(super) struct Candidate<'a> {
    pub name: &'a str,
    pub source: Source,
    pub file: Option<PathBuf>,
    pub component: Component<'a>,
    /// Names that it may not claim.
    pub reserved: Vec<&'static str>,
    pub settings: &'a bub_config::Plugin,
    pub limits: Limits,
    /// Grants of an embedded guest beside those of its row: what the configuration is about.
    pub grants: Grants,
    /// The tools of an embedded guest that the configuration lists, so that it is not asked for them.
    pub tools: Option<Vec<ToolSpec>>,
}

/// The component of a plugin.
pub(super) enum Component<'a> {
    /// One of the program's own.
    Embedded(&'static Embedded),
    /// The bytes of a file, and their digest.
    File(Cow<'a, [u8]>, String),
}

/// Loads a plugin: what can be known of it without running it is checked, and what its manifest does not declare is asked.
///
/// # Errors
///
/// Why it would not serve.
pub(super) async fn load(with: &LoadContext<'_>, mut candidate: Candidate<'_>) -> Result<Arc<Plugin>> {
    let supplied = candidate.tools.take();
    let (mut plugin, is_plugin) = outlined(with, candidate)?;
    let mut answer = Introduction::default();
    let mut undeclared = plugin.asked.undeclared(&plugin.manifest);
    undeclared.tools &= supplied.is_none();
    if undeclared != Queried::default() {
        let kept = if plugin.is_dynamic() { None } else { Described::read(with.cache, &plugin) };
        answer = match kept {
            Some(kept) => kept,
            None => {
                let asked = Arc::new(plugin);
                let answer = query_exports(with, &asked).await?;
                plugin = Arc::into_inner(asked).context("it is still held by its first call")?;
                plugin.opened = OnceCell::new_with(Some(Ok(())));
                answer
            }
        };
    }
    plugin.take(answer)?;
    if let Some(tools) = supplied {
        plugin.tools = accept_all(tools).map_err(anyhow::Error::msg)?;
    }
    if plugin.source != Source::Embedded && is_kept(with.engines, with.cache, &plugin.digest) {
        plugin.bytes.drop_held();
    }
    let plugin = Arc::new(plugin);
    if let Some(ahead) = with.ahead {
        ahead.consider(&plugin);
    }
    let is_opened = match with.opening {
        Opening::AtFirstCall => !is_plugin,
        Opening::Files => !is_plugin || plugin.source != Source::Embedded,
        Opening::All => true,
    };
    if is_opened {
        open(with, &plugin).await?;
    }
    if !is_plugin {
        bail!("it exports none of this host's contracts");
    }
    Ok(plugin)
}

/// A plugin as far as its bytes say what it is, and whether they say that it is one. The compiler reports other
/// errors in them.
fn outlined(with: &LoadContext<'_>, candidate: Candidate<'_>) -> Result<(Plugin, bool)> {
    let served = with.linker.served();
    let (digest, table, exported, imported, manifest, bytes, is_plugin);
    match candidate.component {
        Component::Embedded(embedded) => {
            let outline = &embedded.outline;
            digest = outline.digest.to_owned();
            table = embedded.grants.iter().cloned().chain(candidate.grants.iter().cloned()).collect();
            exported = Exported::new(outline.exports, outline.imports, served)?;
            imported = outline.imports.iter().map(|name| (*name).to_owned()).collect();
            manifest = Some(Manifest::unchecked(outline.manifest.as_bytes())?);
            (bytes, is_plugin) = (ComponentBytes::Embedded(embedded), true);
        }
        Component::File(component, its_digest) => {
            if Parser::is_core_wasm(&component) {
                bail!(
                    "it is a core module, and no component: build it for the target `wasm32-wasip2`, or make a component of it by `wasm-tools component new`"
                );
            }
            let outline = Outline::read(&component);
            if outline.has_two_manifests {
                bail!("it has two sections `bub:manifest`");
            }
            manifest = outline.manifest.map(Manifest::unchecked).transpose()?;
            exported = match outline.is_whole {
                true => Exported::new(&outline.exports, &outline.imports, served)?,
                false => Exported::default(),
            };
            is_plugin = !exported.is_empty();
            imported = outline.imports.into_iter().collect();
            (digest, table) = (its_digest, Grants::default());
            bytes = ComponentBytes::read(component.into_owned());
        }
    }
    let mut plugin = Plugin {
        name: candidate.name.to_owned(),
        source: candidate.source,
        file: candidate.file,
        digest,
        hooks: exported.hooks(),
        wants: None,
        manifest: Manifest::default(),
        table,
        reserved: candidate.reserved,
        on_fault: candidate.settings.on_fault,
        limits: candidate.limits,
        config: candidate.settings.config.clone(),
        tools: Vec::new(),
        commands: Vec::new(),
        provider: None,
        lines: LineRate::default(),
        asked: Queried::of(&exported, manifest.is_some()),
        exported,
        imported,
        bytes,
        code: OnceLock::new(),
        opened: OnceCell::new(),
        compiling: tokio::sync::Mutex::const_new(()),
        on_demand: OnceLock::new(),
    };
    manifest.map_or(Ok(()), |manifest| plugin.describe(manifest))?;
    plugin.check_config()?;
    Ok((plugin, is_plugin))
}
