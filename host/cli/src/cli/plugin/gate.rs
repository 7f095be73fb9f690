//! Gates: plugins that can refuse tool calls and model calls, and the effect of their removal.

use bub_config::Config;
use bub_config::OnFault;
use bub_permissions::Grant;
use bub_runtime::host::Host;
use bub_runtime::plugin::Plugin;
use bub_types::hook::Hook;

/// The setting of a gate in `[plugins.NAME]`.
const SETTING: &str = "on_fault = \"deny\"";

/// The hooks that can refuse a call, and the calls.
const REFUSING: [(Hook, &str); 2] = [(Hook::BeforeToolCall, "tool calls"), (Hook::BeforeLlmCall, "model calls")];

/// The calls that these hooks can refuse.
fn judged(is_asked: impl Fn(Hook) -> bool) -> Option<String> {
    let judged = REFUSING.iter().filter(|(hook, _)| is_asked(*hook)).map(|(_, calls)| *calls);
    let judged = judged.collect::<Vec<_>>().join(" and ");
    (!judged.is_empty()).then_some(judged)
}

/// The notice about a gate; `None` for other plugins.
pub(super) fn of(plugin: &Plugin) -> Option<String> {
    if plugin.on_fault != OnFault::Deny {
        return None;
    }
    let judged = judged(|hook| plugin.implements(hook));
    let breaks = judged.map(|calls| format!("where it breaks, {calls} are denied; ")).unwrap_or_default();
    Some(format!("{breaks}while it is not loaded, every tool call is denied"))
}

/// The notice about the removal of a plugin that refuses calls: without a gate, tool calls are denied.
pub(super) fn released(host: &Host, plugin: &Plugin) -> Option<String> {
    let is_gate = plugin.on_fault == OnFault::Deny;
    let is_asked = |hook: Hook| plugin.implements(hook) && host.grants.allows(plugin, &Grant::hook(hook));
    judged(|hook| is_asked(hook) && !(is_gate && hook == Hook::BeforeToolCall))
}

/// Gates that are configured and not loaded.
pub(super) fn absent(config: &Config, is_there: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    config.gates().filter(move |gate| !is_there(gate))
}

/// The notice that calls are denied while a gate is missing.
pub(super) fn away(name: &str) -> String {
    format!(
        "every tool call is denied until it is loaded again, or `{SETTING}` is removed from `[plugins.{name}]` of config.toml"
    )
}
