//! Protects files from a guest that is given directories.

use crate::plugin::Plugin;
use crate::turn::{Denial, DenialReason, Turn};
use bub_system::files::{Change, ProtectedFiles};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, FsResult};

/// The files that are kept from the plugin of one call.
#[derive(Clone)]
pub struct FileGuard {
    /// The files that no plugin may open.
    pub files: Arc<ProtectedFiles>,
    /// The plugin whose calls are checked.
    pub plugin: Arc<Plugin>,
    /// The turn that denials are recorded in, if there is one.
    pub turn: Option<Arc<Turn>>,
}

impl FileGuard {
    pub(super) fn check(&self, from: &Descriptor, path: &str, change: Change) -> FsResult<()> {
        match self.files.allows(open(from), Path::new(path), change) {
            true => Ok(()),
            false => Err(self.refuse(path)),
        }
    }

    /// The answer for a protected file. The log and the turn record it.
    pub(super) fn refuse(&self, path: &str) -> FsError {
        let path = path.escape_debug();
        tracing::warn!(
            "plugin `{}` may not use `{path}`: it is one of the files that bub-wasm obeys",
            self.plugin.name
        );
        if let Some(turn) = &self.turn {
            let (plugin, grant) = (&self.plugin.name, &format!("fs:{path}"));
            let message = &format!("`{path}` is one of the files that bub-wasm obeys");
            turn.denied(Denial { reason: DenialReason::Grant, plugin, tool: "", grant, host: "", message });
        }
        ErrorCode::Access.into()
    }
}

pub(super) fn open(descriptor: &Descriptor) -> BorrowedFd<'_> {
    match descriptor {
        Descriptor::File(file) => file.file.as_fd(),
        Descriptor::Dir(dir) => dir.dir.as_fd(),
    }
}
