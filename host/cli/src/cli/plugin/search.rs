//! `plugin search`: plugins of a registry.

use super::registry;
use anyhow::{Context, Result};
use bub_config::Config;
use bub_registry::manifest::{BUNDLE, DESCRIPTION, SIGNATURE};
use bub_registry::{Host, Reference, Repository, SCHEME};
use bub_types::text::{clipped, count, one_line};
use std::io::Write;
use std::process::ExitCode;

/// Plugins that are shown, at most: each takes two requests.
const MAX_SHOWN: usize = 50;

/// The longest description that is shown, in characters.
const MAX_ABOUT: usize = 120;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A part of the name; all plugins unless given
    #[arg(default_value = "")]
    term: String,
    /// The registry, as in `oci://HOST` or `oci://HOST/PATH` [default: `default` of `[registry]` in config.toml]
    #[arg(long, value_name = "REGISTRY")]
    registry: Option<String>,
}

pub(super) async fn run(arguments: Arguments, config: Config) -> Result<ExitCode> {
    let Arguments { term, registry } = arguments;
    let place = registry.or_else(|| config.registry.default.clone()).with_context(|| {
        "there is no default registry: name one by `--registry oci://HOST`, or set `default` in `[registry]` of config.toml"
    })?;
    let place = place.strip_prefix(SCHEME).unwrap_or(&place).trim_end_matches('/');
    let (host, below) = place.split_once('/').unwrap_or((place, ""));
    let host: Host = host.parse()?;
    let registry = registry::open(&config, &host).await?;
    let term = term.to_lowercase();
    let is_meant = |path: &String| {
        let rest = path.strip_prefix(below).map(|rest| rest.trim_start_matches('/'));
        rest.is_some_and(|rest| !rest.is_empty() && rest.contains(&term))
    };
    let paths: Vec<String> = registry.repositories().await?.into_iter().filter(is_meant).collect();
    let mut out = std::io::stdout();
    let mut others = 0;
    for path in paths.iter().take(MAX_SHOWN) {
        let Ok(repository) = format!("{host}/{path}").parse::<Repository>() else {
            others += 1;
            continue;
        };
        let found = registry.describe(&Reference { repository, version: None, digest: None }).await;
        let Ok(found) = found else {
            others += 1;
            continue;
        };
        let about = found.manifest.annotation(DESCRIPTION).map(|about| clipped(&one_line(about), MAX_ABOUT));
        let about = about.filter(|about| !about.is_empty()).map(|about| format!("  {about}")).unwrap_or_default();
        let signed = if [SIGNATURE, BUNDLE].iter().any(|key| found.manifest.annotation(key).is_some()) {
            ""
        } else {
            "  (no signature)"
        };
        writeln!(out, "{}{about}{signed}", found.reference)?;
    }
    if paths.is_empty() {
        writeln!(out, "registry `{host}` has no plugin with `{}` in its name", one_line(&term))?;
    }
    if others > 0 {
        writeln!(out, "{} no plugins with a version", count(others, "other is", "others are"))?;
    }
    if paths.len() > MAX_SHOWN {
        writeln!(out, "and {} more: give a longer part of the name", paths.len() - MAX_SHOWN)?;
    }
    Ok(ExitCode::SUCCESS)
}
