//! Tool specifications.

use crate::arguments::TIMEOUT;
use crate::bub::tools::schema::{Effect, ToolSpec};
use serde_json::{Value, json};

pub fn all() -> Vec<ToolSpec> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let id = text("The id that `bash` said when it started the command in the background.");
    vec![
        tool(
            "bash",
            "Run a command in a shell and get its output, standard output and error together. At its deadline it is ended, with all that it started. In the background it runs on, and the answer is its id.",
            Effect::Run,
            json!({
                "cmd": text("The command, as one types it into bash."),
                "cwd": {
                    "anyOf": [{ "type": "string" }, { "type": "null" }],
                    "description": "The directory to run it in, relative to the workspace, which it is where nothing is said.",
                    "default": null,
                },
                "timeout_seconds": {
                    "type": "integer",
                    "description": "How many seconds it may take. In the background it may take as long as it wants.",
                    "default": TIMEOUT,
                },
                "background": {
                    "type": "boolean",
                    "description": "Leave it running and come back at once.",
                    "default": false,
                },
            }),
            &["cmd"],
        ),
        tool(
            "bash.output",
            "Read what a command in the background has written, and whether it still runs. Once it has ended and all is read, it is forgotten.",
            Effect::Read,
            json!({
                "shell_id": id,
                "offset": {
                    "type": "integer",
                    "description": "Where to begin, in bytes: the `next_offset` of the last reading.",
                    "minimum": 0,
                    "default": 0,
                },
                "limit": {
                    "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "null" }],
                    "description": "How many bytes to read at most; without it, all that are there.",
                    "default": null,
                },
            }),
            &["shell_id"],
        ),
        tool(
            "bash.kill",
            "End a command that runs in the background, with all that it started.",
            Effect::Run,
            json!({ "shell_id": id }),
            &["shell_id"],
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
