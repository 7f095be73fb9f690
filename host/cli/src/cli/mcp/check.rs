//! `mcp check`: asks servers what they offer.

use super::{offer, section};
use anyhow::{Context, Result};
use bub_config::Config;
use bub_types::text::one_line;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of the server [default: all that are switched on]
    #[arg(value_parser = section::name)]
    name: Option<String>,
    /// Accept the tools that the servers have now
    #[arg(long)]
    accept: bool,
}

/// 1: a server did not answer, or has tools that are not accepted.
pub(super) async fn run(arguments: &Arguments, config: &Config, workspace: &Path) -> Result<ExitCode> {
    let names: Vec<String> = match &arguments.name {
        Some(name) => vec![name.clone()],
        None => config.mcp_servers().map(|(name, _)| name.to_owned()).collect(),
    };
    let mut out = std::io::stdout();
    if names.is_empty() {
        writeln!(out, "no server is configured: `bub-wasm mcp add NAME` adds one")?;
    }
    let mut is_good = true;
    for name in &names {
        match check(&mut out, config, workspace, name, arguments.accept).await {
            Ok(accepted) => is_good &= accepted,
            // With one server, its error is that of the command.
            Err(error) if names.len() == 1 => return Err(error),
            Err(error) => {
                writeln!(std::io::stderr(), "error: {}", one_line(&format!("server `{name}`: {error:#}")))?;
                is_good = false;
            }
        }
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn check(out: &mut impl Write, config: &Config, workspace: &Path, name: &str, accepts: bool) -> Result<bool> {
    let server = config.mcp.get(name).with_context(|| section::unknown(config, name))?;
    let compared = offer::ask(&config.home, workspace, name).await?;
    compared.write(out, server)?;
    match (compared.is_accepted, accepts) {
        (true, _) => writeln!(out, "these are accepted")?,
        (false, true) => {
            compared.accept(config)?;
            writeln!(out, "these are accepted now")?;
        }
        (false, false) => writeln!(out, "these are not accepted; to accept them: bub-wasm mcp check {name} --accept")?,
    }
    Ok(compared.is_accepted || accepts)
}
