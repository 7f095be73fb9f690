//! `plugin add`: installs a component after its owner has reviewed it.

use super::grant_prompt::GrantOptions;
use super::incoming::Incoming;
use super::install::{Earlier, Installed, install};
use super::{fetch, registry};
use anyhow::{Context, Result, ensure};
use bub_config::Config;
use bub_registry::Reference;
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::plugin;
use bub_runtime::plugin::PluginFiles;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Component file, an https URL (which needs --sha256), or a plugin in a registry: `oci://HOST/NAME:VERSION`, or
    /// `NAME@VERSION` in the default registry
    #[arg(value_name = "FILE|URL|REFERENCE")]
    from: String,
    /// Expected SHA-256 of the component, in hex
    #[arg(long, value_name = "DIGEST")]
    sha256: Option<String>,
    /// Name of the plugin [default: the name of the file]
    #[arg(long)]
    name: Option<String>,
    /// Follow a change of the signer: the id of the new key, the new identity, the name of either, or `none`
    #[arg(long, value_name = "SIGNER")]
    accept_signer: Option<String>,
    #[command(flatten)]
    grant_options: GrantOptions,
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { from, sha256, name, accept_signer, grant_options } = arguments;
    let choice = grant_options.parse()?;
    let shown = fetch::shown(&from);
    let reference = match registry::is_reference(&from) {
        true => Some(Reference::parse(&from, config.registry.default.as_deref())?),
        false => None,
    };
    let of_file = match &reference {
        Some(reference) => Some(reference.repository.name().to_owned()),
        None => fetch::name_of(&from),
    };
    let as_written = name.is_none();
    let name = name.or(of_file).with_context(|| format!("`{shown}` names no file; --name gives one"))?;
    let check = |name: &str| {
        let files = PluginFiles::new(&config, name);
        files.map(drop).map_err(|error| anyhow::anyhow!("{error:#}; --name gives it another"))
    };
    // An invalid name is reported before the component is read.
    check(&name)?;
    let mut out = std::io::stdout();
    let incoming = match &reference {
        Some(reference) => {
            let incoming = registry::fetch(&config, reference, &name).await?;
            let digest = plugin::digest(&incoming.bytes);
            let expected = sha256.as_deref().unwrap_or(&digest);
            ensure!(expected.eq_ignore_ascii_case(&digest), "`{}` has another SHA-256: {digest}", incoming.shown);
            incoming
        }
        None => {
            let mut incoming = Incoming::read(&config, &from, sha256.as_deref(), &name).await?;
            if as_written {
                incoming.name = fetch::own_name(incoming.name, &incoming.bytes);
                check(&incoming.name)?;
            }
            incoming
        }
    };
    let name = &incoming.name;
    let signer = incoming.verify(&config, accept_signer.as_deref())?;
    let is_off = !config.plugin(name).enabled && !plugin::is_embedded(name);
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    let installed = install(&mut out, &host, &incoming, signer.as_ref(), &choice, Earlier::Asked).await?;
    if installed == Installed::No {
        return Ok(ExitCode::FAILURE);
    }
    if is_off {
        writeln!(out, "it is switched off by `enabled = false` in `[plugins.{name}]` of config.toml")?;
    }
    Ok(ExitCode::SUCCESS)
}
