//! The keys of `[mcp.NAME]`.

use super::{Key, key};
use bub_config::McpServer;
use serde_json::{Value, json};

pub(super) fn keys() -> Vec<Key> {
    let timeout = McpServer::default().timeout_seconds;
    vec![
        key("mcp.NAME.enabled", true, Value::Null, "whether the MCP server is used"),
        key("mcp.NAME.command", Value::Null, Value::Null, "program that the server is, started without a shell"),
        key("mcp.NAME.args", json!([]), Value::Null, "arguments of the program"),
        key(
            "mcp.NAME.env.VARIABLE",
            Value::Null,
            Value::Null,
            "variable of the program; `{{secret:NAME}}` stands for a secret",
        ),
        key(
            "mcp.NAME.directory",
            Value::Null,
            Value::Null,
            "working directory of the program: an absolute path, `~/PATH`, or `<workspace>` if the workspace is trusted; your home directory unless set",
        ),
        key("mcp.NAME.url", Value::Null, Value::Null, "address of a server that speaks streamable HTTP"),
        key(
            "mcp.NAME.headers.HEADER",
            Value::Null,
            Value::Null,
            "header of each request; `{{secret:NAME}}` stands for a secret",
        ),
        key(
            "mcp.NAME.protocol",
            Value::Null,
            Value::Null,
            "revision of the protocol, such as `2025-06-18`; agreed on with the server unless set",
        ),
        key("mcp.NAME.timeout_seconds", timeout, Value::Null, "longest time for one call, in seconds"),
        key(
            "mcp.NAME.effects.TOOL",
            "run",
            Value::Null,
            "effect of a tool by the server's name for it; `*` stands for all that are not named",
        ),
        key(
            "mcp.NAME.trust_annotations",
            false,
            Value::Null,
            "whether the server's own words about its tools may make their effects smaller",
        ),
        key(
            "mcp.NAME.digest",
            Value::Null,
            Value::Null,
            "SHA-256 of the list of tools that you have accepted, written by `bub-wasm mcp check --accept`",
        ),
    ]
}
