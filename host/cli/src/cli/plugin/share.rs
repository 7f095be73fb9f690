//! `plugin share`: stores a plugin for all workers as it is here, such as one that was there before or whose settings
//! were written by hand. The storing itself happens behind it, as for every command that changes plugins.

use anyhow::{Result, bail};
use bub_config::Config;
use bub_runtime::plugin::PluginFiles;
use std::process::ExitCode;

/// # Errors
///
/// There is no such plugin, or plugins are not shared.
pub(super) fn run(name: &str, config: &Config) -> Result<ExitCode> {
    if !config.shares_plugins() {
        bail!(
            "plugins of this home are its own; to share them, set `tape_store = \"postgres://HOST/NAME\"` in config.toml, \
             and no `plugin_store = \"local\"`"
        );
    }
    let files = PluginFiles::new(config, name)?;
    if !files.exists() && !config.plugins.contains_key(name) {
        let hint = bub_types::suggest::hint(name, config.plugin_tables());
        bail!("there is no plugin `{name}`, and no `[plugins.{name}]` in config.toml{hint}");
    }
    println!("plugin `{name}` is for all workers as it is here");
    Ok(ExitCode::SUCCESS)
}
