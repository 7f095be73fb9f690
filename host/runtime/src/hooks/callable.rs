//! The plugins that a hook calls.

use crate::guest::CallContext;
use crate::plugin::{OpenCircuit, Plugin};
use crate::turn::CallScope;
use std::sync::Arc;

impl CallScope {
    /// The plugins that implement the hook of the call and are granted it, without those in quarantine.
    pub fn callable<'a>(&'a self, context: &'a CallContext) -> impl DoubleEndedIterator<Item = &'a Arc<Plugin>> {
        if let Some(turn) = &context.turn {
            context.call.hook().into_iter().for_each(|hook| turn.passes_over_ungranted(hook));
        }
        context
            .call
            .hook()
            .into_iter()
            .flat_map(|hook| self.granted(hook))
            .filter(|plugin| self.open_circuit(plugin, context).is_none())
    }

    /// The quarantine of the plugin in that context, if there is one.
    pub fn open_circuit(&self, plugin: &Plugin, context: &CallContext) -> Option<OpenCircuit> {
        self.host.quarantine.open_circuit(plugin, context.circuit_key())
    }
}
