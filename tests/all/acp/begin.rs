//! How a connection and its sessions begin.

use super::{Editor, desk, hello, serving};
use serde_json::{Value, json};

#[test]
fn the_agent_says_what_it_is_and_what_it_can() {
    let home = desk(true);
    for version in [1, 2, 99] {
        let mut editor = Editor::start(serving(&home, &[]));
        let begun = editor.ask("initialize", &hello(version));
        let result = &begun["result"];
        assert_eq!(result["protocolVersion"], 1, "{begun}");
        assert_eq!(result["agentInfo"]["name"], "bub-wasm", "{begun}");
        let can = &result["agentCapabilities"];
        assert_eq!(can["loadSession"], true, "{begun}");
        assert_eq!(can["promptCapabilities"]["image"], true, "{begun}");
        assert_eq!(can["promptCapabilities"]["embeddedContext"], true, "{begun}");
        assert_eq!(can["mcpCapabilities"]["http"], true, "{begun}");
        assert_ne!(can["mcpCapabilities"]["sse"], true, "{begun}");
        for session in ["list", "resume", "close"] {
            assert!(can["sessionCapabilities"][session].is_object(), "{session}: {begun}");
        }
        assert_eq!(result["authMethods"].as_array().map_or(0, Vec::len), 0, "{begun}");
        let finished = editor.end();
        assert_eq!(finished.stderr, "", "{finished}");
    }
}

#[test]
fn a_session_begins_without_a_question_with_modes_and_commands() {
    let home = desk(true);
    let mut editor = Editor::begin(serving(&home, &[]));
    let begun = editor.ask("session/new", &json!({ "cwd": home.workspace(), "mcpServers": [] }));
    let session = begun["result"]["sessionId"].as_str().expect("an id").to_owned();
    assert!(session.starts_with("acp:"), "{session}");
    let modes = &begun["result"]["modes"];
    assert_eq!(modes["currentModeId"], "auto", "{begun}");
    let ids: Vec<&str> =
        modes["availableModes"].as_array().into_iter().flatten().filter_map(|m| m["id"].as_str()).collect();
    assert_eq!(ids, ["ask", "auto", "edits", "read-only", "all"]);
    let told = editor
        .message("the commands", |message| message["params"]["update"]["sessionUpdate"] == "available_commands_update");
    let commands = told["params"]["update"]["availableCommands"].as_array().cloned().unwrap_or_default();
    let command = |name: &str| commands.iter().find(|command| command["name"] == name);
    assert!(command("tape.info").is_some() && command("no.such").is_none(), "{told}");
    assert_eq!(command("undo").expect("it is a command")["description"], "Put back what the latest turn has changed");
    let read = command("fs.read").expect("it is a command");
    assert!(read["description"].as_str().is_some_and(|about| about.starts_with("Read a text file")), "{read}");
    assert!(read["input"]["hint"].as_str().is_some_and(|hint| hint.contains("path=")), "{read}");
    // Each session has its own id.
    assert_ne!(editor.session(&home.workspace()), session);
    editor.end();
}

#[test]
fn the_mode_of_the_command_line_is_the_mode_of_new_sessions() {
    let home = desk(true);
    home.configure("[policy]\napprove = \"read-only\"\n");
    for (more, mode) in [(vec![], "read-only"), (vec!["--approve", "ask"], "ask")] {
        let mut editor = Editor::begin(serving(&home, &more));
        let begun = editor.ask("session/new", &json!({ "cwd": home.workspace(), "mcpServers": [] }));
        assert_eq!(begun["result"]["modes"]["currentModeId"], mode, "{begun}");
        editor.end();
    }
}

#[test]
fn a_folder_that_is_none_is_refused_with_the_reason() {
    let home = desk(true);
    let mut editor = Editor::begin(serving(&home, &[]));
    let absent = home.workspace().join("absent");
    let file = home.workspace().join("notes.txt");
    for (cwd, says) in [
        (json!("ws"), "has to be an absolute path"),
        (json!(""), "has to be an absolute path"),
        (json!("../ws"), "has to be an absolute path"),
        (json!(absent), "which is no folder"),
        (json!(file), "which is no folder"),
        (json!(5), "do not fit"),
        (Value::Null, "do not fit"),
    ] {
        let answer = editor.ask("session/new", &json!({ "cwd": cwd, "mcpServers": [] }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(says)), "{answer}");
    }
    for (key, extra) in
        [("additionalDirectories", json!(["/"])), ("systemPrompt", json!({ "mode": "override", "content": [] }))]
    {
        let answer = editor.ask("session/new", &json!({ "cwd": home.workspace(), "mcpServers": [], key: extra }));
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(key)), "{answer}");
    }
    editor.session(&home.workspace());
    editor.end();
}

#[test]
fn an_editor_that_says_nothing_is_no_error() {
    let home = desk(true);
    let finished = serving(&home, &[]).finish();
    assert_eq!((finished.code, &*finished.stdout, &*finished.stderr), (Some(0), "", ""), "{finished}");
}
