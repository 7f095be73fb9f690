//! What is no message, too much, or meant to break something: each has an answer, and the next request is served.

use super::{Editor, desk, prompt, serving};
use bub_tests::{Answer, Server};
use serde_json::{Value, json};

/// It still serves.
#[track_caller]
fn goes_on(editor: &mut Editor<'_>) {
    let listed = editor.ask("session/list", &json!({}));
    assert!(listed["result"]["sessions"].is_array(), "{listed}");
}

/// The errors without an id so far.
fn refusals(editor: &Editor<'_>) -> Vec<Value> {
    editor.messages().into_iter().filter(|message| message["id"].is_null() && message["error"].is_object()).collect()
}

#[test]
fn what_is_no_message_is_refused_with_the_reason() {
    let home = desk(true);
    let mut editor = Editor::begin(serving(&home, &[]));
    for (line, code) in [
        ("{", -32700),
        ("hello", -32700),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"session/list\"} x", -32700),
        ("[]", -32600),
        ("null", -32600),
        ("{}", -32600),
        ("{\"id\": null, \"method\": \"session/list\", \"params\": {}}", -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": \"session/list\"}", -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": [], \"method\": \"session/list\"}", -32600),
        ("{\"jsonrpc\": \"2.0\", \"method\": 5}", -32600),
        ("[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"session/list\"}]", -32600),
    ] {
        let before = refusals(&editor).len();
        editor.program.say(line);
        goes_on(&mut editor);
        let refused = refusals(&editor);
        assert_eq!(refused.len(), before + 1, "{line}: {refused:?}");
        assert_eq!(refused[before]["error"]["code"], code, "{line}: {refused:?}");
    }
    editor.program.say(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    let wide =
        format!("{{\"params\": {{{}\"z\": 1}}}}", (0..70_000).map(|n| format!("\"{n}\":0,")).collect::<String>());
    editor.program.say(&wide);
    goes_on(&mut editor);
    let refused: Vec<String> = refusals(&editor).iter().rev().take(2).map(Value::to_string).collect();
    assert!(refused.iter().any(|refused| refused.contains("nested deeper than 64")), "{refused:?}");
    assert!(refused.iter().any(|refused| refused.contains("more than 65536 members")), "{refused:?}");
    // Blank lines, unknown notifications, and answers to no open request are passed over.
    editor.program.say("   ");
    editor.notify("no/such", &json!({}));
    editor.notify("$/progress", &json!({}));
    editor.send(&json!({ "jsonrpc": "2.0", "id": "bub-99", "result": {} }));
    goes_on(&mut editor);
    editor.end();
}

#[test]
fn unknown_methods_sessions_and_parameters_are_answered() {
    let home = desk(true);
    let mut editor = Editor::begin(serving(&home, &[]));
    let text = json!([{ "type": "text", "text": "hello" }]);
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("_ours", json!({}), -32601),
        ("session/fork", json!({}), -32601),
        ("session/delete", json!({ "sessionId": "x" }), -32601),
        ("session/set_config_option", json!({}), -32601),
        ("authenticate", json!({ "methodId": "x" }), -32602),
        ("session/prompt", json!({}), -32602),
        ("session/prompt", json!({ "sessionId": "acp:none", "prompt": text }), -32002),
        ("session/prompt", json!({ "sessionId": 5, "prompt": text }), -32602),
        ("session/set_mode", json!({ "sessionId": "acp:none", "modeId": "ask" }), -32002),
        ("session/close", json!({ "sessionId": "acp:none" }), -32002),
        ("session/load", json!([]), -32602),
        ("initialize", json!({ "protocolVersion": "one" }), -32602),
        ("initialize", json!({ "protocolVersion": -1 }), -32602),
    ] {
        let answer = editor.ask(method, &params);
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    let hostile = format!("\u{1b}[2J`\n{}", "x".repeat(5000));
    for (method, params) in [
        (hostile.as_str(), json!({})),
        ("session/prompt", prompt(&hostile, &[json!({ "type": "text", "text": "hello" })])),
        ("session/new", json!({ "cwd": hostile, "mcpServers": [] })),
        ("session/new", json!({ "cwd": format!("/{hostile}"), "mcpServers": [] })),
        ("session/load", json!({ "cwd": "/", "mcpServers": [], "sessionId": "x".repeat(200) })),
    ] {
        let answer = editor.ask(method, &params);
        let text = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(text.len() < 600 && !text.contains(['\u{1b}', '\n']), "{text}");
    }
    goes_on(&mut editor);
    let finished = editor.program.finish();
    assert!(!finished.stderr.contains('\u{1b}'), "{finished}");
}

#[test]
fn requests_before_initialize_are_refused_and_the_connection_goes_on() {
    let home = desk(true);
    let mut editor = Editor::start(serving(&home, &[]));
    let early = editor.ask("session/new", &json!({ "cwd": home.workspace(), "mcpServers": [] }));
    assert_eq!(early["error"]["code"], -32600, "{early}");
    assert!(early["error"]["message"].as_str().is_some_and(|text| text.contains("`initialize`")), "{early}");
    editor.ask("initialize", &super::hello(1));
    editor.session(&home.workspace());
    editor.end();
}

#[test]
fn a_prompt_of_ten_megabytes_is_taken_and_a_longer_line_is_refused() {
    let home = desk(true);
    let model = Server::ruled(|request| Answer::text(&format!("{} bytes", request.body.len())));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, &"ten megabytes ".repeat(10 << 20 >> 4));
    let answer = editor.answer(id);
    // Whether a model takes it is the model's, or the window's.
    assert!(answer["result"]["stopReason"] == "end_turn" || answer["error"]["message"].is_string(), "{answer}");
    editor.program.say(&format!("{{\"params\": \"{}\"}}", "x".repeat(17 << 20)));
    goes_on(&mut editor);
    let refused = refusals(&editor);
    assert!(refused.iter().any(|refused| refused.to_string().contains("at most 16 MiB")), "{refused:?}");
    let another = editor.session(&home.workspace());
    assert_eq!(editor.say(&another, "small"), "end_turn");
    editor.end();
}

#[test]
fn more_requests_at_once_than_are_served_are_refused() {
    let home = desk(true);
    let model = Server::ruled(|_| Answer::stalled("it never"));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let ids: Vec<u64> = (0..64).map(|_| editor.prompt(&session, "for ever")).collect();
    let refused = editor.ask("session/list", &json!({}));
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("64 requests")), "{refused}");
    editor.notify("session/cancel", &json!({ "sessionId": session }));
    for id in ids {
        assert_eq!(editor.stopped(id), "cancelled");
    }
    goes_on(&mut editor);
    editor.end();
}
