//! Records what the host denies in a turn.

use super::data::Turn;
use super::denial::{Denial, DenialReason, Denials};
use crate::host::RuntimeEvent;
use crate::plugin::{Plugin, Source};
use bub_permissions::Grant;
use bub_types::hook::Hook;
use bub_types::{Error, ErrorKind, is_ephemeral};
use std::sync::Arc;

impl Turn {
    /// Writes a denial down: in the turn whose tape is kept, this one or the closest around it.
    pub fn denied(&self, denial: Denial<'_>) {
        let is_new = self.kept().audit(|audit| audit.denials.add(&denial));
        // A hook that is not granted is passed over again and again.
        if is_new || denial.reason != DenialReason::Hook {
            let Denial { plugin, tool, grant, .. } = denial;
            let of = if plugin.is_empty() { tool } else { plugin };
            let grant = if grant.is_empty() { denial.reason.name() } else { grant };
            let event = RuntimeEvent::Denied { plugin: of.to_owned(), grant: grant.to_owned() };
            self.scope.host.events.publish(event, &self.outermost().session_id);
        }
    }

    /// A plugin does not hold a grant.
    pub fn refused(&self, plugin: &Plugin, grant: &Grant) {
        let message = plugin.refusal(grant).message;
        let grant = grant.as_str();
        self.denied(Denial {
            reason: DenialReason::Grant,
            plugin: &plugin.name,
            tool: "",
            grant,
            host: "",
            message: &message,
        });
    }

    /// A call of a tool was denied with that error.
    pub fn denied_call(&self, reason: DenialReason, plugin: &str, tool: &str, error: &Error) {
        self.denied(Denial { reason, plugin, tool, grant: "", host: "", message: &error.message });
    }

    /// A tool has answered with that error. An error that it only passes on was recorded where it was denied.
    pub fn tool_failed(&self, plugin: &str, tool: &str, error: &Error) {
        let is_known = |denials: &Denials| {
            let mut of_plugin = denials.counted.iter().filter(|((_, denied, ..), _)| denied == plugin);
            of_plugin.any(|(_, (_, message))| !message.is_empty() && error.message.contains(message.as_str()))
        };
        if error.kind == ErrorKind::Denied && !self.kept().audit(|audit| is_known(&audit.denials)) {
            self.denied_call(DenialReason::Tool, plugin, tool, error);
        }
    }

    /// Plugins that implement that hook are not asked, because they are not granted it.
    pub fn passes_over_ungranted(&self, hook: Hook) {
        // The program's own guests hold what their table says, unless the configuration speaks of them.
        let config = &self.scope.host.config;
        let is_bounded =
            |plugin: &&Arc<Plugin>| plugin.source != Source::Embedded || config.plugins.contains_key(&plugin.name);
        let bounded = self.scope.plugins.exporting(hook).filter(is_bounded);
        for plugin in bounded.filter(|plugin| !self.scope.may_answer(plugin, hook)) {
            self.denied(Denial {
                reason: DenialReason::Hook,
                plugin: &plugin.name,
                tool: "",
                grant: hook.grant(),
                host: "",
                message: "",
            });
        }
    }

    /// The closest turn around this one, or it itself, whose tape is kept; the outermost where none is.
    pub(super) fn kept(&self) -> &Self {
        let mut turn = self;
        while is_ephemeral(&turn.session_id)
            && let Some(parent) = &turn.parent
        {
            turn = parent;
        }
        turn
    }
}
