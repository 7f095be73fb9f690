//! `wasi:filesystem`: the directories that a plugin's grants open, and nothing else.

use crate::guest::state::During;
use crate::host::Host;
use crate::plugin::{Plugin, Source};
use crate::turn::{Denial, DenialReason, TaintSource, Turn};
use bub_permissions::{Grant, GrantKind, GrantedPath};
use bub_system::files::ProtectedFiles;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// Why a directory is not opened.
enum Refusal {
    /// It is one of those that there may be or not.
    Absent,
    Because(String),
}

/// Opens what `fs:PATH:ro` and `fs:PATH:rw` name, each under its own path; the workspace is where relative paths start.
pub(crate) fn open(
    builder: &mut WasiCtxBuilder,
    host: &Host,
    plugin: &Plugin,
    during: &During<'_>,
    protected: &ProtectedFiles,
) {
    let (turn, recording) = (during.turn, during.recording);
    if let Some(directories) = recording.directories() {
        for (path, name, writes) in directories {
            let perms = if writes { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
            if let Err(error) = builder.preopened_dir(&path, &name, perms) {
                tracing::warn!("`{}` cannot be opened for a playback: {error}", path.display());
            }
        }
        return;
    }
    recording.gives_no_directories();
    for grant in host.grants.held(plugin, GrantKind::Fs) {
        let Some((named, writes)) = grant.directory() else { continue };
        let perms = if writes { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let opened = resolve(host, &named, protected).and_then(|found| {
            let name = named.name(&found);
            recording.given_directory(&found, &name, writes);
            let opened = builder.preopened_dir(&found, name, perms).map(drop);
            opened.map_err(|error| Refusal::Because(error.to_string()))
        });
        match (opened, turn) {
            (Ok(()), Some(turn)) => is_open(host, plugin, turn, &named, &grant),
            (Ok(()), None) | (Err(Refusal::Absent), _) => {}
            (Err(Refusal::Because(reason)), turn) => {
                if let Some(turn) = turn {
                    let (plugin, grant) = (&plugin.name, grant.as_str());
                    turn.denied(Denial {
                        reason: DenialReason::Reach,
                        plugin,
                        tool: "",
                        grant,
                        host: "",
                        message: &reason,
                    });
                }
                tracing::warn!("plugin `{}` does not get `{grant}`: {reason}", plugin.name);
            }
        }
    }
}

/// Whether the grant opens the workspace or a part of it.
pub(crate) fn is_workspace(grant: &Grant) -> bool {
    matches!(grant.directory(), Some((GrantedPath::Workspace | GrantedPath::InWorkspace(_), _)))
}

/// Records in the turn that a directory was opened, and taints the turn where that calls for it.
fn is_open(host: &Host, plugin: &Plugin, turn: &Turn, named: &GrantedPath<'_>, grant: &Grant) {
    // Reads of the program's own guests by their table are not recorded.
    if plugin.source != Source::Embedded {
        turn.used(plugin, grant);
    }
    // A part of the workspace is opened for what it says to agents. The plugin's use of it cannot be seen from here,
    // so it counts as read. The whole workspace is opened for tools, which say themselves what they read.
    if let GrantedPath::InWorkspace(inside) = named
        && !host.config.trusts(&turn.workspace)
    {
        turn.taint(TaintSource::workspace(&turn.workspace), || {
            format!("`{inside}` of this untrusted workspace is in the conversation")
        });
    }
}

/// The directory, if it holds no files of the program: a plugin that writes configuration or plugins grants itself,
/// and a plugin that reads secrets needs no grants.
fn resolve(host: &Host, named: &GrantedPath<'_>, protected: &ProtectedFiles) -> Result<PathBuf, Refusal> {
    let found = match named {
        GrantedPath::Path(path) => Path::new(path).canonicalize().map_err(because)?,
        GrantedPath::Workspace => host.workspace.canonicalize().map_err(because)?,
        GrantedPath::InWorkspace(inside) => {
            let found = host.workspace.join(inside).canonicalize().map_err(may_be_absent)?;
            // A link of a workspace leads to what its writer chose.
            if !found.starts_with(&host.workspace) {
                return Err(Refusal::Because("it leads out of the workspace".to_owned()));
            }
            found
        }
        GrantedPath::InHome(inside) => {
            let home = std::env::home_dir().ok_or_else(|| Refusal::Because("there is no home directory".to_owned()))?;
            home.join(inside).canonicalize().map_err(may_be_absent)?
        }
    };
    let home = host.config.home.canonicalize().unwrap_or_else(|_| host.config.home.clone());
    if meets(&found, &home) {
        return Err(Refusal::Because(format!(
            "`{}` is where bub-wasm keeps its own files, or holds it",
            home.display()
        )));
    }
    // The same by another name: the cache elsewhere, a directory behind a link in the home, or a mount.
    if protected.holds(&found) {
        return Err(Refusal::Because(format!("`{}` is where bub-wasm keeps its own files", found.display())));
    }
    Ok(found)
}

fn because(error: io::Error) -> Refusal {
    Refusal::Because(error.to_string().to_lowercase())
}

/// Not every workspace and not every user has that directory.
fn may_be_absent(error: io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Refusal::Absent,
        _ => because(error),
    }
}

fn meets(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
