//! Commands of plugins: called by their name, so no grant is needed to be asked.

use super::call_one;
use super::guest_call::guest_call;
use crate::error::Failure;
use crate::guest::CallContext;
use crate::turn::CallScope;
use bub_types::hook::Call;

/// Runs the command of that name: what it has to say, or none, when no plugin has such a command.
///
/// # Errors
///
/// The command's own error, or its fault.
pub async fn run_command(scope: &CallScope, name: &str, arguments: &[String]) -> Result<Option<String>, Failure> {
    // Names are unique: a plugin with one that is there already does not load.
    let Some(plugin) = scope.plugins.with_command(name) else { return Ok(None) };
    let ask = guest_call!(commands.call_run_command(name, arguments));
    call_one(scope, plugin, CallContext::outside(Call::RunCommand), ask).await.map(Some)
}
