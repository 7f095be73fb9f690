//! The components that recordings name, by their digests: embedded, installed, or kept as the version before.

use bub_config::Config;
use bub_runtime::plugin::{self, PluginFiles};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where a component is.
#[derive(Clone)]
pub(super) enum Component {
    /// In this program.
    Embedded,
    /// In a file.
    File(PathBuf),
    /// Kept for `plugin rollback`.
    Bytes(Vec<u8>),
}

/// All components of this program and this home, by name and digest.
pub(super) struct Components(HashMap<(String, String), Component>);

impl Components {
    /// Looks for them. A file that cannot be read is none.
    pub(super) fn find(config: &Config, workspace: &Path) -> Self {
        let mut found = HashMap::new();
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        for dir in [Some(plugin::user_dir(config)), plugin::workspace_dir(config, &workspace)].into_iter().flatten() {
            for path in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
                let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) else { continue };
                if path.extension().is_none_or(|ending| ending != "wasm") {
                    continue;
                }
                if let Ok(bytes) = plugin::bytes_of(&path) {
                    found.insert((name.clone(), plugin::digest(&bytes)), Component::File(path));
                }
            }
        }
        for kept in std::fs::read_dir(plugin::user_dir(config).join(".before")).into_iter().flatten().flatten() {
            let path = kept.path();
            let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) else { continue };
            if path.extension().is_none_or(|ending| ending != "wasm") {
                continue;
            }
            if let Ok(bytes) = PluginFiles::new(config, &name).and_then(|files| files.previous_bytes()) {
                found.entry((name, plugin::digest(&bytes))).or_insert(Component::Bytes(bytes));
            }
        }
        for (name, digest) in plugin::embedded_digests() {
            found.insert((name.to_owned(), digest.to_owned()), Component::Embedded);
        }
        Self(found)
    }

    /// The component of that plugin with that digest.
    pub(super) fn get(&self, name: &str, digest: &str) -> Option<Component> {
        self.0.get(&(name.to_owned(), digest.to_owned())).cloned()
    }
}
