//! The introduction of a plugin: what its manifest declares, and what it answers where that says nothing.

use super::code::{Introduction, Queried};
use super::command;
use super::exports::Exported;
use super::loaded::Plugin;
use super::manifest::{Declared, DeclaredChannel, Manifest, tools_differ};
use super::tool;
use anyhow::{Result, bail};
use bub_types::text::one_line;

/// The longest name of a model provider, in bytes.
const MAX_PROVIDER: usize = 64;

impl Queried {
    /// All that a plugin with those exports can be asked. The manifest of a section is read without running anything, and
    /// takes precedence over an exported one.
    pub(super) fn of(exported: &Exported, has_section: bool) -> Self {
        Self {
            tools: exported.has("bub:tools/tools"),
            commands: exported.has("bub:hooks/commands"),
            provider: exported.has("bub:model/provider"),
            channel: exported.has("bub:channel/channel"),
            manifest: !has_section && exported.has("bub:plugin/manifest"),
        }
    }

    /// The part of it that is worth asking for: a channel that is not declared is asked when channels are looked for.
    pub(super) fn checked_by(self, manifest: &Manifest) -> Self {
        Self { channel: self.channel && manifest.channel.as_ref().and_then(Declared::fixed).is_some(), ..self }
    }

    /// The part of it that `manifest` does not declare, and which has to be known before the plugin serves.
    pub(super) fn undeclared(self, manifest: &Manifest) -> Self {
        Self {
            tools: self.tools && manifest.tools.as_ref().and_then(Declared::fixed).is_none(),
            commands: self.commands && manifest.commands.as_ref().and_then(Declared::fixed).is_none(),
            provider: self.provider && manifest.provider.as_ref().and_then(Declared::fixed).is_none(),
            channel: false,
            manifest: self.manifest,
        }
    }
}

impl Plugin {
    /// Whether it has to be asked whenever it is loaded.
    pub(super) fn is_dynamic(&self) -> bool {
        let manifest = &self.manifest;
        matches!(manifest.tools, Some(Declared::Dynamic))
            || matches!(manifest.commands, Some(Declared::Dynamic))
            || matches!(manifest.provider, Some(Declared::Dynamic))
    }

    /// The channel that its manifest declares.
    pub fn declared_channel(&self) -> Option<&DeclaredChannel> {
        self.manifest.channel.as_ref().and_then(Declared::fixed)
    }

    /// Takes its tools, its commands and its model provider: from its manifest, or else from its answer.
    pub(super) fn take(&mut self, answer: Introduction) -> Result<()> {
        if let Some(manifest) = answer.manifest {
            self.describe(manifest)?;
            self.check_config()?;
        }
        let manifest = &self.manifest;
        let tools = match manifest.tools.as_ref().and_then(Declared::fixed) {
            Some(declared) if self.asked.tools => declared.iter().map(|tool| tool.spec()).collect(),
            Some(declared) if !declared.is_empty() => bail!("its manifest declares tools, and it exports none"),
            Some(_) => Vec::new(),
            None => answer.tools,
        };
        let commands = match manifest.commands.as_ref().and_then(Declared::fixed) {
            Some(declared) if self.asked.commands => {
                declared.iter().map(|command| (command.name.clone(), command.about.clone())).collect()
            }
            Some(declared) if !declared.is_empty() => bail!("its manifest declares commands, and it exports none"),
            Some(_) => Vec::new(),
            None => answer.commands,
        };
        let provider = match manifest.provider.as_ref().and_then(Declared::fixed) {
            Some(declared) if self.asked.provider => Some(declared.name.clone()),
            Some(_) => bail!("its manifest declares a model provider, and it exports none"),
            None => answer.provider,
        };
        if manifest.channel.is_some() && !self.asked.channel {
            bail!("its manifest declares a channel, and it exports none");
        }
        provider.as_deref().map_or(Ok(()), check_provider)?;
        self.tools = tool::accept(tools).map_err(anyhow::Error::msg)?;
        self.commands = command::accept(commands)?;
        self.provider = provider;
        Ok(())
    }

    /// Whether it answers what its manifest declares.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub(super) fn check_answer(&self, answer: &Introduction) -> Result<(), String> {
        let manifest = &self.manifest;
        if let Some(declared) = manifest.tools.as_ref().and_then(Declared::fixed)
            && let Some(difference) = tools_differ(declared, &answer.tools)
        {
            return Err(difference);
        }
        if let Some(declared) = manifest.commands.as_ref().and_then(Declared::fixed) {
            let names = |name: &str| one_line(name);
            if let Some((name, _)) =
                answer.commands.iter().find(|(name, _)| !declared.iter().any(|said| said.name == *name))
            {
                return Err(format!("it lists the command `{}`, which its manifest does not declare", names(name)));
            }
            if let Some(said) = declared.iter().find(|said| !answer.commands.iter().any(|(name, _)| *name == said.name))
            {
                return Err(format!(
                    "its manifest declares the command `{}`, which it does not list",
                    names(&said.name)
                ));
            }
        }
        if let (Some(declared), Some(name)) = (manifest.provider.as_ref().and_then(Declared::fixed), &answer.provider)
            && declared.name != *name
        {
            let (found, said) = (one_line(name), one_line(&declared.name));
            return Err(format!("it is the model provider `{found}`, and its manifest declares `{said}`"));
        }
        if let (Some(declared), Some(channel)) = (self.declared_channel(), &answer.channel) {
            return declared.check(channel);
        }
        Ok(())
    }
}

impl DeclaredChannel {
    /// Whether a channel describes itself as it is declared.
    fn check(&self, channel: &Self) -> Result<(), String> {
        if self.name != channel.name {
            let (found, said) = (one_line(&channel.name), one_line(&self.name));
            return Err(format!("it is the channel `{found}`, and its manifest declares `{said}`"));
        }
        let flags = [
            ("needs_debounce", self.needs_debounce, channel.needs_debounce),
            // Where a secret decides, the answer depends on whether it is set.
            (
                "supports_polling",
                self.supports_polling,
                if self.polling_secret.is_some() { self.supports_polling } else { channel.supports_polling },
            ),
            ("webhook", self.webhook, channel.webhook),
            ("supports_edits", self.supports_edits, channel.supports_edits),
            ("deduplicates", self.deduplicates, channel.deduplicates),
        ];
        match flags.into_iter().find(|(_, said, found)| said != found) {
            Some((flag, said, found)) => {
                Err(format!("its channel says that `{flag}` is {found}, and its manifest declares {said}"))
            }
            None => Ok(()),
        }
    }
}

/// Checks the name of a provider, which is before the colon in a model's name.
fn check_provider(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > MAX_PROVIDER || !name.chars().all(is_plain) {
        let shown = bub_types::text::escaped(name, MAX_PROVIDER);
        bail!("its model provider `{shown}` has no name of at most {MAX_PROVIDER} letters, digits, `_`, `-` and `.`");
    }
    Ok(())
}
