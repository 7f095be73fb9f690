//! MCP servers that the editor hands over: for its sessions alone, and untrusted.

use super::{Editor, desk, prompt, serving};
use bub_tests::{Answer, Server};
use serde_json::{Value, json};
use std::fs;

/// The server of the tests, with that habit, which notes its starts.
fn stdio(home: &bub_tests::Home, name: &str, habit: &str) -> Value {
    let state = home.workspace().with_file_name("state");
    fs::create_dir_all(&state).expect("a directory for the server");
    let script = crate::mcp::script();
    let args = json!([script, "--state", state, habit]);
    json!({ "name": name, "command": "python3", "args": args, "env": [{ "name": "GREETING", "value": "hi" }] })
}

#[track_caller]
fn begin(editor: &mut Editor<'_>, home: &bub_tests::Home, servers: &[Value]) -> String {
    let begun = editor.ask("session/new", &json!({ "cwd": home.workspace(), "mcpServers": servers }));
    begun["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned()
}

/// A model that calls the server's tool when it is told to.
fn caller() -> Server {
    Server::ruled(|request| match super::last_line(&request.last_content()).contains("call it") {
        true => Answer::tool_call("mcp_my-server_echo", r#"{"say": "hello"}"#),
        false => Answer::text("done"),
    })
}

#[test]
fn the_tools_of_a_server_are_there_for_its_sessions_and_are_asked_about() {
    let home = desk(true);
    let model = caller();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = begin(&mut editor, &home, &[stdio(&home, "My server", "good")]);
    let plain = editor.session(&home.workspace());
    let id = editor.prompt(&session, "call it");
    // The owner's turn is tainted by tools that are not accepted, although the workspace is trusted.
    let question = editor.question(0);
    assert!(question.to_string().contains("nobody has accepted the tools of `my-server`"), "{question}");
    assert_eq!(question["params"]["toolCall"]["rawInput"], json!({ "say": "hello" }), "{question}");
    editor.decide(&question, "allow_once");
    assert_eq!(editor.stopped(id), "end_turn");
    let ended = editor.updates(&session, "tool_call_update");
    let ended = ended.last().expect("it ended");
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(ended["content"].to_string().contains("hello"), "{ended}");
    // Another session of the folder has no such tool.
    assert_eq!(editor.say(&plain, "call it"), "end_turn");
    let ended = editor.updates(&plain, "tool_call_update");
    assert!(ended[0]["content"].to_string().contains("there is no tool `mcp_my-server_echo`"), "{ended:?}");
    let tools = model.requests().pop().unwrap().json()["tools"].to_string();
    assert!(tools.contains("fs_read") && !tools.contains("mcp_my-server"), "{tools}");
    editor.end();
    // Nothing of it is kept.
    let config = fs::read_to_string(home.bub_home().join("config.toml")).unwrap_or_default();
    assert!(!config.contains("my-server"), "{config}");
    assert!(!home.bub_home().join("mcp").exists());
}

#[test]
fn a_session_begins_without_a_server_that_cannot_be_used_and_says_so() {
    let home = desk(true);
    home.configure("[mcp.mine]\ncommand = \"python3\"\nenabled = false\n");
    let model = caller();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let http = |name: &str, url: &str| json!({ "type": "http", "name": name, "url": url, "headers": [] });
    let mut secret = stdio(&home, "secret", "good");
    secret["env"] = json!([{ "name": "KEY", "value": "{{secret:key}}" }]);
    let servers = [
        json!({ "name": "absent", "command": "/no/such/program", "args": [], "env": [] }),
        stdio(&home, "silent", "ends-at-once"),
        http("odd", "ftp://example.org"),
        http("down", "http://127.0.0.1:9/mcp"),
        json!({ "type": "sse", "name": "old", "url": "http://127.0.0.1:9/", "headers": [] }),
        json!({ "name": "\u{1b}[2J\n", "command": "x", "args": [], "env": [] }),
        json!({ "name": "mine", "command": "x", "args": [], "env": [] }),
        secret,
        stdio(&home, "fine", "good"),
        stdio(&home, "FINE", "good"),
    ];
    let session = begin(&mut editor, &home, &servers);
    super::until("the lines about the servers", || editor.updates(&session, "agent_message_chunk").len() >= 9);
    let said = editor.text(&session, "agent_message_chunk");
    for (server, says) in [
        ("absent", "/no/such/program"),
        ("silent", ""),
        ("odd", "is no address"),
        ("down", ""),
        ("old", "SSE"),
        ("2j", ""),
        ("mine", "config.toml has `[mcp.mine]`"),
        ("secret", "it names a secret, and gets none"),
        ("FINE", "another server `fine`"),
    ] {
        let line = said
            .lines()
            .find(|line| line.contains(&format!("`{server}` is not used")))
            .unwrap_or_else(|| panic!("{server}: {said}"));
        assert!(line.contains(says), "{server}: {line}");
    }
    assert!(!said.contains('\u{1b}'), "{said}");
    assert_eq!(editor.say(&session, "hello"), "end_turn");
    let body = &model.requests()[0].body;
    assert!(body.contains("mcp_fine_echo") && !body.contains("mcp_silent"), "{body}");
    editor.end();
}

#[test]
fn sessions_with_the_same_servers_share_them_and_the_last_one_ends_them() {
    let home = desk(true);
    let model = caller();
    let mut editor = Editor::begin(serving(&home, &["--allow", "run"]).model(&model));
    let server = stdio(&home, "my-server", "good");
    let servers = [server];
    let (one, two) = (begin(&mut editor, &home, &servers), begin(&mut editor, &home, &servers));
    for session in [&one, &two] {
        assert_eq!(editor.say(session, "call it"), "end_turn");
    }
    let starts = || fs::read_to_string(home.workspace().with_file_name("state").join("starts")).unwrap_or_default();
    assert_eq!(starts().lines().count(), 1, "{}", starts());
    assert!(editor.ask("session/close", &json!({ "sessionId": one }))["result"].is_object());
    assert_eq!(editor.say(&two, "call it"), "end_turn");
    assert_eq!(starts().lines().count(), 1, "{}", starts());
    assert!(editor.ask("session/close", &json!({ "sessionId": two }))["result"].is_object());
    let gone = editor.ask("session/prompt", &prompt(&two, &[json!({ "type": "text", "text": "call it" })]));
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
    let finished = editor.end();
    assert!(!finished.stderr.contains("error"), "{finished}");
}

#[test]
fn a_server_over_http_gets_the_headers_that_the_editor_gives() {
    let home = desk(true);
    let web = crate::mcp::Web::start(&home, "needs-key");
    let model = caller();
    let mut editor = Editor::begin(serving(&home, &["--allow", "run"]).model(&model));
    let with = |key: &str| {
        let headers = json!([{ "name": "Authorization", "value": key }]);
        json!({ "type": "http", "name": "my-server", "url": web.base, "headers": headers })
    };
    let session = begin(&mut editor, &home, &[with("Bearer k3y-of-the-test")]);
    assert_eq!(editor.say(&session, "call it"), "end_turn");
    let ended = editor.updates(&session, "tool_call_update");
    assert!(ended.last().is_some_and(|ended| ended["content"].to_string().contains("hello")), "{ended:?}");
    let without = begin(&mut editor, &home, &[with("Bearer another")]);
    super::until("the line about the server", || !editor.updates(&without, "agent_message_chunk").is_empty());
    let said = editor.text(&without, "agent_message_chunk");
    assert!(said.contains("`my-server` is not used") && !said.contains("k3y"), "{said}");
    editor.end();
}

#[test]
fn folders_whose_sessions_are_closed_make_room_for_others() {
    let home = desk(true);
    let mut editor = Editor::begin(serving(&home, &[]));
    let mut refused = 0;
    for number in 0..70 {
        let folder = home.workspace().join(number.to_string());
        fs::create_dir(&folder).unwrap();
        let begun = editor.ask("session/new", &json!({ "cwd": folder, "mcpServers": [] }));
        match begun["error"]["message"].as_str() {
            None if number == 3 => {
                let closed = editor.ask("session/close", &json!({ "sessionId": begun["result"]["sessionId"] }));
                assert!(closed["result"].is_object(), "{closed}");
            }
            None => {}
            Some(message) => {
                assert!(message.contains("64 workspaces are open already: close sessions first"), "{message}");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 5);
    editor.end();
}
