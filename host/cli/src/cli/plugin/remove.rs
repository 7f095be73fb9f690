//! `plugin remove`: removes a plugin of the user and its grants. `plugin rollback` restores both.

use super::gate;
use anyhow::Result;
use bub_config::Config;
use bub_permissions::shell_word;
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::plugin;
use bub_runtime::plugin::PluginFiles;
use bub_runtime::plugin::Source;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) async fn run(name: &str, config: Config, workspace: &Path) -> Result<ExitCode> {
    let files = PluginFiles::new(&config, name)?;
    if !files.exists() {
        return Err(absent(name, &config, workspace));
    }
    let is_gate = config.gates().any(|gate| gate == name);
    let (file, home) = (config.file(), config.home.clone());
    // The calls that it refuses are known only while it is loaded; another error does not prevent the removal.
    let host = Host::start(config, workspace, Box::new(Printer)).await.ok();
    let released = host.as_ref().and_then(|host| {
        let plugins = host.plugins();
        let plugin = plugins.iter().find(|plugin| plugin.name == name && plugin.source == Source::User)?;
        gate::released(host, plugin)
    });
    files.remove()?;
    plugin::plugin_lock::note_removal(&home, name)?;
    let mut out = std::io::stdout();
    writeln!(out, "plugin `{name}` is removed with its grants; to restore both: bub-wasm plugin rollback {name}")?;
    if let Some(calls) = &released {
        writeln!(out, "it was asked about {calls}: it can no longer deny them")?;
    }
    if is_gate {
        writeln!(out, "it is a gate: {}", gate::away(name))?;
    }
    if !bub_config::edit::read_plugin(&file, name)?.is_empty() {
        writeln!(out, "other settings in `[plugins.{name}]` of config.toml are kept")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The error for a missing plugin, with an alternative.
fn absent(name: &str, config: &Config, workspace: &Path) -> anyhow::Error {
    if plugin::is_embedded(name) {
        return anyhow::anyhow!(
            "plugin `{name}` is part of this program; to switch it off, set `enabled = false` in `[plugins.{name}]` of config.toml"
        );
    }
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let file = plugin::workspace_dir(config, &workspace).map(|dir| dir.join(format!("{name}.wasm")));
    if let Some(file) = file.filter(|file| file.exists()) {
        return anyhow::anyhow!(
            "plugin `{name}` is this workspace's; to run it no longer: bub-wasm plugin trust --revoke {}",
            shell_word(&file.to_string_lossy())
        );
    }
    let files = std::fs::read_dir(plugin::user_dir(config)).into_iter().flatten().flatten();
    let names: Vec<String> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    anyhow::anyhow!("there is no plugin `{name}`{}", bub_types::suggest::hint(name, names.iter().map(String::as_str)))
}
