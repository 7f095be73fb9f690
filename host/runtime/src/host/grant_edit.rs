//! Changes of grants in the configuration: by the command line and over HTTP.

use super::Host;
use crate::plugin::{Plugin, Source};
use anyhow::{Result, bail};
use bub_config::edit;
use bub_permissions::{Grant, Grants};
use bub_types::text::one_line;

/// The grants of a plugin.
pub fn given(host: &Host, plugin: &Plugin) -> Grants {
    host.grants.given(plugin, Clone::clone)
}

/// Checks that the plugin requests all of these grants.
///
/// # Errors
///
/// A grant is not requested.
pub fn check_requested(plugin: &Plugin, grants: &[Grant]) -> Result<()> {
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
pub fn parse(grants: &[String]) -> Result<Vec<Grant>> {
    let parsed = grants.iter().map(|grant| grant.parse()).collect::<Result<_, String>>();
    parsed.map_err(|reason| anyhow::anyhow!("cannot grant {reason}"))
}

/// Adds these grants to those of the plugin. Grants of other bytes do not stay.
///
/// # Errors
///
/// The configuration cannot be written.
pub fn add(host: &Host, plugin: &Plugin, grants: &[Grant], follow: bool) -> Result<()> {
    let mut all = given(host, plugin);
    for grant in grants {
        all.insert(grant.clone());
    }
    write(host, plugin, &all, follow).map(drop)
}

/// The result of [`remove`].
#[derive(Debug)]
pub struct Revoked {
    /// The grants that were removed.
    pub grants: Vec<String>,
    /// Whether `follow` ended with the last of them.
    pub stops_following: bool,
}

/// Removes the named grants of a plugin; all of them if none is named.
///
/// # Errors
///
/// It was not given one of them, or the configuration cannot be written.
pub fn remove(host: &Host, plugin: &Plugin, grants: &[String]) -> Result<Revoked> {
    let held = given(host, plugin);
    let mut left = held.clone();
    let grants: Vec<String> = match grants {
        [] => held.iter().map(|grant| grant.as_str().to_owned()).collect(),
        grants => grants.to_vec(),
    };
    for grant in &grants {
        // An invalid grant was never given.
        if !grant.parse().is_ok_and(|grant| left.remove(&grant)) {
            let hint = bub_types::suggest::hint(grant, held.iter().map(Grant::as_str));
            bail!("plugin `{}` was not given `{}`{hint}", plugin.name, one_line(grant));
        }
    }
    let stops_following = write(host, plugin, &left, false)?;
    Ok(Revoked { grants, stops_following })
}

/// Stores the grants of a plugin and its digest. Removing the last grant also ends `follow`, which must be given again.
/// Returns whether `follow` ended.
///
/// # Errors
///
/// The configuration cannot be written.
pub fn write(host: &Host, plugin: &Plugin, grants: &Grants, follow: bool) -> Result<bool> {
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
