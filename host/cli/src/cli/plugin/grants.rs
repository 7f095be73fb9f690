//! `plugin grant` and `plugin revoke`.

use anyhow::{Result, bail};
use bub_permissions::Grant;
use bub_runtime::host::{Host, grant_edit};
use bub_runtime::plugin::{Plugin, Source};
use bub_types::text::one_line;
use std::io::Write;

pub(super) fn grant(out: &mut impl Write, host: &Host, plugin: &Plugin, grants: &[String], follow: bool) -> Result<()> {
    if follow && plugin.source == Source::Workspace {
        bail!("plugin `{}` belongs to the workspace, and its grants are for these bytes alone", plugin.name);
    }
    let grants = if grants.is_empty() { plugin.wanted() } else { grant_edit::parse(grants)? };
    grant_edit::check_requested(plugin, &grants)?;
    give(out, host, plugin, &grants, follow)
}

/// Adds these grants to those of the plugin, and prints them.
///
/// # Errors
///
/// The configuration cannot be written, or the terminal has gone.
pub(super) fn give(out: &mut impl Write, host: &Host, plugin: &Plugin, grants: &[Grant], follow: bool) -> Result<()> {
    grant_edit::add(host, plugin, grants, follow)?;
    let grants: Vec<String> = grants.iter().map(|grant| one_line(grant.as_str())).collect();
    writeln!(out, "plugin `{}` may now: {}", plugin.name, grants.join(" "))?;
    Ok(())
}

pub(super) fn revoke(out: &mut impl Write, host: &Host, plugin: &Plugin, grants: &[String]) -> Result<()> {
    let revoked = grant_edit::remove(host, plugin, grants)?;
    let gone: Vec<String> = revoked.grants.iter().map(|grant| one_line(grant)).collect();
    writeln!(out, "plugin `{}` no longer may: {}", plugin.name, gone.join(" "))?;
    if revoked.stops_following {
        writeln!(out, "its next grants are for the bytes that it has then, unless you give `--follow`")?;
    }
    Ok(())
}
