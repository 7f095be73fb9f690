//! What a server offers: asked of the guest `mcp`, compared with what was accepted, accepted.

use super::section;
use crate::cli::run::on_signal;
use crate::cli::style::Style;
use crate::cli::{diff, text};
use anyhow::{Context, Result, bail, ensure};
use bub_config::{Config, McpServer};
use bub_runtime::channel::Printer;
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::host::Host;
use bub_runtime::plugin::{MCP_GUEST, MCP_INSPECT, McpList, McpOffer, digest, effect_name};
use bub_runtime::turn::CallScope;
use bub_system::files::{Draft, make_private_dir};
use bub_types::ToolSpec;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// What a server offers, and what was accepted of it.
pub(super) struct Compared {
    name: String,
    offer: McpOffer,
    list: McpList,
    /// None: nothing was accepted, or what was accepted is gone.
    accepted: Option<McpList>,
    pub(super) is_accepted: bool,
}

/// Asks a server of the configuration as it is in the file now.
///
/// # Errors
///
/// The server cannot be started or reached, or its answer is no list of tools.
pub(super) async fn ask(home: &Path, workspace: &Path, name: &str) -> Result<Compared> {
    let mut config = Config::load(Some(home))?;
    let server = config.mcp.get(name).cloned().with_context(|| section::unknown(&config, name))?;
    ensure!(server.enabled, "server `{name}` is switched off by `enabled = false` in `[mcp.{name}]` of config.toml");
    ensure!(
        config.plugin(MCP_GUEST).enabled,
        "the plugin `{MCP_GUEST}` is switched off by `enabled = false` in `[plugins.{MCP_GUEST}]` of config.toml"
    );
    // The other servers are not asked.
    config.mcp.retain(|other, _| other == name);
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    let mut cancel = on_signal()?;
    let calls = CallScope::new(&host);
    let arguments = [name.to_owned()];
    let outcome = tokio::select! {
        biased;
        _ = cancel.wait_for(|cancelled| *cancelled) => Err(Failure::Cancelled),
        outcome = hooks::run_command(&calls, MCP_INSPECT, &arguments) => outcome,
    };
    let accepted = McpList::accepted(&host.config, name, &server);
    host.close().await;
    let said = match outcome {
        Ok(Some(said)) => said,
        Ok(None) => bail!("the plugin `{MCP_GUEST}` did not load"),
        Err(Failure::Hook { error, .. }) => bail!("{}", text::line(&error.message)),
        Err(error) => return Err(error.into()),
    };
    let offer: McpOffer = serde_json::from_str(&said).context("the plugin answered what it should not")?;
    let list = McpList::parse(&offer.list).map_err(|why| anyhow::anyhow!("the list of server `{name}`: {why}"))?;
    let accepted = accepted.unwrap_or_else(|why| {
        tracing::warn!("server `{name}`: {why}");
        None
    });
    let is_accepted = accepted.is_some() && server.digest == Some(digest(offer.list.as_bytes()));
    Ok(Compared { name: name.to_owned(), offer, list, accepted, is_accepted })
}

impl Compared {
    /// Prints the tools with their effects, and what differs from what was accepted.
    ///
    /// # Errors
    ///
    /// The output is closed.
    pub(super) fn write(&self, out: &mut impl Write, server: &McpServer) -> Result<()> {
        let Self { name, offer, list, .. } = self;
        let (specs, mut left_out) = list.specs(name, server);
        let tools = text::count(specs.len() as u64, "tool", "tools");
        let own_name = if offer.server.is_empty() { "without a name" } else { &offer.server };
        let own_name = text::cut(own_name, 60);
        writeln!(out, "server `{name}` ({own_name}, revision {}): {tools}", text::cut(&offer.protocol, 20))?;
        for ToolSpec { name: tool, effect, description, .. } in &specs {
            let about = description.split_once("] ").map_or(description.as_str(), |(_, about)| about);
            writeln!(out, "  {tool:<40} {:<5} {}", effect_name(*effect), text::cut(about, 60))?;
        }
        left_out.extend(offer.left_out.iter().map(|why| text::line(why)));
        for why in left_out {
            writeln!(out, "  left out: {why}")?;
        }
        if let Some(accepted) = self.accepted.as_ref().filter(|_| !self.is_accepted) {
            self.write_difference(out, accepted)?;
        }
        Ok(())
    }

    fn write_difference(&self, out: &mut impl Write, accepted: &McpList) -> Result<()> {
        let shown = |list: &McpList| -> BTreeMap<String, String> {
            let tool = |tool: &bub_runtime::plugin::McpTool| {
                let hints = format!("{:?}", tool.hints);
                (tool.name.clone(), format!("{}\n{:#}\n{hints}\n", tool.description, tool.parameters))
            };
            list.tools.iter().map(tool).collect()
        };
        let (old, new) = (shown(accepted), shown(&self.list));
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            writeln!(out, "- tool `{}` is gone", text::cut(name, 60))?;
        }
        for (name, now) in &new {
            match old.get(name) {
                None => writeln!(out, "+ tool `{}` is new", text::cut(name, 60))?,
                Some(before) if before == now => {}
                Some(before) => {
                    writeln!(out, "~ tool `{}` is different:", text::cut(name, 60))?;
                    for line in diff::lines(before, now, text::WIDTH, Style::for_stdout()) {
                        writeln!(out, "    {line}")?;
                    }
                }
            }
        }
        for (what, before, now) in
            [("resources", accepted.resources, self.list.resources), ("prompts", accepted.prompts, self.list.prompts)]
        {
            match (before, now) {
                (true, false) => writeln!(out, "- it has no {what} any more")?,
                (false, true) => writeln!(out, "+ it has {what} now")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes down the list that the server has now as what the user has accepted.
    ///
    /// # Errors
    ///
    /// The file or config.toml cannot be written.
    pub(super) fn accept(&self, config: &Config) -> Result<()> {
        let path = config.mcp_list(&self.name);
        let write = || {
            path.parent().map_or(Ok(()), make_private_dir)?;
            let mut draft = Draft::new(&path, 0o600)?;
            draft.write_all(self.offer.list.as_bytes())?;
            draft.publish_durably()
        };
        write().with_context(|| format!("`{}` cannot be written", path.display()))?;
        // The digest comes last: without it nothing is used, and with another one neither.
        section::accept(config, &self.name, &digest(self.offer.list.as_bytes()))
    }
}
