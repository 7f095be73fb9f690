//! Sessions that are listed, loaded and resumed.

use super::{Editor, desk, serving};
use bub_tests::{Answer, Server};
use serde_json::{Value, json};
use std::fs;

/// A model that answers with what it was asked.
fn parrot() -> Server {
    Server::ruled(|request| {
        let last = request.last_content();
        let said = super::last_line(&last).to_owned();
        match said.contains("read it") {
            true => Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#),
            false => Answer::text(&format!("you said: {said}")),
        }
    })
}

#[test]
fn a_second_process_loads_a_session_with_its_conversation() {
    let home = desk(true);
    let model = parrot();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    for text in ["hello there", "read it"] {
        assert_eq!(editor.say(&session, text), "end_turn");
    }
    editor.end();

    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let params = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    let id = editor.request("session/load", &params);
    let loaded = editor.answer(id);
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "auto", "{loaded}");
    // The conversation comes before the answer, in order.
    let messages = editor.messages();
    let end = messages.iter().position(|message| message["id"] == id).expect("the answer");
    let told: Vec<String> = messages[..end]
        .iter()
        .filter_map(|message| {
            let update = &message["params"]["update"];
            let kind = update["sessionUpdate"].as_str()?;
            Some(format!(
                "{kind}: {}",
                update["content"]["text"].as_str().unwrap_or(update["title"].as_str().unwrap_or(""))
            ))
        })
        .collect();
    assert_eq!(told[0], "user_message_chunk: hello there", "{told:?}");
    assert_eq!(told[1], "agent_message_chunk: you said: hello there", "{told:?}");
    assert_eq!(told[2], "user_message_chunk: read it", "{told:?}");
    assert_eq!(told[3], "tool_call: Read `notes.txt`", "{told:?}");
    assert_eq!(told[4], "tool_call_update: ", "{told:?}");
    assert!(told[5..].iter().any(|told| told.starts_with("agent_message_chunk: you said")), "{told:?}");
    let result = &editor.updates(&session, "tool_call_update")[0];
    assert_eq!(result["status"], "completed", "{result}");
    assert!(result["content"].to_string().contains("two"), "{result}");
    assert_eq!(editor.say(&session, "and on"), "end_turn");
    let last = model.requests().pop().unwrap();
    assert!(last.body.contains("hello there"), "{}", last.body);
    editor.end();
}

#[test]
fn a_resumed_session_goes_on_without_a_replay() {
    let home = desk(true);
    let model = parrot();
    // A session of the terminal.
    assert_eq!(home.run(["--session", "cli:mine", "from the terminal"]).model(&model).finish().code, Some(0));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let params = json!({ "sessionId": "cli:mine", "cwd": home.workspace() });
    let resumed = editor.ask("session/resume", &params);
    assert!(resumed["result"]["modes"].is_object(), "{resumed}");
    assert_eq!(editor.updates("cli:mine", "user_message_chunk").len(), 0);
    assert_eq!(editor.say("cli:mine", "from the editor"), "end_turn");
    let last = model.requests().pop().unwrap();
    assert!(last.body.contains("from the terminal"), "{}", last.body);
    editor.end();
}

#[test]
fn sessions_are_listed_the_newest_first_by_folder_or_all() {
    let home = desk(true);
    let other = home.workspace().with_file_name("other");
    fs::create_dir(&other).unwrap();
    let model = parrot();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let listed = |editor: &mut Editor<'_>, params: &Value| -> Vec<(String, String)> {
        let answer = editor.ask("session/list", params);
        let sessions = answer["result"]["sessions"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        sessions.iter().map(|session| (text(&session["sessionId"]), text(&session["cwd"]))).collect()
    };
    assert!(listed(&mut editor, &json!({})).is_empty());
    let here = editor.session(&home.workspace());
    assert_eq!(editor.say(&here, "here \u{1b}[31m I am"), "end_turn");
    let there = editor.session(&other);
    assert_eq!(editor.say(&there, "there"), "end_turn");
    let folder = |folder: &std::path::Path| folder.to_string_lossy().into_owned();
    let of_here = (here.clone(), folder(&home.workspace()));
    let of_there = (there.clone(), folder(&other));
    assert_eq!(listed(&mut editor, &json!({})), [of_there.clone(), of_here.clone()]);
    assert_eq!(listed(&mut editor, &json!({ "cwd": home.workspace() })), [of_here]);
    assert_eq!(listed(&mut editor, &json!({ "cwd": other })), [of_there]);
    let titled = editor.ask("session/list", &json!({ "cwd": home.workspace() }));
    let title = titled["result"]["sessions"][0]["title"].as_str().unwrap_or_default();
    assert!(title.starts_with("here") && !title.contains('\u{1b}'), "{titled}");
    assert!(titled["result"]["sessions"][0]["updatedAt"].is_string(), "{titled}");
    for (params, code) in [(json!({ "cwd": "ws" }), -32602), (json!({ "cursor": "2" }), -32602)] {
        let answer = editor.ask("session/list", &params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    editor.end();
}

#[test]
fn a_session_that_is_not_there_is_not_loaded() {
    let home = desk(true);
    let other = home.workspace().with_file_name("other");
    fs::create_dir(&other).unwrap();
    let model = parrot();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "hello"), "end_turn");
    let load = |id: &str, cwd: &std::path::Path| json!({ "sessionId": id, "cwd": cwd, "mcpServers": [] });
    for (params, code) in [
        (load("acp:none", &home.workspace()), -32002),
        (load(&session, &other), -32002),
        (load("temp/x", &home.workspace()), -32602),
        (load("", &home.workspace()), -32602),
        (load("a\nb", &home.workspace()), -32602),
        (load("\u{202e}`x", &home.workspace()), -32002),
    ] {
        for method in ["session/load", "session/resume"] {
            let answer = editor.ask(method, &params);
            assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.contains(['\n', '\u{202e}']), "{answer}");
        }
    }
    // The session is open for the folder that it is of.
    assert_eq!(editor.say(&session, "still there?"), "end_turn");
    editor.end();
}

#[test]
fn two_processes_serve_one_home_and_one_session() {
    let home = desk(true);
    let model = parrot();
    let mut one = Editor::begin(serving(&home, &[]).model(&model));
    let session = one.session(&home.workspace());
    assert_eq!(one.say(&session, "from one"), "end_turn");
    let mut two = Editor::begin(serving(&home, &[]).model(&model));
    let params = json!({ "sessionId": session, "cwd": home.workspace(), "mcpServers": [] });
    assert!(two.ask("session/load", &params)["result"].is_object());
    let ids = (one.prompt(&session, "both at once"), two.prompt(&session, "both at once"));
    assert_eq!((one.stopped(ids.0), two.stopped(ids.1)), ("end_turn".to_owned(), "end_turn".to_owned()));
    let own = two.session(&home.workspace());
    assert_eq!(two.say(&own, "on my own"), "end_turn");
    one.end();
    two.end();
    let text = fs::read_to_string(home.tape_file(&session)).unwrap();
    assert_eq!(text.matches("you said: both at once").count(), 2, "{text}");
}
