//! `wasi:filesystem`: the directories that a plugin's grants open, and nothing else.

use crate::host::Host;
use crate::plugin::Plugin;
use crate::turn::Turn;
use std::path::{Path, PathBuf};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// Stands in a grant for the directory that the turn is about.
const WORKSPACE: &str = "<workspace>";

/// Opens what `fs:PATH:ro` and `fs:PATH:rw` name, each under its own path; the workspace is where relative paths start.
pub(crate) fn open(builder: &mut WasiCtxBuilder, host: &Host, plugin: &Plugin, turn: Option<&Turn>) {
    for grant in host.ledger.held(plugin, "fs:") {
        let Some((path, mode)) = grant.rsplit_once(':') else { continue };
        let perms = if mode == "rw" { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let opened = resolve(host, path).and_then(|found| {
            let name = if path == WORKSPACE { ".".to_owned() } else { found.to_string_lossy().into_owned() };
            builder.preopened_dir(&found, name, perms).map(drop).map_err(|error| error.to_string())
        });
        if let (Ok(()), Some(turn)) = (&opened, turn) {
            turn.used(plugin, &format!("fs:{grant}"));
        }
        if let Err(reason) = opened {
            tracing::warn!("plugin `{}` does not get `fs:{grant}`: {reason}", plugin.name);
        }
    }
}

/// The directory, if it holds nothing of the program's own: who may write configuration or plugins gives itself grants,
/// and who may read secrets needs none.
fn resolve(host: &Host, path: &str) -> Result<PathBuf, String> {
    let path = if path == WORKSPACE { host.workspace.clone() } else { PathBuf::from(path) };
    let found = path.canonicalize().map_err(|error| error.to_string().to_lowercase())?;
    let home = host.config.home.canonicalize().unwrap_or_else(|_| host.config.home.clone());
    if meets(&found, &home) {
        return Err(format!("`{}` is where bub-wasm keeps its own files, or holds it", home.display()));
    }
    Ok(found)
}

fn meets(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
