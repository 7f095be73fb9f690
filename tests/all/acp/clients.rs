//! The official client of the protocol. It comes from its registry; where it cannot be had, its test says so.

use super::desk;
use crate::packages::{node, required, source};
use crate::serve::clients::is_content;
use bub_tests::{Answer, Server};
use serde_json::json;
use std::process::Command;

#[test]
fn the_official_client_of_typescript_drives_a_session() {
    let Some(dir) = required(node("@agentclientprotocol/sdk", "2.4.0")) else { return };
    let home = desk(true);
    let model = Server::ruled(|request| match super::last_line(&request.last_content()) {
        "edit it" => {
            let arguments = json!({ "path": "notes.txt", "old": "two", "new": "three" });
            Answer::tool_call("fs_edit", &arguments.to_string())
        }
        "for ever" => Answer::stalled("it never"),
        _ => Answer::text("good morning"),
    });
    let start = home.bub_home().join("start");
    home.bub(["acp", "--approve", "ask"]).model(&model).script(&start);
    // A script finds its packages beside it.
    let script = dir.join("acp_client.mjs");
    std::fs::copy(source("acp_client.mjs"), &script).unwrap();
    let mut client = Command::new("node");
    let client = client.arg(script).env("PROGRAM", start).env("WORKSPACE", home.workspace());
    is_content(&client.output().unwrap(), "typescript");
    assert_eq!(std::fs::read_to_string(home.workspace().join("notes.txt")).unwrap(), "one\nthree\n");
}
