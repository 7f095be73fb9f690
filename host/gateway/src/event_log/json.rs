//! Events as JSON.

use bub_runtime::host::{EventRecord, RuntimeEvent};
use serde_json::{Value, json};
use std::time::Duration;

/// The name and the data of an event.
pub(super) fn to_json(record: &EventRecord) -> (&'static str, Value) {
    let milliseconds = |took: &Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let (name, mut data) = match &record.event {
        RuntimeEvent::Taken { channel } => ("message-taken", json!({ "channel": channel })),
        RuntimeEvent::Refused { channel, reason } => {
            ("message-refused", json!({ "channel": channel, "reason": reason }))
        }
        RuntimeEvent::TurnBegins => ("turn-begins", json!({})),
        RuntimeEvent::TurnEnds { took, usage, error } => {
            let usage = json!({
                "prompt_tokens": usage.prompt,
                "completion_tokens": usage.completion,
                "total_tokens": usage.total,
                "prompt_tokens_details": { "cached_tokens": usage.cached },
            });
            ("turn-ends", json!({ "took_ms": milliseconds(took), "usage": usage, "error": error }))
        }
        RuntimeEvent::ToolBegins { tool } => ("tool-begins", json!({ "tool": tool })),
        RuntimeEvent::ToolEnds { took, error } => {
            ("tool-ends", json!({ "took_ms": milliseconds(took), "error": error }))
        }
        RuntimeEvent::Fault { plugin, hook, what } => {
            ("plugin-fault", json!({ "plugin": plugin, "hook": hook, "fault": what }))
        }
        RuntimeEvent::PluginsChanged { plugins } => ("plugins-changed", json!({ "plugins": plugins })),
        RuntimeEvent::Denied { plugin, grant } => ("plugin-denied", json!({ "plugin": plugin, "grant": grant })),
        RuntimeEvent::QuotaExceeded { caller, quota } => {
            ("quota-exceeded", json!({ "caller": caller, "quota": quota }))
        }
        RuntimeEvent::ApprovalAsked { id, tool } => ("approval-asked", json!({ "id": id, "tool": tool })),
        RuntimeEvent::ApprovalAnswered { id, decision, by } => {
            ("approval-answered", json!({ "id": id, "decision": decision, "by": by }))
        }
        RuntimeEvent::Delivered { channel, error } => ("delivered", json!({ "channel": channel, "error": error })),
    };
    if !record.session.is_empty() {
        data["session_id"] = record.session.as_str().into();
    }
    (name, data)
}
