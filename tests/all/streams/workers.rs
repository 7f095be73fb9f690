//! Streams of turns at other workers of one database.

use super::{Stream, halves, submit};
use crate::cluster::Workers;
use bub_tests::{Answer, Gate, Server, programs};
use serde_json::json;
use std::io::BufReader;
use std::sync::Arc;

#[test]
fn a_turn_of_one_worker_is_followed_at_another_from_its_beginning() {
    let Some(workers) = Workers::new(2, "") else { return };
    let gate = Arc::default();
    let model = halves(&gate);
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    let mut early = Stream::open(&serves[1], "http:s", None);
    let _asked = submit(&serves[0], "http:s", "go", "1");
    assert_eq!(early.next().name, "begin");
    let text = early.until("text");
    assert_eq!(text.data["text"], "first half, ");
    let mut late = Stream::open(&serves[1], "http:s", None);
    assert_eq!(late.until("text").data["text"], "first half, ");
    // A reader goes on at another worker, which knows the same positions.
    let mut moved = Stream::open(&serves[0], "http:s", Some(&text.id));
    gate.open();
    for stream in [&mut early, &mut late, &mut moved] {
        let (text, outcome) = stream.rest();
        assert_eq!((text.as_str(), &outcome["model_output"]), ("second half", &json!("first half, second half")));
    }
    let mut after = Stream::open(&serves[1], "http:s", Some(&text.id));
    assert_eq!(after.rest().0, "second half");
    // The same connections show the next turn, at whichever worker.
    let _asked = submit(&serves[1], "http:s", "again", "2");
    for stream in [&mut early, &mut moved] {
        assert_eq!(stream.next().name, "begin");
        assert_eq!(stream.rest().0, "first half, second half");
    }
}

#[test]
fn the_turn_of_a_killed_worker_begins_again_in_the_stream() {
    let Some(workers) = Workers::new(2, "") else { return };
    let gate: Arc<Gate> = Arc::default();
    let model = halves(&gate);
    let first = workers.serve(0, &model);
    let second = workers.serve(1, &model);
    let mut stream = Stream::open(&second, "http:s", None);
    let asked = submit(&first, "http:s", "go", "1");
    let begin = stream.next();
    stream.until("text");
    first.kill();
    drop(asked);
    let again = stream.until("begin");
    assert_ne!(again.data["turn"], begin.data["turn"]);
    assert_eq!(stream.until("text").data["text"], "first half, ");
    gate.open();
    assert_eq!(stream.rest().1["model_output"], "first half, second half");
}

#[test]
fn a_message_whose_turn_is_elsewhere_gets_its_text_as_its_answer_is_written() {
    let Some(workers) = Workers::new(2, "") else { return };
    let gate = Arc::default();
    let model = halves(&gate);
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    let ask = |nth: usize| {
        let body = json!({ "content": "go", "session_id": "http:s" });
        let ask = serves[nth].ask("POST", "/v1/turns");
        let ask = ask.header("idempotency-key", "1").header("accept", "text/event-stream");
        Stream(BufReader::new(ask.json(&body).open()))
    };
    let mut first = ask(0);
    first.until("text");
    let mut second = ask(1);
    assert_eq!(second.until("text").data["text"], "first half, ");
    gate.open();
    for stream in [&mut first, &mut second] {
        let (text, outcome) = stream.rest();
        assert_eq!((text.as_str(), &outcome["model_output"]), ("second half", &json!("first half, second half")));
    }
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_message_that_steers_a_turn_elsewhere_is_answered_by_that_turns_text() {
    let Some(workers) = Workers::new(2, "") else { return };
    for home in &workers.homes {
        home.scripted("porter", programs::SCRIPTED, "admit-message = \"steer\"");
    }
    let gate: Arc<Gate> = Arc::default();
    let address = workers.address.clone();
    let opened = Arc::clone(&gate);
    let model = Server::ruled(move |request| match request.messages().last().map(|last| last["role"].clone()) {
        Some(role) if role == "user" && request.last_content().ends_with("first") => {
            let offered = "SELECT count(*) FROM message WHERE steers AND state = 1 AND worker <> origin";
            crate::cluster::until(&address, offered, "1");
            Answer::tool_call("tape_info", "{}")
        }
        _ => Answer::gated("both ", &opened, "done"),
    });
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    let _first = submit(&serves[0], "http:s", "first", "1");
    workers.until("SELECT count(*) FROM message WHERE state = 1", "1");
    let body = json!({ "content": "second", "session_id": "http:s" });
    let asked = serves[1].ask("POST", "/v1/turns").header("accept", "text/event-stream").json(&body).open();
    let mut second = Stream(BufReader::new(asked));
    assert_eq!(second.until("text").data["text"], "both ");
    gate.open();
    assert_eq!(second.rest().1["model_output"], "both done");
}
