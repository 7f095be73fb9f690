//! Tool specifications.

use crate::bub::tools::schema::{Effect, ToolSpec};
use serde_json::{Value, json};

const PATH: &str = "A file, relative to the workspace, or absolute if it is inside it.";

pub fn all() -> Vec<ToolSpec> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let count = |about: &str| json!({ "type": "integer", "description": about, "minimum": 0, "default": 0 });
    vec![
        tool(
            "fs.read",
            "Read a text file of the workspace. Give `offset` and `limit` to read a part of a long file.",
            Effect::Read,
            json!({
                "path": text(PATH),
                "offset": count("How many lines to pass over before the first one that is read."),
                "limit": {
                    "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "null" }],
                    "description": "How many lines to read; without it, all that follow.",
                    "default": null,
                },
            }),
            &["path"],
        ),
        tool(
            "fs.write",
            "Write a text file of the workspace. A file that is there is replaced as a whole; missing directories are made.",
            Effect::Write,
            json!({ "path": text(PATH), "content": text("The whole new content of the file.") }),
            &["path", "content"],
        ),
        tool(
            "fs.edit",
            "Replace a text in a file of the workspace by another one, at every place where it stands. Give enough of the text around to mean one place only.",
            Effect::Write,
            json!({
                "path": text(PATH),
                "old": text("The text to replace, exactly as it stands in the file, white space included. It may span lines."),
                "new": text("What to put in its place."),
                "start": count("The line to begin at, counted from 0; what stands before it is left alone."),
            }),
            &["path", "old", "new"],
        ),
    ]
}

fn tool(name: &str, description: &str, effect: Effect, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required }).to_string(),
        for_model: true,
        effect,
        reads_outside: false,
    }
}
