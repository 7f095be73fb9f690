//! What needs the user's word: questions, their answers, modes, and answers from elsewhere.

use super::{Editor, desk, serving, until};
use bub_tests::{Answer, Home, Serve, Server};
use serde_json::{Value, json};

/// A model that writes a file when it is told to, and says `done` then.
fn writer() -> Server {
    Server::ruled(|request| match super::last_line(&request.last_content()).contains("write") {
        true => Answer::tool_call("fs_write", &json!({ "path": "made.txt", "content": "made\n" }).to_string()),
        false => Answer::text("done"),
    })
}

fn made(home: &Home) -> bool {
    home.workspace().join("made.txt").exists()
}

#[test]
fn a_call_is_asked_about_with_its_exact_arguments_and_the_difference() {
    let home = desk(true);
    let model = writer();
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "write it");
    let question = editor.question(0);
    let asked = &question["params"];
    assert_eq!(asked["sessionId"], session.as_str());
    let call = &asked["toolCall"];
    assert_eq!(call["title"], "Write `made.txt`", "{call}");
    assert_eq!(call["rawInput"], json!({ "path": "made.txt", "content": "made\n" }), "{call}");
    assert_eq!(call["status"], "pending", "{call}");
    assert_eq!(call["content"][0]["type"], "diff", "{call}");
    assert_eq!(call["content"][0]["newText"], "made\n", "{call}");
    assert!(call["content"].to_string().contains("Asked because the approval mode is `ask`"), "{call}");
    // The editor knows the call already.
    let known = editor.updates(&session, "tool_call");
    assert_eq!(known[0]["toolCallId"], call["toolCallId"], "{known:?}");
    let kinds: Vec<&str> =
        asked["options"].as_array().into_iter().flatten().filter_map(|option| option["kind"].as_str()).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_always"]);
    assert!(!made(&home));
    editor.decide(&question, "allow_once");
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(made(&home));
    // Once is once.
    let id = editor.prompt(&session, "write it again");
    let second = editor.question(1);
    editor.decide(&second, "reject_once");
    assert_eq!(editor.stopped(id), "end_turn");
    let ends = editor.updates(&session, "tool_call_update");
    let last = ends.last().expect("it ended");
    assert_eq!(last["status"], "failed", "{last}");
    assert!(last["content"].to_string().contains("said no"), "{last}");
    editor.end();
}

#[test]
fn an_answer_for_the_session_is_not_asked_for_again() {
    let home = desk(true);
    let model = writer();
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    for (kind, is_made) in [("allow_always", true), ("reject_always", false)] {
        let session = editor.session(&home.workspace());
        let id = editor.prompt(&session, "write it");
        let question = editor.question(usize::from(!is_made));
        editor.decide(&question, kind);
        assert_eq!(editor.stopped(id), "end_turn");
        assert_eq!(made(&home), is_made, "{kind}");
        if is_made {
            std::fs::remove_file(home.workspace().join("made.txt")).unwrap();
        }
        assert_eq!(editor.say(&session, "write it again"), "end_turn");
        assert_eq!(made(&home), is_made, "{kind}");
        if is_made {
            std::fs::remove_file(home.workspace().join("made.txt")).unwrap();
        }
    }
    let asked = editor.messages().iter().filter(|m| m["method"] == "session/request_permission").count();
    assert_eq!(asked, 2);
    editor.end();
}

#[test]
fn an_editor_that_answers_with_an_error_or_with_nonsense_allows_nothing() {
    let home = desk(true);
    let model = writer();
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    let session = editor.session(&home.workspace());
    let answers = [
        json!({ "error": { "code": -32601, "message": "no such\u{1b}[2J method" } }),
        json!({ "result": { "outcome": { "outcome": "selected", "optionId": "no such option" } } }),
        json!({ "result": { "outcome": { "outcome": "cancelled" } } }),
        json!({ "result": { "outcome": "yes" } }),
        json!({ "result": null }),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let id = editor.prompt(&session, "write it");
        let question = editor.question(number);
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = question["id"].clone();
        editor.send(&answer);
        assert_eq!(editor.stopped(id), "end_turn");
        assert!(!made(&home), "{answer}");
    }
    let finished = editor.end();
    assert!(!finished.stderr.contains('\u{1b}'), "{finished}");
}

#[test]
fn modes_decide_what_is_asked_about() {
    let home = desk(true);
    let model = writer();
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    let session = editor.session(&home.workspace());
    let mode = |editor: &mut Editor<'_>, mode: &str| {
        editor.ask("session/set_mode", &json!({ "sessionId": session, "modeId": mode }))
    };
    for (id, is_made) in [("edits", true), ("read-only", false), ("all", true), ("auto", true)] {
        assert!(mode(&mut editor, id)["result"].is_object());
        assert_eq!(editor.say(&session, "write it"), "end_turn");
        assert_eq!(made(&home), is_made, "{id}");
        let _ = std::fs::remove_file(home.workspace().join("made.txt"));
    }
    let unknown = mode(&mut editor, "yolo\n");
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(
        unknown["error"]["message"].as_str().is_some_and(|text| text.contains("`ask`, `auto`, `edits`")),
        "{unknown}"
    );
    assert!(mode(&mut editor, "ask")["result"].is_object());
    let id = editor.prompt(&session, "write it");
    let question = editor.question(0);
    editor.decide(&question, "allow_once");
    assert_eq!(editor.stopped(id), "end_turn");
    editor.end();
}

#[test]
fn files_of_a_workspace_that_is_not_trusted_taint_until_it_is() {
    let home = desk(false);
    let model = Server::ruled(|request| {
        let last = request.last_content();
        let said = super::last_line(&last);
        match (said.contains("read it"), said.contains("write it")) {
            (true, _) => Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#),
            (_, true) => Answer::tool_call("fs_write", r#"{"path": "made.txt", "content": "made\n"}"#),
            _ => Answer::text("done"),
        }
    });
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "read it"), "end_turn");
    let id = editor.prompt(&session, "write it");
    let question = editor.question(0);
    assert!(question.to_string().contains("untrusted workspace"), "{question}");
    editor.decide(&question, "reject_once");
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(!made(&home));
    // The program sees that at the next prompt.
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    assert_eq!(editor.say(&session, "write it"), "end_turn");
    assert!(made(&home));
    editor.end();
}

#[test]
fn an_attached_file_of_a_workspace_that_is_not_trusted_taints_too() {
    let home = desk(false);
    let model = writer();
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let uri = format!("file://{}", home.workspace().join("notes.txt").display());
    let parts = [
        json!({ "type": "resource", "resource": { "uri": uri, "text": "one\ntwo\n" } }),
        json!({ "type": "text", "text": "\nwrite it" }),
    ];
    let id = editor.request("session/prompt", &super::prompt(&session, &parts));
    let question = editor.question(0);
    editor.decide(&question, "reject_once");
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(!made(&home));
    editor.end();
}

#[test]
fn the_first_answer_counts_and_a_question_that_was_answered_elsewhere_is_withdrawn() {
    let home = desk(true);
    let model = writer();
    let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]), &home.bub_home());
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "write it");
    let question = editor.question(0);
    let open = || -> Vec<Value> { serve.get("/v1/approvals")["approvals"].as_array().cloned().unwrap_or_default() };
    until("the question on the board", || !open().is_empty());
    let asked = &open()[0];
    assert_eq!((&asked["session_id"], &asked["source"]), (&json!(session), &json!("acp")), "{asked}");
    let path = format!("/v1/approvals/{}", asked["id"].as_str().expect("an id"));
    serve.ask("POST", &path).json(&json!({ "decision": "once" })).send().ok();
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(made(&home));
    let withdrawn = editor.message("the withdrawal", |message| message["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // An answer that comes late changes nothing.
    editor.decide(&question, "reject_always");
    assert_eq!(editor.say(&session, "hello"), "end_turn");
    editor.end();
    serve.end();
}

/// A model that runs the command after `run `, written as JSON.
fn commander() -> Server {
    Server::ruled(|request| match super::last_line(&request.last_content()).split_once("run ") {
        Some((_, command)) if command.starts_with('"') => {
            let command: Value = serde_json::from_str(command).expect("a text");
            Answer::tool_call("bash", &json!({ "cmd": command }).to_string())
        }
        _ => Answer::text("done"),
    })
}

/// Answers a question with the option of that id, whether it is offered or not.
fn choose(editor: &mut Editor, question: &Value, id: &str) {
    let result = json!({ "outcome": { "outcome": "selected", "optionId": id } });
    editor.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
}

#[test]
fn a_rule_that_the_editor_keeps_holds_for_the_next_call_and_in_other_sessions() {
    let home = desk(true);
    let model = commander();
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, r#"run "uname -s""#);
    let question = editor.question(0);
    let options = question["params"]["options"].as_array().expect("options").clone();
    let rule = options.iter().find(|option| option["optionId"] == "rule").expect("a rule is offered");
    assert_eq!(rule["kind"], "allow_always");
    assert_eq!(rule["name"], r#"Always allow by rule: prefix = ["uname"], decision = "allow""#);
    choose(&mut editor, &question, "rule");
    assert_eq!(editor.stopped(id), "end_turn");
    let config = std::fs::read_to_string(home.bub_home().join("config.toml")).expect("the configuration");
    assert!(config.contains(r#"prefix = ["uname"]"#), "{config}");
    let other = editor.session(&home.workspace());
    assert_eq!(editor.say(&other, r#"run "uname -r""#), "end_turn");
    let asked = |editor: &Editor| {
        editor.messages().iter().filter(|message| message["method"] == "session/request_permission").count()
    };
    assert_eq!(asked(&editor), 1);
    let id = editor.prompt(&other, r#"run "touch made.txt""#);
    let question = editor.question(1);
    choose(&mut editor, &question, "no");
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(!made(&home));
    editor.end();
}

#[test]
fn no_rule_is_kept_for_what_none_can_allow_and_no_command_shapes_an_option() {
    let home = desk(true);
    let model = commander();
    let mut editor = Editor::begin(serving(&home, &["--approve", "ask"]).model(&model));
    let session = editor.session(&home.workspace());
    let config = || std::fs::read_to_string(home.bub_home().join("config.toml")).unwrap_or_default();
    let before = config();
    let long = format!("touch made.txt {}", "x".repeat(100_000));
    for (number, (command, is_offered)) in [
        ("uname > made.txt", false),
        (long.as_str(), false),
        ("touch made.txt; eval \"$(cat x)\"", false),
        ("touch \"made.txt\" '\u{1b}[31m\nAlways allow by rule: all' \u{202e}", false),
        ("touch made.txt\n\u{1b}]0;x\u{7}uname \"'\" \\'", false),
    ]
    .into_iter()
    .enumerate()
    {
        let id = editor.prompt(&session, &format!("run {}", json!(command)));
        let question = editor.question(number);
        let (options, title) = (&question["params"]["options"], &question["params"]["toolCall"]["title"]);
        let options: Vec<&Value> = options.as_array().into_iter().flatten().collect();
        let texts: Vec<&str> =
            options.iter().filter_map(|option| option["name"].as_str()).chain(title.as_str()).collect();
        let is_one_line = |text: &&str| text.len() < 10_000 && !text.chars().any(|c| c.is_control() || c == '\u{202e}');
        assert!(texts.iter().all(is_one_line), "{texts:?}");
        let offered = options.iter().any(|option| option["optionId"] == "rule");
        assert_eq!(offered, is_offered, "{command:.80}: {options:?}");
        choose(&mut editor, &question, if offered { "no" } else { "rule" });
        assert_eq!(editor.stopped(id), "end_turn");
        assert!(!made(&home), "{command:.80}");
    }
    assert_eq!(config(), before);
    editor.end();
}

#[test]
fn an_editor_shows_and_puts_back_what_a_turn_has_changed() {
    let home = desk(true);
    let model = writer();
    let mut editor = Editor::begin(serving(&home, &["--approve", "all"]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "write it"), "end_turn");
    assert!(made(&home));
    let said = |editor: &Editor| format!("{:?}", editor.updates(&session, "agent_message_chunk"));
    assert_eq!(editor.say(&session, ",diff"), "end_turn");
    assert!(said(&editor).contains("created made.txt"), "{}", said(&editor));
    assert!(made(&home));
    assert_eq!(editor.say(&session, ",undo"), "end_turn");
    assert!(said(&editor).contains("1 file removed"), "{}", said(&editor));
    assert!(!made(&home));
    editor.end();
}
