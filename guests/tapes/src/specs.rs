//! Tool specifications.

use crate::bub::tools::schema::{Effect, ToolSpec};
use serde_json::{Value, json};

pub fn all() -> Vec<ToolSpec> {
    vec![
        tool(
            "tape.info",
            "Say how long this conversation's record is, where its latest anchor stands, and what the last model call used.",
            Effect::Read,
            json!({"type": "object", "properties": {}}),
        ),
        tool(
            "tape.search",
            "Find what was said earlier in this conversation, also what is no longer in view. Words may stand anywhere, in any script; where little is found typing errors are forgiven.",
            Effect::Read,
            json!({"type": "object", "properties": {
                "query": {"type": "string", "description": "Words that must all be there."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 256, "description": "Hits, at most [default: 20]."},
                "start": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "ISO date, or date and time, from which on."},
                "end": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "ISO date, or date and time, up to which."},
                "kinds": {"type": "array", "items": {"type": "string"}, "description": "Kinds of entries, as `message`, `tool_call`, `tool_result`, `event`, `anchor` [default: message, tool_result]."},
            }, "required": ["query"]}),
        ),
        tool(
            "tape.reset",
            "Empty the record of this conversation and begin anew.",
            Effect::Write,
            json!({"type": "object", "properties": {
                "archive": {"type": "boolean", "description": "Keep what there is under another name [default: false]."},
            }}),
        ),
        tool(
            "tape.handoff",
            "Begin a new phase: what was said before goes out of view, and the summary stands in its place. Put into it all that the next phase needs.",
            Effect::Write,
            json!({"type": "object", "properties": {
                "name": {"type": "string", "description": "The phase's name [default: handoff]."},
                "summary": {"type": "string", "description": "What the next phase has to know."},
            }}),
        ),
        tool(
            "tape.anchors",
            "List the latest anchors: the phases of this conversation.",
            Effect::Read,
            json!({"type": "object", "properties": {}}),
        ),
    ]
}

fn tool(name: &str, description: &str, effect: Effect, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: parameters.to_string(),
        for_model: true,
        effect,
        reads_outside: false,
    }
}
