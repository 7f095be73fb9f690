//! Questions about tool calls in the chat of the bot's owner, and the answers there.

use super::served::{homed, serve, until};
use super::stand_in::StandIn;
use super::{ada, bob, private, said};
use crate::chat::asking::{WRITE, made};
use bub_tests::{Home, Started};
use serde_json::json;

/// A home whose owner is asked about everything.
fn asking(server: &StandIn) -> Home {
    let home = homed(server);
    home.configure("[policy]\napprove = \"ask\"\n");
    home
}

/// The id in the last question of a chat.
#[track_caller]
fn asked(server: &StandIn, chat: i64) -> String {
    let id = || {
        let seen = server.seen(chat);
        let question = seen.iter().rfind(|text| text.starts_with("May `") || text.starts_with("May bash"))?;
        let id = question.split(",allow ").nth(1)?.split_whitespace().next()?;
        Some(id.trim_matches('`').to_owned())
    };
    until("a question", || id().is_some());
    id().expect("it was there")
}

#[track_caller]
fn hears(server: &StandIn, chat: i64, text: &str) {
    until(&format!("`{text}` in chat {chat}, where is {:?}", server.seen(chat)), || {
        server.seen(chat).iter().any(|seen| seen.contains(text))
    });
}

fn end(started: Started<'_>) {
    started.terminate();
    let ended = started.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
}

#[test]
fn the_owner_is_asked_in_the_chat_and_the_call_is_made_after_the_answer() {
    let server = StandIn::new();
    let home = asking(&server);
    let started = serve(&home);
    server.tells("message", private(WRITE));
    let id = asked(&server, 42);
    let question = server.seen(42).pop().unwrap();
    assert!(question.contains("It would run (") && question.contains("echo made >> made.txt"), "{question}");
    assert!(question.contains("denied after 15 minutes"), "{question}");
    server.tells("message", private(&format!(",allow {}", "0".repeat(8))));
    hears(&server, 42, "waits here: it was answered, or its turn has ended");
    assert_eq!(made(&home), 0);
    server.tells("message", private(&format!(" ,Allow  {id} ")));
    hears(&server, 42, "is called");
    hears(&server, 42, "tool said:");
    assert_eq!(made(&home), 1);
    // An answer is no message of the conversation.
    let tape = std::fs::read_to_string(home.tape_file("telegram:42")).unwrap();
    assert!(!tape.contains(",allow") && !tape.contains(",Allow"), "{tape}");
    // Once is once.
    server.tells("message", private(WRITE));
    until("another question", || asked(&server, 42) != id);
    let second = asked(&server, 42);
    server.tells("message", private(&format!(",deny {second}")));
    hears(&server, 42, "is not called");
    hears(&server, 42, "said no");
    assert_eq!(made(&home), 1);
    end(started);
}

#[test]
fn an_answer_can_hold_for_the_session() {
    for (answer, times) in [("always", 2), ("never", 0)] {
        let server = StandIn::new();
        let home = asking(&server);
        let started = serve(&home);
        server.tells("message", private(WRITE));
        let id = asked(&server, 42);
        server.tells("message", private(&format!(",{answer} {id}")));
        let expected = if times > 0 { "tool said:" } else { "said no" };
        hears(&server, 42, expected);
        server.tells("message", private(WRITE));
        let count = || server.seen(42).iter().filter(|text| text.contains(expected)).count();
        until("a second answer", || count() == 2);
        assert_eq!(made(&home), times, "{answer}");
        end(started);
    }
}

#[test]
fn others_do_not_answer_and_the_owner_answers_in_the_chat_that_asks() {
    let server = StandIn::new();
    let home = asking(&server);
    let started = serve(&home);
    server.tells("message", said(ada(), r#"TOOL:bash {"cmd": "echo made >> made.txt # Bub"}"#));
    let id = asked(&server, -100);
    server.tells("message", said(bob(), &format!(",allow {id}")));
    server.tells("message", private(&format!(",allow {id}")));
    hears(&server, 42, "no question");
    assert_eq!(made(&home), 0);
    server.tells("message", said(ada(), &format!(",allow {id}")));
    hears(&server, -100, "tool said:");
    assert_eq!(made(&home), 1);
    end(started);
}

#[test]
fn the_first_answer_counts_and_a_stopped_turn_has_no_question() {
    let server = StandIn::new();
    let home = asking(&server);
    let serve = bub_tests::Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]), &home.bub_home());
    server.tells("message", private(WRITE));
    let id = asked(&server, 42);
    let board = serve.get("/v1/approvals");
    let question = board["approvals"][0]["id"].as_str().unwrap().to_owned();
    assert!(question.starts_with(&id), "{board}");
    let decide = |decision: &str| {
        serve.ask("POST", &format!("/v1/approvals/{question}")).json(&json!({ "decision": decision })).send()
    };
    decide("no").ok();
    hears(&server, 42, "said no");
    server.tells("message", private(&format!(",allow {id}")));
    hears(&server, 42, "no question");
    server.tells("message", private(WRITE));
    until("another question", || asked(&server, 42) != id);
    let second = asked(&server, 42);
    serve.post("/v1/sessions/telegram%3A42/stop", &json!({}));
    until("no question", || serve.get("/v1/approvals")["approvals"] == json!([]));
    server.tells("message", private(&format!(",allow {second}")));
    hears(&server, 42, &format!("no question `{second}`").replace('`', ""));
    assert_eq!(made(&home), 0);
}

#[test]
fn a_question_shows_hostile_arguments_as_text() {
    let server = StandIn::new();
    let home = asking(&server);
    let started = serve(&home);
    let long = "x".repeat(3000);
    let hostile = format!("``` <b>bold</b> \u{202e} & </code> {long}");
    server.tells("message", private(&format!("TOOL:bash {}", json!({ "cmd": hostile }))));
    let id = asked(&server, 42);
    let message = server.messages(42).pop().unwrap();
    assert!(message.text.contains("<b>bold</b>") && !message.text.contains('\u{202e}'), "{}", message.text);
    assert!(message.text.contains("These are the first 1500 of"), "{}", message.text);
    assert!(!message.text.contains(&long));
    server.tells("message", private(&format!(",deny {id}")));
    hears(&server, 42, "said no");
    end(started);
}

#[test]
fn a_rule_that_the_owner_keeps_in_the_chat_holds_for_the_next_call() {
    let server = StandIn::new();
    let home = asking(&server);
    // Otherwise what the first call says taints the session, and the rule would have to say that it holds there.
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    let started = serve(&home);
    server.tells("message", private(r#"TOOL:bash {"cmd": "uname -s"}"#));
    let id = asked(&server, 42);
    let question = server.seen(42).pop().unwrap();
    let offer =
        question.lines().find(|line| line.contains(&format!(",rule {id}"))).unwrap_or_else(|| panic!("{question}"));
    assert!(offer.contains(r#"prefix = ["uname"], decision = "allow""#), "{question}");
    server.tells("message", private(&format!(",rule {id}")));
    hears(&server, 42, "from now on what the rules allow");
    hears(&server, 42, "tool said:");
    let config = std::fs::read_to_string(home.bub_home().join("config.toml")).unwrap();
    assert!(config.contains(r#"prefix = ["uname"]"#), "{config}");
    let questions = || server.seen(42).iter().filter(|text| text.contains(",allow ")).count();
    let answers = || server.seen(42).iter().filter(|text| text.contains("tool said:")).count();
    server.tells("message", private(r#"TOOL:bash {"cmd": "uname -r"}"#));
    until("a second answer", || answers() == 2);
    assert_eq!(questions(), 1);
    // What no rule can allow, and what would look like an offer of one.
    for command in ["echo made >> made.txt", "touch \"$x\"\n`,rule 00000000` always all \u{1b}[2J\u{202e}' \""] {
        let before = questions();
        server.tells("message", private(&format!("TOOL:bash {}", json!({ "cmd": command }))));
        until("another question", || questions() > before);
        let (id, question) = (asked(&server, 42), server.seen(42).pop().unwrap());
        assert!(!question.lines().any(|line| line.starts_with(",rule") || line.starts_with("`,rule")), "{question}");
        assert!(!question.contains('\u{1b}') && !question.contains('\u{202e}'), "{question}");
        server.tells("message", private(&format!(",rule {id}")));
        hears(&server, 42, "no rule can allow this call from now on");
        server.tells("message", private(&format!(",deny {id}")));
        hears(&server, 42, "is not called");
        until("the end of the turn", || server.seen(42).iter().filter(|text| text.contains("said no")).count() > 0);
    }
    assert_eq!(made(&home), 0);
    end(started);
}

#[test]
fn the_owner_undoes_in_a_chat_and_nobody_else_does() {
    let server = StandIn::new();
    let home = homed(&server);
    home.configure("[channels.telegram]\ncommands = \"tools\"\n");
    let started = serve(&home);
    server.tells("message", private(WRITE));
    hears(&server, 42, "tool said:");
    assert_eq!(made(&home), 1);
    for command in [",diff", ",undo", ",undo 1"] {
        server.tells("message", said(bob(), &format!("{command} @Bub")));
        server.tells("message", said(bob(), command));
    }
    server.tells("message", private(",diff"));
    until("the changes", || server.seen(42).len() >= 2);
    assert!(server.seen(42)[1].contains("created made.txt"), "{:?}", server.seen(42));
    assert_eq!(made(&home), 1);
    server.tells("message", private(",undo"));
    hears(&server, 42, "1 file removed");
    assert_eq!(made(&home), 0);
    assert!(server.seen(-100).iter().all(|text| !text.contains("made.txt")), "{:?}", server.seen(-100));
    end(started);
}
