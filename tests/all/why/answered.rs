//! Why a call was made or denied that was asked about over HTTP, that a table lists, or that the sandbox forbids.

use super::{says, why};
use crate::approvals::{asking, attend, decide, questions, serve};
use crate::chat::asking::WRITE;
use crate::home;
use bub_tests::{Answer, Server, tape};
use serde_json::{Value, json};
use std::thread::scope;

/// The id of the entry of the session's first decision.
#[track_caller]
fn decision(home: &bub_tests::Home, session: &str) -> String {
    let entries = tape::read(&home.tape_file(session));
    let decided = entries.iter().find(|entry| entry["payload"]["name"] == "policy.decided");
    decided.unwrap_or_else(|| panic!("nothing was decided: {entries:#?}"))["id"].to_string()
}

#[test]
fn an_answer_on_the_board_names_the_bearer_and_the_question() {
    for (word, made) in [("once", true), ("no", false)] {
        let home = asking();
        let serve = serve(&home);
        let mut page = attend(&serve);
        let id = scope(|scope| {
            let turn = scope.spawn(|| serve.post("/v1/turns", &json!({ "content": WRITE, "session_id": "http:s" })));
            let asked = questions(&mut page, 1).remove(0);
            decide(&serve, &asked, word).ok();
            turn.join().expect("it ends");
            asked["id"].as_str().expect("an id").to_owned()
        });
        let decided = decision(&home, "http:s");
        let over_http = serve.get(&format!("/v1/sessions/http%3As/decisions/{decided}"));
        serve.end();
        let explained = why(&home, "http:s", &decided);
        assert_eq!((&explained["verdict"], &explained["made"]), (&"ask".into(), &json!(made)), "{explained:#}");
        says(&explained, "owner's answer", &format!("`{word}`, at "));
        says(&explained, "owner's answer", &format!("(question {id})"));
        assert_eq!(over_http["facts"], explained["facts"]);
    }
}

#[test]
fn a_tool_that_is_listed_for_a_channel_names_the_table_and_its_line() {
    let home = home();
    home.configure("[channels.telegram]\nowners = [\"me\"]\ntools = [\"fs.read\"]");
    std::fs::write(home.workspace().join("notes.txt"), "a line\n").expect("a file");
    let read = Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#);
    let server = Server::new([read, Answer::text("done")]);
    let said = ["go", "--channel", "telegram", "--chat-id", "1", "--sender-id", "stranger"];
    home.run(said).model(&server).finish();
    let explained = why(&home, "telegram:1", &decision(&home, "telegram:1"));
    assert_eq!((&explained["verdict"], &explained["made"]), (&"allow".into(), &Value::Bool(true)), "{explained:#}");
    let file = std::fs::read_to_string(home.bub_home().join("config.toml")).expect("a file");
    let line = file.lines().position(|line| line.starts_with("tools = ")).expect("it is there") + 1;
    says(
        &explained,
        "decided by",
        &format!("`tools` of `[channels.telegram]`, line {line} of config.toml lists the tool"),
    );
    says(&explained, "by", "anonymous on channel `telegram`, sender `stranger`");
}

#[test]
fn a_call_that_strict_forbids_names_its_line() {
    let Some(backend) = crate::sandbox::backends().first() else { return };
    let home = home();
    home.bub(["trust"]).finish();
    home.configure("[process]\nstrict = true");
    let outside = json!({ "cmd": "true", "outside": true, "reason": "to show it" }).to_string();
    let server = Server::new([Answer::tool_call("bash", &outside), Answer::text("done")]);
    home.run(["go", "--allow", "run,outside"]).model(&server).env("BUB_SANDBOX", backend).finish();
    let explained = why(&home, "cli:local", &decision(&home, "cli:local"));
    assert_eq!((&explained["verdict"], &explained["made"]), (&"deny".into(), &Value::Bool(false)), "{explained:#}");
    let file = std::fs::read_to_string(home.bub_home().join("config.toml")).expect("a file");
    let line = file.lines().position(|line| line.starts_with("strict = ")).expect("it is there") + 1;
    says(&explained, "decided by", &format!("`strict` of `[process]`, line {line} of config.toml"));
    assert!(explained["remedies"].to_string().contains("`strict = false` in `[process]`"), "{explained:#}");
}
