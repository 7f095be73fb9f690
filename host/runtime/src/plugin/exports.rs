//! The contracts that a component exports, by their names: known from its bytes, so that no plugin is compiled to learn which
//! hooks it implements.

use super::loaded::Plugin;
use anyhow::{Result, bail};
use bub_types::hook::Hook;

/// The version of everything that a plugin may import.
const IMPORTED: &str = "0.1.0";

/// A part of the hook `store` that a keeper of tapes may leave out.
const STORE_QUERY: &str = "bub:tape/store-query";

/// The prompt hook, and the version of it that sees the prompts of other plugins.
const PROMPT_ON_TRIAL: (&str, &str) = ("bub:hooks/build-prompt", "0.2.0");

/// The contracts that a component exports, each by name and version as the host serves it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exported(Vec<(&'static str, &'static str)>);

impl Exported {
    /// Those of the names that are served.
    ///
    /// # Errors
    ///
    /// A contract or a version that this host does not know, and contracts that do not go together.
    pub(super) fn new(
        exports: &[impl AsRef<str>],
        imports: &[impl AsRef<str>],
        served: &[(&'static str, &'static str)],
    ) -> Result<Self> {
        let exports: Vec<&str> = exports.iter().map(AsRef::as_ref).collect();
        for name in &exports {
            let Some((interface, version)) = contract(name) else { continue };
            let offered: Vec<&str> =
                served.iter().filter(|(served, _)| *served == interface).map(|(_, version)| *version).collect();
            if offered.is_empty() {
                bail!("it exports `{name}`, which is no contract of this host");
            }
            if !offered.iter().any(|offered| compatible(version, offered)) {
                bail!("it exports `{name}`, which this host does not know; it offers {}", offered.join(" and "));
            }
        }
        for name in imports.iter().map(AsRef::as_ref) {
            if let Some((_, version)) = contract(name)
                && !compatible(version, IMPORTED)
            {
                bail!("it imports `{name}`, which this host does not know; it offers {IMPORTED}");
            }
        }
        let is_exported = |(interface, version): &&(&'static str, &'static str)| {
            let mut contracts = exports.iter().filter_map(|name| contract(name));
            contracts.any(|(name, found)| name == *interface && compatible(found, version))
        };
        let exported = Self(served.iter().filter(is_exported).copied().collect());
        if exported.has("bub:hooks/run-model") && exported.has("bub:hooks/run-model-stream") {
            bail!("it exports both `run-model` and `run-model-stream`; a plugin exports one of them");
        }
        if exported.has(STORE_QUERY) && !exported.has("bub:tape/store") {
            bail!("it exports `store-query` without `store`; a plugin that finds entries keeps the tapes too");
        }
        Ok(exported)
    }

    /// Whether it exports none that is served.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it exports the contract of that name.
    pub(super) fn has(&self, interface: &str) -> bool {
        self.0.iter().any(|(name, _)| *name == interface)
    }

    /// The hooks among them, each once. A part of `store` is no hook of its own.
    pub(super) fn hooks(&self) -> Vec<Hook> {
        let mut hooks = Vec::new();
        for (name, _) in self.0.iter().filter(|(name, _)| *name != STORE_QUERY) {
            if let Some(hook) = Hook::from_name(last(name))
                && !hooks.contains(&hook)
            {
                hooks.push(hook);
            }
        }
        hooks
    }
}

impl Plugin {
    /// The version in which it is asked for the contract of that last name.
    pub fn version(&self, hook: &str) -> Option<&'static str> {
        self.exported.0.iter().rev().find(|(name, _)| last(name) == hook).map(|(_, version)| *version)
    }

    /// Whether, as a keeper of tapes, it finds entries itself.
    pub fn answers_queries(&self) -> bool {
        self.exported.has(STORE_QUERY)
    }

    /// Whether it exports the version of `build-prompt` that sees the prompts of other plugins.
    pub(crate) fn adds_to_prompt(&self) -> bool {
        self.exported.0.contains(&PROMPT_ON_TRIAL)
    }
}

fn last(interface: &str) -> &str {
    interface.rsplit('/').next().unwrap_or(interface)
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
