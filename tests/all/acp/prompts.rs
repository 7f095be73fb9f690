//! Prompts: text, thoughts, usage, attachments, commands, and why they stop.

use super::{Editor, desk, prompt, serving, streamed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_tests::{Answer, Server, tape};
use serde_json::{Value, json};

/// A picture of one pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0, 1,
    0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

#[test]
fn an_answer_is_streamed_and_the_conversation_goes_on() {
    let home = desk(true);
    let model = Server::new([Answer::text("good morning"), Answer::text("you greeted me")]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "hello"), "end_turn");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "good morning");
    assert_eq!(editor.say(&session, "what did I say?"), "end_turn");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "good morningyou greeted me");
    let titles = editor.updates(&session, "session_info_update");
    assert_eq!(titles.len(), 1, "{titles:?}");
    assert_eq!(titles[0]["title"], "hello");
    editor.end();
    let second = model.requests()[1].messages().iter().map(Value::to_string).collect::<String>();
    assert!(second.contains("good morning"), "{second}");
    let entries = tape::read(&home.tape_file(&session));
    assert_eq!(entries[0]["meta"]["session"]["channel"], "acp", "{}", entries[0]);
}

#[test]
fn text_arrives_before_the_answer_is_whole() {
    let home = desk(true);
    let gate = std::sync::Arc::new(bub_tests::Gate::default());
    let held = std::sync::Arc::clone(&gate);
    let model = Server::ruled(move |_| Answer::gated("at ", &held, "last"));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let id = editor.prompt(&session, "slowly");
    super::until("the first piece", || editor.text(&session, "agent_message_chunk") == "at ");
    assert!(editor.messages().iter().all(|message| message["id"] != id));
    // Other requests are answered meanwhile.
    assert!(editor.ask("session/list", &json!({}))["result"]["sessions"].is_array());
    gate.open();
    assert_eq!(editor.stopped(id), "end_turn");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "at last");
    editor.end();
}

#[test]
fn reasoning_is_a_thought_and_usage_is_told() {
    let home = desk(true);
    home.configure("[windows]\nfake-model = 100000\n");
    let thinking = [
        json!({ "reasoning_content": "let me " }),
        json!({ "reasoning_content": "see" }),
        json!({ "content": "seen" }),
    ];
    let model = Server::new([streamed(&thinking, "stop"), Answer::counted("counted", 1234)]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "think"), "end_turn");
    assert_eq!(editor.text(&session, "agent_thought_chunk"), "let me see");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "seen");
    assert_eq!(editor.say(&session, "count"), "end_turn");
    let usage = editor.updates(&session, "usage_update");
    assert_eq!((&usage[0]["used"], &usage[0]["size"]), (&json!(1235), &json!(100_000)), "{usage:?}");
    editor.end();
}

#[test]
fn why_a_prompt_stopped_is_what_the_model_said() {
    let home = desk(true);
    let cut = |reason| streamed(&[json!({ "content": "so far" })], reason);
    let model = Server::new([cut("length"), cut("content_filter"), cut("stop"), Answer::refusal("the model is cross")]);
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    for reason in ["max_tokens", "refusal", "end_turn"] {
        assert_eq!(editor.say(&session, "go"), reason);
    }
    let id = editor.prompt(&session, "and now?");
    let failed = editor.answer(id);
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
    let message = failed["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("cross") && !message.contains('\n'), "{failed}");
    editor.end();
}

#[test]
fn a_turn_that_takes_all_its_steps_says_so() {
    let home = desk(true);
    home.configure("max_steps = 2\n");
    let model = Server::ruled(|_| Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "read on"), "max_turn_requests");
    editor.end();
}

#[test]
fn images_links_and_resources_reach_the_model() {
    let home = desk(true);
    let model = Server::ruled(|_| Answer::text("seen"));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    let notes = format!("file://{}", home.workspace().join("notes.txt").display());
    let parts = [
        json!({ "type": "text", "text": "compare " }),
        json!({ "type": "resource_link", "name": "notes.txt", "uri": notes, "size": 8, "annotations": { "priority": 0.5 } }),
        json!({ "type": "text", "text": " with these" }),
        json!({ "type": "image", "mimeType": "image/png", "data": STANDARD.encode(PNG), "uri": "file:///tmp/dot.png" }),
        json!({ "type": "resource", "resource": { "uri": "file:///elsewhere/list.txt", "text": "milk and honey", "mimeType": "text/plain" } }),
    ];
    let id = editor.request("session/prompt", &prompt(&session, &parts));
    assert_eq!(editor.stopped(id), "end_turn");
    editor.end();
    let body = model.requests()[0].body.clone();
    assert!(body.contains("compare [notes.txt](notes.txt) with these"), "{body}");
    assert!(body.contains("milk and honey") && body.contains("list.txt"), "{body}");
    assert!(body.contains(&format!("data:image/png;base64,{}", STANDARD.encode(PNG))), "{body}");
}

#[test]
fn a_part_that_cannot_be_attached_is_refused_with_the_reason() {
    let home = desk(true);
    let mut editor = Editor::begin(serving(&home, &[]));
    let session = editor.session(&home.workspace());
    let image = |data: &str| json!({ "type": "image", "mimeType": "image/png", "data": data });
    let text = |text: &str| json!({ "type": "text", "text": text });
    for (parts, says) in [
        (vec![], "the prompt is empty"),
        (vec![text(" \n")], "the prompt is empty"),
        (vec![text("see"), image("no base64!")], "its data is no base64"),
        (
            vec![text("see"), image(&STANDARD.encode([0, 1, 2, 3, 4, 5, 6, 7]))],
            "it is no image, sound, video or document",
        ),
        (vec![text("/tape.info"), image(&STANDARD.encode(PNG))], "a command takes no attachments"),
        (vec![image(&STANDARD.encode(PNG)); 17], "takes 16 attachments, not 17"),
        (vec![text("x"); 1025], "at most 1024 parts"),
        (vec![json!({ "type": "hologram" })], "do not fit"),
    ] {
        let answer = editor.ask("session/prompt", &prompt(&session, &parts));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(says)), "{says}: {answer}");
    }
    editor.end();
}

#[test]
fn slash_commands_run_without_a_model_and_paths_do_not() {
    let home = desk(true);
    let model = Server::ruled(|_| Answer::text("a path"));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.say(&session, "/fs.read path=notes.txt"), "end_turn");
    assert!(editor.text(&session, "agent_message_chunk").contains("two"));
    assert_eq!(editor.say(&session, ",fs.read path=notes.txt"), "end_turn");
    let said = format!(
        "{}{}",
        editor.ask("session/prompt", &prompt(&session, &[json!({ "type": "text", "text": "/diff" })])),
        editor.text(&session, "agent_message_chunk")
    );
    assert!(said.contains("has changed"), "{said}");
    assert_eq!(model.requests().len(), 0);
    assert_eq!(editor.say(&session, "/usr/bin is what?"), "end_turn");
    assert_eq!(model.requests().len(), 1);
    assert!(model.requests()[0].body.contains("/usr/bin is what?"));
    let failed = editor
        .ask("session/prompt", &prompt(&session, &[json!({ "type": "text", "text": "/fs.read path=absent.txt" })]));
    let said = format!("{failed}{}", editor.text(&session, "agent_message_chunk"));
    assert!(said.contains("absent.txt"), "{said}");
    editor.end();
}

#[test]
fn with_memory_and_the_context_builder_on_prompts_work_as_well() {
    let home = desk(true);
    home.configure(
        "selector = \"context-builder\"\n[plugins.context-builder]\nenabled = true\n[plugins.memory]\nenabled = true\n",
    );
    let model = Server::ruled(|request| Answer::text(&format!("{} messages", request.messages().len())));
    let mut editor = Editor::begin(serving(&home, &[]).model(&model));
    let session = editor.session(&home.workspace());
    for text in ["hello", "again", "and again"] {
        assert_eq!(editor.say(&session, text), "end_turn");
    }
    assert_eq!(editor.text(&session, "agent_message_chunk").matches("messages").count(), 3);
    let finished = editor.end();
    assert!(!finished.stderr.contains("selector"), "{finished}");
}
