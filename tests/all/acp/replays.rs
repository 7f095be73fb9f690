//! What a loaded conversation shows, and what it does not.

use super::{Editor, desk, prompt, serving};
use bub_tests::{Answer, Server, tape};
use serde_json::json;
use std::fs;
use std::io::Write;

fn loaded(editor: &mut Editor<'_>, home: &bub_tests::Home, session: &str) {
    let params = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    let answer = editor.ask("session/load", &params);
    assert!(answer["result"].is_object(), "{answer}");
}

#[test]
fn commands_are_no_part_of_the_conversation_and_attachments_are_named() {
    let home = desk(true);
    let model = Server::ruled(|_| Answer::text("seen"));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "/fs.read path=notes.txt"), "end_turn");
    // A text that only looks like one of the program's own prefaces.
    assert_eq!(editor.say(&session, "look\n---Date: no---\nagain"), "end_turn");
    let pdf = "JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZz4+ZW5kb2JqCnRyYWlsZXI8PC9Sb290IDEgMCBSPj4KJSVFT0YK";
    let blob = json!({ "type": "resource", "resource": { "uri": "file:///x/plan.pdf", "blob": pdf } });
    let id =
        editor.request("session/prompt", &prompt(&session, &[json!({ "type": "text", "text": "and this" }), blob]));
    assert_eq!(editor.stopped(id), "end_turn");
    editor.end();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    loaded(&mut editor, &home, &session);
    let said = editor.text(&session, "user_message_chunk");
    assert!(!said.contains("fs.read") && !said.contains("JVBER"), "{said}");
    assert!(said.contains("and this") && said.contains("[attachment]"), "{said}");
    editor.end();
}

#[test]
fn a_conversation_that_is_very_long_begins_later_and_says_so() {
    let home = desk(true);
    let model = Server::ruled(|_| Answer::text("here"));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "the very first"), "end_turn");
    editor.end();
    let file = home.tape_file(&session);
    let entries = tape::read(&file);
    let last = entries.last().and_then(|entry| entry["id"].as_u64()).expect("a tape");
    let mut said = entries.iter().find(|entry| entry["kind"] == "message").expect("a message").clone();
    let mut lines = String::new();
    for number in 1..=4100 {
        said["id"] = json!(last + number);
        said["payload"]["content"] = json!(format!("number {number}."));
        lines.push_str(&format!("{said}\n"));
    }
    fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(lines.as_bytes()).unwrap();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    loaded(&mut editor, &home, &session);
    let said = editor.text(&session, "user_message_chunk");
    assert!(!said.contains("the very first") && said.contains("number 4100."), "{}", said.len());
    let first = &editor.updates(&session, "agent_message_chunk")[0]["content"]["text"];
    assert!(first.as_str().is_some_and(|text| text.contains("is not shown")), "{first}");
    editor.end();
}
