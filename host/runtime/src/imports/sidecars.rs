//! The ownership of sidecars. A sidecar belongs to one identity, the name under which a plugin was loaded, and never to
//! what its own name happens to begin with.

use bub_types::plugin_name::SPILL;

/// Sidecars that the host writes itself, each with the plugin that reads them for a model. Bub keeps what its builtin
/// tools spill under that name, on the same tapes.
const HOSTS: [(&str, &str); 1] = [(SPILL, "builtin")];

/// The plugin that owns the sidecar of that name: `notes` owns `notes` and `notes.NAME`. No plugin's name holds a dot, so
/// what stands before the first one is the whole name of the owner.
pub(super) fn owner(sidecar: &str) -> &str {
    match HOSTS.iter().find(|(name, _)| *name == sidecar) {
        Some((_, owner)) => owner,
        None => sidecar.split_once('.').map_or(sidecar, |(owner, _)| owner),
    }
}
