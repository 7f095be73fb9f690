//! The same beside workers that use the database, and behind workers that have ended.

use super::database::{ARRIVALS, Databased};
use super::forget;
use crate::serve::{echo, serve};
use bub_tests::{Answer, Gate, Serve, Server};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn a_message_that_is_being_answered_is_not_torn_out() {
    let Some(here) = Databased::posted(ARRIVALS) else { return };
    here.home.configure("lock_wait = 1");
    let gate = Arc::new(Gate::default());
    let of_rule = Arc::clone(&gate);
    let model = Server::ruled(move |request| match request.last_content().contains("wolfram") {
        true => Answer::gated("the lamp", &of_rule, " is yours"),
        false => Answer::text("he sleeps"),
    });
    let served = serve(&here.home, &model);
    here.until("SELECT count(*) FROM message WHERE state = 1", "1");
    here.until("SELECT count(*) FROM message WHERE state = 2", "1");
    let counted = forget(&here.home, ["ada", "--dry-run"]);
    assert!(counted.code == Some(0) && counted.stdout.contains("1 messages and answers in the inbox"), "{counted}");
    let refused = forget(&here.home, ["ada", "--yes", "--export", "ada.jsonl"]);
    refused.mentions("is being answered: run the command again when its turn has ended");
    assert!(!here.home.workspace().join("ada.jsonl").exists(), "nothing was done");
    assert!(!here.holding("wolfram").is_empty());
    // Bob, whose turn is over, can be forgotten meanwhile.
    here.until("SELECT count(*) FROM lease WHERE name LIKE 'session:%' AND until > clock_timestamp()", "1");
    assert_eq!(forget(&here.home, ["bob", "--yes", "--no-export"]).code, Some(0));
    assert!(here.holding("porcupine").is_empty());
    gate.open();
    here.until("SELECT count(*) FROM message WHERE state < 2", "0");
    let erased = forget(&here.home, ["ada", "--yes", "--no-export"]);
    assert_eq!(erased.code, Some(0), "{erased}");
    assert_eq!(here.holding("wolfram"), [] as [String; 0]);
    let (asked, rows) = (model.requests().len(), here.sql("SELECT count(*) FROM message"));
    assert_eq!((asked, &*rows), (2, "2"));
    assert_eq!(served.end().code, Some(0));
    // Their channel brings both again, since it was not told how far it was read.
    here.sql("DELETE FROM cursor");
    let served = serve(&here.home, &model);
    here.until("SELECT count(*) FROM cursor", "1");
    let said = served.post("/v1/turns", &json!({ "content": "the tangerine", "session_id": "http:1" }));
    assert_eq!(said["model_output"], "he sleeps");
    assert_eq!(model.requests().len(), 3, "no message is answered twice");
    assert_eq!(here.sql("SELECT count(*) FROM message WHERE octet_length(envelope) > 0"), "0");
    assert_eq!(served.end().code, Some(0));
}

#[test]
fn a_message_that_a_dead_worker_has_left_is_erased_with_its_journal() {
    let Some(here) = Databased::posted(ARRIVALS) else { return };
    let model = Server::ruled(|request| match request.last_content().contains("wolfram") {
        true => Answer::stalled("the lamp"),
        false => Answer::text("he sleeps"),
    });
    let served = serve(&here.home, &model);
    here.until("SELECT count(*) FROM message WHERE state = 1", "1");
    here.until("SELECT count(*) FROM message WHERE state = 2", "1");
    model.wait_for(2);
    here.until("SELECT count(*) > 0 FROM journal", "t");
    served.kill();
    let killed = here.home.bub(["forget-person", "ada", "--yes", "--no-export"]).env("BUB_FAILPOINT", "forget.fenced");
    assert_eq!(killed.finish().code, None);
    let erased = forget(&here.home, ["ada", "--yes", "--no-export"]);
    assert_eq!(erased.code, Some(0), "{erased}");
    assert_eq!(here.holding("wolfram"), [] as [String; 0]);
    assert!(!here.holding("porcupine").is_empty());
    here.sql("DELETE FROM cursor");
    let served = serve(&here.home, &model);
    here.until("SELECT count(*) FROM cursor", "1");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(model.requests().len(), 2, "no message is answered again");
    assert_eq!(served.end().code, Some(0));
}

#[test]
fn messages_of_others_that_a_dead_worker_has_left_are_answered_by_the_next_one() {
    let behind = "{ id = \"3\", chat = \"7\", sender = \"bob\", content = \"and the tangerine is mine\" }";
    let Some(here) = Databased::posted(&format!("{ARRIVALS}, {behind}")) else { return };
    let model = Server::ruled(|request| match request.last_content().contains("wolfram") {
        true => Answer::stalled("the lamp"),
        false => Answer::text("he sleeps"),
    });
    let served = serve(&here.home, &model);
    here.until("SELECT string_agg(state::text, ' ' ORDER BY number) FROM message", "1 2 0");
    served.kill();
    let erased = forget(&here.home, ["ada", "--yes", "--no-export"]);
    assert_eq!(erased.code, Some(0), "{erased}");
    here.until("SELECT string_agg(state::text, ' ' ORDER BY number) FROM message", "2 2 0");
    let served = serve(&here.home, &model);
    here.until("SELECT count(*) FROM message WHERE state < 2", "0");
    let last = model.requests().last().map(|request| request.last_content()).unwrap_or_default();
    assert!(last.contains("and the tangerine is mine"), "{last}");
    assert!(model.requests().iter().filter(|request| request.body.contains("wolfram")).count() <= 1);
    assert_eq!(served.end().code, Some(0));
    assert_eq!(here.holding("wolfram"), [] as [String; 0]);
}

#[test]
fn an_answer_that_waits_for_its_channel_is_not_delivered_after_its_erasure() {
    let Some(here) = Databased::posted(ARRIVALS) else { return };
    here.home.configure("[plugins.poster.config.fails.send]\nkind = \"temporary\"\nmessage = \"busy\"");
    let model = Server::ruled(|request| match request.last_content().contains("wolfram") {
        true => Answer::text("short"),
        false => Answer::text("he sleeps"),
    });
    let serving = here.home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&model).watched();
    let served = Serve::start(serving, &here.home.bub_home());
    here.until("SELECT count(*) FROM message WHERE state = 2", "2");
    here.until("SELECT count(*) FROM outbound", "2");
    let erased = forget(&here.home, ["ada", "--yes", "--no-export"]);
    assert_eq!(erased.code, Some(0), "{erased}");
    assert_eq!(here.sql("SELECT count(*) FROM outbound"), "1", "it is hers by its session and its text");
    let sent = |text: &str| served.program().told().matches(&format!("\"send\":\"{text}\"")).count();
    let before = (sent("short"), sent("he sleeps"));
    let start = Instant::now();
    while sent("he sleeps") == before.1 {
        assert!(start.elapsed() < Duration::from_secs(60), "the other answer is tried again");
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(2));
    assert!(sent("short") <= before.0 + 1, "an attempt may have begun before");
    assert_eq!(served.end().code, Some(0));
}

#[test]
fn a_client_that_asks_for_an_erased_answer_is_told_so_and_no_turn_runs() {
    let Some(here) = Databased::new() else { return };
    let model = echo();
    let served = serve(&here.home, &model);
    let ask = |key: &str, content: &str| {
        let body = json!({ "content": content, "session_id": "http:1" });
        served.ask("POST", "/v1/turns").header("idempotency-key", key).json(&body).send()
    };
    ask("1", "the wolfram").ok();
    assert!(here.rows("message").iter().any(|row| row.contains("wolfram")), "its outcome is kept");
    let erased = forget(&here.home, ["owner", "--yes", "--no-export"]);
    assert_eq!(erased.code, Some(0), "{erased}");
    assert_eq!(here.holding("wolfram"), [] as [String; 0], "it is too short for a quotation");
    let again = ask("1", "the wolfram");
    assert!(again.body.contains("the message and its answer were erased"), "{}", again.body);
    assert_eq!(ask("1", "something else").status, 409);
    assert_eq!(model.requests().len(), 1);
    ask("2", "go on").ok();
    assert_eq!(served.end().code, Some(0));
}
