//! Which plugin keeps the tapes.

use super::{GuestStore, HOOK};
use crate::guest::CallContext;
use crate::turn::CallScope;
use bub_permissions::Grant;
use bub_tape::Store;
use parking_lot::Mutex;
use std::sync::Arc;

/// The store of the plugin that keeps tapes: of several, the latest registered. Without one it is `native`.
pub fn tape_store(scope: &Arc<CallScope>, native: Arc<dyn Store>) -> Arc<dyn Store> {
    let keeper = match scope.granted(HOOK).next() {
        Some(plugin) => Ok(plugin.clone()),
        None => match absent(scope) {
            Some(reason) => Err(reason),
            None => return native,
        },
    };
    Arc::new(GuestStore { scope: scope.clone(), keeper, lasts: Mutex::default() })
}

/// Whether no operation on tapes can succeed at this moment.
pub fn is_store_gone(scope: &CallScope) -> bool {
    match scope.granted(HOOK).next() {
        Some(keeper) => scope.open_circuit(keeper, &CallContext::outside(HOOK)).is_some(),
        None => absent(scope).is_some(),
    }
}

/// Why the plugin that the user made the keeper of the tapes cannot be asked; none when there is no such plugin. Going
/// on with other tapes in its place would cut every conversation in two.
fn absent(scope: &CallScope) -> Option<String> {
    let host = &scope.host;
    let name = host.grants.given_to(&Grant::hook(HOOK)).into_iter().next()?;
    let why = match scope.plugins.iter().find(|plugin| plugin.name == name) {
        Some(plugin) if !plugin.implements(HOOK) => return None,
        Some(plugin) if host.grants.is_for_other_bytes(plugin) => {
            format!("its grants are not for these bytes; to let it: bub-wasm plugin grant {name} {}", HOOK.grant())
        }
        Some(plugin) => plugin.refusal(&Grant::hook(HOOK)).message,
        None => match scope.plugins.failed.iter().find(|(failed, _)| *failed == name) {
            Some((_, reason)) => format!("it did not load: {reason}"),
            None => format!("it is not there; to keep tapes without it, set `enabled = false` in `[plugins.{name}]`"),
        },
    };
    Some(format!("plugin `{name}` is to keep the tapes, but {why}"))
}
