//! `plugin grant` and `plugin revoke`.

use anyhow::{Result, bail};
use bub_config::edit;
use bub_permissions::{Grant, Grants};
use bub_runtime::host::Host;
use bub_runtime::plugin::{Plugin, Source};
use bub_types::text::one_line;
use std::io::Write;

/// The grants of a plugin.
pub(super) fn given(host: &Host, plugin: &Plugin) -> Grants {
    host.grants.given(plugin, Clone::clone)
}

/// Checks that the plugin requests all of these grants.
///
/// # Errors
///
/// A grant is not requested.
pub(super) fn check(plugin: &Plugin, grants: &[Grant]) -> Result<()> {
    match grants.iter().find(|grant| !plugin.asks_for(grant)) {
        Some(grant) => bail!("plugin `{}` does not ask for `{grant}`, so giving it would change nothing", plugin.name),
        None => Ok(()),
    }
}

/// Grants as they were typed.
///
/// # Errors
///
/// A grant is invalid.
pub(super) fn parse(grants: &[String]) -> Result<Vec<Grant>> {
    let parsed = grants.iter().map(|grant| grant.parse()).collect::<Result<_, String>>();
    parsed.map_err(|reason| anyhow::anyhow!("cannot grant {reason}"))
}

pub(super) fn grant(out: &mut impl Write, host: &Host, plugin: &Plugin, grants: &[String], follow: bool) -> Result<()> {
    if follow && plugin.source == Source::Workspace {
        bail!("plugin `{}` belongs to the workspace, and its grants are for these bytes alone", plugin.name);
    }
    let grants = if grants.is_empty() { plugin.wanted() } else { parse(grants)? };
    check(plugin, &grants)?;
    give(out, host, plugin, &grants, follow)
}

/// Adds these grants to those of the plugin, and prints them.
///
/// # Errors
///
/// The configuration cannot be written, or the terminal has gone.
pub(super) fn give(out: &mut impl Write, host: &Host, plugin: &Plugin, grants: &[Grant], follow: bool) -> Result<()> {
    // Grants of other bytes must be named again.
    let mut all = given(host, plugin);
    for grant in grants {
        all.insert(grant.clone());
    }
    write(host, plugin, &all, follow)?;
    let grants: Vec<String> = grants.iter().map(|grant| one_line(grant.as_str())).collect();
    writeln!(out, "plugin `{}` may now: {}", plugin.name, grants.join(" "))?;
    Ok(())
}

pub(super) fn revoke(out: &mut impl Write, host: &Host, plugin: &Plugin, grants: &[String]) -> Result<()> {
    let held = given(host, plugin);
    let mut left = held.clone();
    let gone: Vec<&str> = match grants {
        [] => held.iter().map(Grant::as_str).collect(),
        grants => grants.iter().map(String::as_str).collect(),
    };
    for grant in &gone {
        // An invalid grant was never given.
        if !grant.parse().is_ok_and(|grant| left.remove(&grant)) {
            let hint = bub_types::suggest::hint(grant, held.iter().map(Grant::as_str));
            bail!("plugin `{}` was not given `{grant}`{hint}", plugin.name);
        }
    }
    let stops_following = write(host, plugin, &left, false)?;
    writeln!(out, "plugin `{}` no longer may: {}", plugin.name, gone.join(" "))?;
    if stops_following {
        writeln!(out, "its next grants are for the bytes that it has then, unless you give `--follow`")?;
    }
    Ok(())
}

/// Stores the grants of a plugin and its digest. Removing the last grant also ends `follow`, which must be given again.
/// Returns whether `follow` ended.
///
/// # Errors
///
/// The configuration cannot be written.
pub(super) fn write(host: &Host, plugin: &Plugin, grants: &Grants, follow: bool) -> Result<bool> {
    let mut stops_following = false;
    edit::edit(&host.config.file(), |document| {
        // The plugin of a workspace has no grants by name: they are stored with its trust.
        if plugin.source == Source::Workspace {
            edit::set_list(edit::trusted(document, &plugin.digest)?, "grants", grants.iter().map(Grant::as_str));
            return Ok(());
        }
        let table = edit::plugin(document, &plugin.name)?;
        // Embedded guests change with the program, and no file can take their names.
        if plugin.source == Source::User {
            // All grants may have been revoked, with `follow` kept.
            let had_none =
                table.get("grants").and_then(toml_edit::Item::as_array).is_some_and(toml_edit::Array::is_empty);
            let followed = !had_none && table.get("follow").and_then(toml_edit::Item::as_bool).unwrap_or_default();
            let is_empty = grants.iter().next().is_none();
            stops_following = followed && is_empty;
            if follow || (followed && !is_empty) {
                table["follow"] = toml_edit::value(true);
                table.remove("digest");
            } else {
                table.remove("follow");
                table["digest"] = toml_edit::value(plugin.digest.as_str());
            }
        }
        edit::set_list(table, "grants", grants.iter().map(Grant::as_str));
        Ok(())
    })?;
    // The grant takes effect at once.
    host.grants.reload_now();
    Ok(stops_following)
}
