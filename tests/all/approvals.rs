//! Questions about tool calls that are answered over HTTP: of turns of `serve`, of its workers, and of a chat.

use bub_tests::{Home, Serve};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::thread::scope;

use crate::chat::asking::{CHOICES, WRITE, made, wary};
use crate::home;
use crate::serve::token_of;
use crate::streams::Stream;

/// A home whose owner is asked about everything.
pub(crate) fn asking() -> Home {
    let home = home();
    home.configure("[policy]\napprove = \"ask\"\n");
    home
}

/// Without a model, the program does what the message says.
pub(crate) fn serve(home: &Home) -> Serve<'_> {
    Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]), &home.bub_home())
}

pub(crate) fn attend(serve: &Serve<'_>) -> Stream {
    Stream::read(serve.ask("GET", "/v1/approvals/stream"))
}

fn submit(serve: &Serve<'_>, session: &str, content: &str) -> TcpStream {
    serve.ask("POST", "/v1/turns").json(&json!({ "content": content, "session_id": session })).open()
}

/// The next list with that many questions.
#[track_caller]
pub(crate) fn questions(stream: &mut Stream, count: usize) -> Vec<Value> {
    loop {
        let event = stream.until("approvals");
        let list = event.data["approvals"].as_array().unwrap().clone();
        if list.len() == count {
            return list;
        }
    }
}

pub(crate) fn decide(serve: &Serve<'_>, question: &Value, decision: &str) -> bub_tests::Said {
    let path = format!("/v1/approvals/{}", question["id"].as_str().unwrap());
    serve.ask("POST", &path).json(&json!({ "decision": decision })).send()
}

#[test]
fn a_turn_asks_while_a_client_attends_and_goes_on_after_the_first_answer() {
    let home = asking();
    let serve = serve(&home);
    let mut page = attend(&serve);
    questions(&mut page, 0);
    scope(|scope| {
        let turn = scope.spawn(|| serve.post("/v1/turns", &json!({ "content": WRITE, "session_id": "http:s" })));
        let asked = questions(&mut page, 1).remove(0);
        assert_eq!((&asked["session_id"], &asked["tool"]), (&json!("http:s"), &json!("bash")));
        assert_eq!(
            (&asked["effect"], &asked["source"], &asked["plugin"]),
            (&json!("run"), &json!("serve"), &Value::Null)
        );
        assert!(asked["arguments"].as_str().unwrap().contains("echo made >> made.txt"), "{asked}");
        assert!(!asked["why"].as_str().unwrap().is_empty(), "{asked}");
        assert_eq!(serve.get("/v1/approvals")["approvals"], json!([asked]));
        assert_eq!(serve.get("/v1/running")["turns"][0]["tool"], "bash");
        assert_eq!(made(&home), 0);
        assert_eq!(decide(&serve, &asked, "once").ok(), json!({ "id": asked["id"], "decision": "once" }));
        let outcome = turn.join().unwrap();
        assert!(outcome["model_output"].as_str().unwrap().starts_with("tool said:"), "{outcome}");
        decide(&serve, &asked, "no").refused(409, "`owner` has answered `once` before");
    });
    questions(&mut page, 0);
    assert_eq!(made(&home), 1);
}

#[test]
fn a_call_is_denied_at_once_while_no_client_attends() {
    let home = asking();
    let serve = serve(&home);
    let outcome = serve.post("/v1/turns", &json!({ "content": WRITE }));
    assert!(outcome.to_string().contains("needs the owner's word"), "{outcome}");
    assert_eq!(made(&home), 0);
}

#[test]
fn a_decision_can_hold_for_the_session() {
    for (decision, times) in [("session", 3), ("never", 0), ("no", 0)] {
        let home = asking();
        let serve = serve(&home);
        let mut page = attend(&serve);
        scope(|scope| {
            let turn = scope.spawn(|| serve.post("/v1/turns", &json!({ "content": WRITE, "session_id": "http:s" })));
            let asked = questions(&mut page, 1).remove(0);
            decide(&serve, &asked, decision).ok();
            turn.join().unwrap();
        });
        if decision != "no" {
            for _ in 0..2 {
                serve.post("/v1/turns", &json!({ "content": WRITE, "session_id": "http:s" }));
            }
        }
        assert_eq!(made(&home), times, "{decision}");
    }
}

#[test]
fn a_question_is_withdrawn_with_its_turn() {
    let home = asking();
    let serve = serve(&home);
    let mut page = attend(&serve);
    let turn = submit(&serve, "http:s", WRITE);
    let asked = questions(&mut page, 1).remove(0);
    serve.post("/v1/sessions/http%3As/stop", &json!({}));
    questions(&mut page, 0);
    decide(&serve, &asked, "once").refused(404, "not waiting");
    drop(turn);
    assert_eq!(made(&home), 0);
}

#[test]
fn only_the_owner_answers_and_within_the_scope_of_the_token() {
    let home = asking();
    let reader = token_of(&home, "reader", "owner", "\"read\", \"turns\"", "");
    let other = token_of(&home, "other", "owner", "\"admin\"", "http:other");
    let serve = serve(&home);
    let mut page = attend(&serve);
    let turn = submit(&serve, "http:s", WRITE);
    let asked = questions(&mut page, 1).remove(0);
    let path = format!("/v1/approvals/{}", asked["id"].as_str().unwrap());
    let answer = |token: &str, path: &str, decision: &str| {
        serve.strange("POST", path).token(token).json(&json!({ "decision": decision })).send()
    };
    answer(&reader, &path, "once").refused(403, "scope `admin`");
    answer(&other, &path, "once").refused(404, "not waiting");
    let seen = serve.strange("GET", "/v1/approvals").token(&other).send().ok();
    assert_eq!(seen["approvals"], json!([]));
    serve.strange("GET", "/v1/approvals/stream").token(&reader).send().refused(403, "scope `admin`");
    for id in ["none", "..%2F..%2Fconfig.toml", &"0".repeat(32)] {
        answer(serve.token(), &format!("/v1/approvals/{id}"), "once").refused(404, "not waiting");
    }
    answer(serve.token(), &path, "yes\u{1b}").refused(400, "is no `decision`");
    assert_eq!(made(&home), 0);
    answer(serve.token(), &path, "no").ok();
    drop(turn);
}

#[test]
fn the_question_of_a_chat_is_answered_on_the_page_and_that_of_the_terminal_leaves_the_page() {
    let home = home();
    let serve = serve(&home);
    let mut page = attend(&serve);
    let chat = wary(&home);
    chat.say(WRITE).sees(CHOICES);
    let asked = questions(&mut page, 1).remove(0);
    assert_eq!((&asked["source"], &asked["session_id"]), (&json!("chat"), &json!("cli_session")));
    decide(&serve, &asked, "once").ok();
    chat.waits();
    assert_eq!(made(&home), 1);
    assert!(!chat.screen().ends_with(CHOICES), "{}", chat.screen());

    chat.say(WRITE).until("a second question", |screen| screen.contains(CHOICES));
    let asked = questions(&mut page, 1).remove(0);
    chat.answer("n").waits();
    questions(&mut page, 0);
    decide(&serve, &asked, "once").refused(409, "`the terminal` has answered `no` before");
    assert_eq!(made(&home), 1);
}

#[test]
fn hostile_arguments_are_text_in_a_question() {
    let home = asking();
    let serve = serve(&home);
    let mut page = attend(&serve);
    let hostile = r#"TOOL:bash {"cmd": "echo '</script>\u001b[2J\n\nevent: approvals\ndata: {}' # \u202e"}"#;
    let turn = submit(&serve, "http:s", hostile);
    let asked = questions(&mut page, 1).remove(0);
    let arguments: Value = serde_json::from_str(asked["arguments"].as_str().unwrap()).unwrap();
    assert!(arguments["cmd"].as_str().unwrap().contains("\n\nevent: approvals\n"), "{asked}");
    decide(&serve, &asked, "no").ok();
    drop(turn);
}

#[test]
fn a_question_of_one_worker_is_answered_at_another() {
    let Some(workers) = crate::cluster::Workers::new(2, "[policy]\napprove = \"ask\"\n") else { return };
    let serves = [workers.offline(0), workers.offline(1)];
    let mut page = attend(&serves[1]);
    questions(&mut page, 0);
    scope(|scope| {
        let turn = scope.spawn(|| serves[0].post("/v1/turns", &json!({ "content": WRITE, "session_id": "http:s" })));
        let asked = questions(&mut page, 1).remove(0);
        let running = [&serves[0], &serves[1]].map(|serve| serve.get("/v1/running")["turns"].clone());
        assert_eq!((&running[0][0]["session_id"], &running[0][0]["stage"]), (&json!("http:s"), &json!("calls-tool")));
        assert_eq!((&running[1][0]["session_id"], &running[1][0]["stage"]), (&json!("http:s"), &json!("elsewhere")));
        assert!(running[1][0]["worker"].as_str().unwrap().starts_with("worker:"), "{running:?}");
        decide(&serves[1], &asked, "once").ok();
        let outcome = turn.join().unwrap();
        assert!(outcome["model_output"].as_str().unwrap().starts_with("tool said:"), "{outcome}");
        decide(&serves[0], &asked, "no").refused(409, "`owner` has answered `once` before");
    });
    questions(&mut page, 0);
    // Without the page a call is denied at once again.
    drop(page);
    workers.until("SELECT count(*) FROM approver", "0");
    let outcome = serves[0].post("/v1/turns", &json!({ "content": WRITE, "session_id": "http:t" }));
    assert!(outcome.to_string().contains("needs the owner's word"), "{outcome}");
    assert_eq!(made(&workers.homes[0]), 1);
}
