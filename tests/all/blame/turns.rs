//! Fifty requests of turns of many kinds.

use super::{of_file, source_of};
use crate::home;
use bub_tests::{Answer, Server, programs};
use serde_json::{Value, json};
use std::fs;

/// Requests of all turns together.
const REQUESTS: usize = 50;

#[test]
fn every_byte_of_fifty_requests_has_a_source_and_the_body_is_the_one_that_was_sent() {
    let home = home();
    home.scripted("swap", programs::SCRIPTED, r#"before-llm-call = { swap = [["turn", "TURN"]] }"#);
    home.scripted("say", programs::SCRIPTED, r#"before-llm-call = { say = "said by a plugin" }"#);
    home.scripted("back", programs::SCRIPTED, r#"before-llm-call = { swap = [["TURN", "turn again"]] }"#);
    home.configure("[plugins.context-builder]\nenabled = true");
    fs::write(home.workspace().join("AGENTS.md"), "Be brief.").expect("a file");
    fs::write(home.workspace().join("notes.txt"), "long ".repeat(3_000)).expect("a file");
    let file = home.workspace().join("trails").to_string_lossy().into_owned();
    let server = Server::ruled(|request| {
        let messages = request.messages();
        let last = messages.iter().rev().find(|message| message["content"] != "said by a plugin").expect("a message");
        let said = last["content"].as_str().unwrap_or_default();
        if last["role"] == "tool" {
            return Answer::text("done with it");
        }
        match said {
            _ if said.contains("read") => Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#),
            _ if said.contains("remember") => {
                Answer::tool_call("memory_save", &json!({ "content": "the owner likes tea" }).to_string())
            }
            _ if said.contains("delegate") => Answer::tool_call("subagent", r#"{"prompt": "say hello"}"#),
            _ => Answer::text("a plain answer, \u{1f600} with \"marks\" and a tab\t"),
        }
    });
    let mut turn = 0;
    while server.requests().len() < REQUESTS {
        let kinds = [
            "turn: say hello",
            "turn: read the notes",
            "turn: remember this",
            "turn: delegate it",
            "turn: caf\u{e9} \u{1b}[1m",
        ];
        let session = format!("s{}", turn % 3);
        home.run([kinds[turn % kinds.len()], "--session", &session, "--trails", &file, "--allow", "read,write,run"])
            .model(&server)
            .finish();
        turn += 1;
    }
    let (all, requests) = (of_file(&home, &file), server.requests());
    assert_eq!(all.len(), requests.len());
    for (blame, request) in all.iter().zip(&requests) {
        let sent: Value = serde_json::from_str(blame["body"].as_str().expect("a body")).expect("it is JSON");
        assert_eq!(sent, request.json());
        assert_eq!(source_of(blame, "said by a plugin")["plugin"], "say");
        let system = source_of(blame, "Be brief.");
        assert!(["builtin", "context-builder"].contains(&system["plugin"].as_str().unwrap_or_default()), "{system}");
    }
    // Values of messages are no unknown text of the host: it wrote nothing but what joins the parts.
    let by_host: Vec<String> = all.iter().flat_map(texts_of_host).collect();
    assert!(by_host.iter().all(|text| text.trim().len() < 40), "{by_host:#?}");
}

#[test]
fn what_a_selector_wrote_itself_is_the_selectors_and_what_it_chose_is_its_authors() {
    let home = home().without_tools();
    home.configure(
        "selector = \"context-builder\"\nmax_tokens = 400\n[windows]\n\"openai:fake-model\" = 4000\n\
         [plugins.context-builder]\nenabled = true\n[plugins.memory]\nenabled = true",
    );
    let file = home.workspace().join("trails").to_string_lossy().into_owned();
    let model = Server::ruled(|_| Answer::text(&"It was said before, and is said again. ".repeat(12)));
    let lines: String = (0..30).map(|turn| format!("Tell me more about the harbour, part {turn}.\n")).collect();
    let chat = home.bub(["chat", "--session-id", "s"]).model(&model).input(&lines).finish();
    assert_eq!(chat.code, Some(0), "{chat}");
    home.run(["And the last part?", "--session", "s", "--trails", &file]).model(&model).finish();
    let all = of_file(&home, &file);
    let blame = all.last().expect("a request");
    super::is_by(blame, "[Conversation summary]", "context-builder", "selector");
    assert_eq!(source_of(blame, "And the last part?")["kind"], "sender");
}

/// What the host wrote of the contents of messages.
fn texts_of_host(blame: &Value) -> Vec<String> {
    let body = blame["body"].as_str().expect("a body");
    let spans = blame["spans"].as_array().expect("spans").iter();
    let of_content = |span: &&Value| {
        span["source"] == 0
            && span["path"].as_str().is_some_and(|path| path.starts_with("messages.") && path.ends_with(".content"))
    };
    let place = |span: &Value, key: &str| span[key].as_u64().expect("a place") as usize;
    spans.filter(of_content).map(|span| body[place(span, "start")..place(span, "end")].to_owned()).collect()
}
