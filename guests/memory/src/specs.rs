//! Tool specifications.

use crate::bub::tools::schema::{Effect, ToolSpec};
use serde_json::{Value, json};

pub fn all() -> Vec<ToolSpec> {
    let scope = |unset: &str| {
        json!({
            "anyOf": [{ "type": "string", "enum": ["workspace", "session"] }, { "type": "null" }],
            "description": format!("`workspace`: shared by all sessions of this workspace; `session`: this conversation's own [default: {unset}]."),
        })
    };
    vec![
        tool(
            "memory.save",
            "Replace the long-term memory: what lasts, such as preferences and facts. Give all of it, what stands there and what is new. Best below 4 KB.",
            Effect::Write,
            json!({ "content": { "type": "string", "description": "The whole long-term memory." }, "scope": scope("workspace") }),
            &["content"],
        ),
        tool(
            "memory.add",
            "Add to the long-term memory, and keep all that stands there.",
            Effect::Write,
            json!({ "content": { "type": "string", "description": "What is added, a line or more." }, "scope": scope("workspace") }),
            &["content"],
        ),
        tool(
            "memory.daily",
            "Append to the notes of a day: what was done, decided or left open.",
            Effect::Write,
            json!({
                "content": { "type": "string", "description": "What is added." },
                "date": or_null(json!({ "type": "string" }), "As in `2026-02-10` [default: today]."),
                "scope": scope("workspace"),
            }),
            &["content"],
        ),
        tool(
            "memory.recall",
            "Recall what is remembered. With a query the lines that hold all its words, and what was said in this conversation with them.",
            Effect::Read,
            json!({
                "query": or_null(json!({ "type": "string" }), "Words that must all be there."),
                "days": or_null(json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string" }] }), "Days whose notes are looked at, today and those before [default: 7]."),
            }),
            &[],
        ),
        tool(
            "memory.show",
            "Say what the memory holds: versions, sizes, and the days that have notes.",
            Effect::Read,
            json!({}),
            &[],
        ),
        tool("memory.clear", "Forget everything.", Effect::Write, json!({ "scope": scope("both") }), &[]),
        tool(
            "memory.forget",
            "Forget what the user wants forgotten: the lines of the memory in which a text stands, or the notes of a day, and everything that was said with it in the sessions of this workspace.",
            Effect::Write,
            json!({
                "query": { "type": "string", "description": "A text, upper or lower case, or a date as in `2026-02-10`." },
                "dry_run": { "anyOf": [{ "type": "boolean" }, { "type": "string" }, { "type": "null" }], "description": "Only list what would be forgotten [default: false]." },
                "scope": scope("both"),
            }),
            &["query"],
        ),
        tool(
            "memory.export",
            "Give all that is remembered, as Markdown.",
            Effect::Read,
            json!({ "scope": scope("both") }),
            &[],
        ),
    ]
}

fn or_null(schema: Value, description: &str) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }], "description": description })
}

fn tool(name: &str, description: &str, effect: Effect, properties: Value, required: &[&str]) -> ToolSpec {
    let mut parameters = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        parameters["required"] = required.into();
    }
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: parameters.to_string(),
        for_model: true,
        effect,
        reads_outside: false,
    }
}
