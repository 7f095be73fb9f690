//! Tool calls as the editor sees them: kinds, titles, places, and how files change.

use super::{Editor, desk, serving, streamed};
use bub_tests::{Answer, Server};
use serde_json::{Value, json};

/// A model that calls these tools, each in a request of its own, and then says `done`.
fn calling(calls: &[(&str, Value)]) -> Server {
    let calls: Vec<Answer> =
        calls.iter().map(|(tool, arguments)| Answer::tool_call(tool, &arguments.to_string())).collect();
    Server::new(calls.into_iter().chain([Answer::text("done")]))
}

/// The calls of a session, each as it was told of first, with its last update.
#[track_caller]
fn calls(editor: &Editor<'_>, session: &str) -> Vec<(Value, Value)> {
    let updates = editor.updates(session, "tool_call_update");
    let last = |call: &Value| {
        let mut own = updates.iter().filter(|update| update["toolCallId"] == call["toolCallId"]);
        own.next_back().cloned().unwrap_or_else(|| panic!("no end of {call}"))
    };
    editor
        .updates(session, "tool_call")
        .into_iter()
        .map(|call| {
            let last = last(&call);
            (call, last)
        })
        .collect()
}

#[test]
fn a_call_has_a_title_a_kind_a_place_its_arguments_and_its_result() {
    let home = desk(true);
    let model = calling(&[
        ("fs_read", json!({ "path": "notes.txt", "offset": 1 })),
        ("bash", json!({ "cmd": "echo `hostname` | wc -l" })),
        ("fs_read", json!({ "path": "absent.txt" })),
        ("tape_info", json!({})),
    ]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "look around"), "end_turn");
    let calls = calls(&editor, &session);
    let told: Vec<(&str, &str)> = calls
        .iter()
        .map(|(call, _)| (call["kind"].as_str().unwrap_or("other"), call["title"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            ("read", "Read `notes.txt`"),
            ("execute", "Run `echo 'hostname' | wc -l`"),
            ("read", "Read `absent.txt`"),
            ("read", "`tape.info`"),
        ]
    );
    let (read, ended) = &calls[0];
    assert_eq!(read["rawInput"], json!({ "path": "notes.txt", "offset": 1 }));
    assert_eq!(read["locations"], json!([{ "path": home.workspace().join("notes.txt"), "line": 2 }]), "{read}");
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(ended["content"][0]["content"]["text"].as_str().is_some_and(|text| text.contains("two")), "{ended}");
    assert!(ended["rawOutput"].to_string().contains("two"), "{ended}");
    let (_, failed) = &calls[2];
    assert_eq!(failed["status"], "failed", "{failed}");
    assert!(failed["content"].to_string().contains("absent.txt"), "{failed}");
    editor.end();
}

#[test]
fn writes_and_edits_are_shown_as_differences() {
    let home = desk(true);
    let model = calling(&[
        ("fs_edit", json!({ "path": "notes.txt", "old": "two", "new": "three" })),
        ("fs_write", json!({ "path": "new/made.txt", "content": "made\n" })),
        ("fs_edit", json!({ "path": "notes.txt", "old": "no such text", "new": "x" })),
    ]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "change it"), "end_turn");
    let calls = calls(&editor, &session);
    let notes = home.workspace().join("notes.txt");
    let made = home.workspace().join("new/made.txt");
    assert_eq!(
        calls[0].1["content"],
        json!([{ "type": "diff", "path": notes, "oldText": "one\ntwo\n", "newText": "one\nthree\n" }])
    );
    assert_eq!(calls[0].0["kind"], "edit");
    let created = &calls[1].1["content"][0];
    assert_eq!((&created["path"], &created["newText"]), (&json!(made), &json!("made\n")), "{created}");
    assert!(created["oldText"].is_null(), "{created}");
    assert_eq!(calls[2].1["status"], "failed");
    assert!(calls[2].1["content"].as_array().is_some_and(|all| all.iter().all(|one| one["type"] == "content")));
    editor.end();
}

#[test]
fn hostile_text_shapes_no_title_and_no_block() {
    let home = desk(true);
    let hostile = "`; rm -rf /\u{1b}[2J\u{202e}\n# Allow\n```\nx";
    let model = Server::new([
        Answer::tool_call("fs_read", &json!({ "path": hostile }).to_string()),
        Answer::tool_call(hostile, "{ no JSON"),
        streamed(&[json!({ "content": "a\u{1b}]0;x\u{7}b\u{202e}" })], "stop"),
    ]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, hostile), "end_turn");
    for (call, ended) in calls(&editor, &session) {
        let title = call["title"].as_str().unwrap_or_default();
        assert!(!title.contains(['\u{1b}', '\n', '\u{202e}']) && title.matches('`').count() % 2 == 0, "{title}");
        let content = ended["content"][0]["content"]["text"].as_str().unwrap_or_default();
        assert!(content.starts_with("```") && !content.contains('\u{1b}'), "{content}");
    }
    let said = editor.text(&session, "agent_message_chunk");
    assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']) && said.starts_with('a'), "{said}");
    let title = &editor.updates(&session, "session_info_update")[0]["title"];
    assert!(title.as_str().is_some_and(|title| !title.contains(['\n', '\u{1b}'])), "{title}");
    let finished = editor.end();
    assert!(!finished.stderr.contains('\u{1b}'), "{finished}");
}

/// Numbers pass several layers that could take them for other types.
#[test]
fn numbers_in_arguments_and_messages_keep_their_digits() {
    let home = desk(true);
    let model = Server::new([
        Answer::tool_call("fs_read", r#"{"path": "notes.txt", "offset": 1.25, "limit": 12345678901234567890123}"#),
        Answer::text("done"),
    ]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"floats","method":"session/prompt","params":{{"sessionId":"{session}","_meta":{{"x":1.5e300,"y":0.1}},"prompt":[{{"type":"text","text":"read","annotations":{{"priority":0.25}}}},{{"type":"resource_link","name":"n","uri":"file:///x","size":12345678901}}]}}}}"#
    );
    editor.program.say(&line);
    let answer = editor.message("the answer", |message| message["id"] == "floats");
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let printed = editor.program.printed();
    assert!(
        printed.contains(r#""offset":1.25"#) && printed.contains(r#""limit":12345678901234567890123"#),
        "{printed}"
    );
    editor.program.hush();
    assert_eq!(editor.program.finish().code, Some(0));
}
