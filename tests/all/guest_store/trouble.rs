//! The other machine, or the way to it, does not do what it should.

use super::{Mood, StandIn, home, ids_follow, keeping, kept, kept_at, name, nothing_at_home, said};
use bub_tape::MemoryStore;
use bub_tests::{Answer, Server};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_lost_reply_doubles_nothing() {
    let (home, server) = keeping();
    let lost = AtomicBool::new(false);
    server.moody(move |asked| match asked.writes_entries() && !lost.swap(true, Ordering::Relaxed) {
        true => Mood::LoseReply,
        false => Mood::Well,
    });
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    let entries = kept(&home, &server);
    ids_follow(&entries);
    assert_eq!(said(&entries), ["hi", "hello"]);
    let keys: Vec<_> = server.asked().into_iter().filter(|asked| asked.writes_entries()).collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0].headers["idempotency-key"], keys[1].headers["idempotency-key"]);
}

#[test]
fn when_all_replies_are_lost_the_next_turn_doubles_nothing_either() {
    let (home, server) = keeping();
    server.moody(|asked| if asked.writes_entries() { Mood::LoseReply } else { Mood::Well });
    let model = Server::new([Answer::text("hello"), Answer::text("again")]);
    let finished = home.run(["hi"]).model(&model).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    assert_eq!(said(&kept(&home, &server)), ["hi", "hello"], "it was stored, and the host does not know");
    server.moody(|_| Mood::Well);
    home.run(["and now"]).model(&model).finish().says("[cli:local]\nagain\n");
    let entries = kept(&home, &server);
    ids_follow(&entries);
    assert_eq!(said(&entries), ["hi", "hello", "and now", "again"]);
    assert!(!entries.iter().any(|entry| entry.event_name().as_deref() == Some("turn.recovered")));
}

#[test]
fn temporary_failures_are_tried_again() {
    let (home, server) = keeping();
    let mut count = 0;
    server.moody(move |_| {
        count += 1;
        match count % 3 {
            0 => Mood::Status(503),
            1 => Mood::HangUp,
            _ => Mood::Well,
        }
    });
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    assert_eq!(said(&kept(&home, &server)), ["hi", "hello"]);
}

#[test]
fn an_unreachable_server_is_reported_in_one_line_before_the_model_is_called() {
    let home = home();
    // No server listens there any more.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    kept_at(&home, &format!("http://{address}"));
    let model = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&model).finish().fails("plugin `tapes-http`");
    finished.refuses(&["cannot be asked", "connection refused", &address.to_string()]);
    assert!(model.requests().is_empty(), "the model was paid");
    nothing_at_home(&home);
}

#[test]
fn a_refusal_of_the_server_is_quoted_and_not_retried() {
    let server = StandIn::new(Arc::new(MemoryStore::new()), Some("another token"));
    let home = home();
    kept_at(&home, &server.base());
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().fails("who are you (401)");
    assert_eq!(server.asked().len(), 1);
    assert!(model.requests().is_empty(), "the model was paid");
}

#[test]
fn a_server_that_fails_during_a_turn_loses_no_entries() {
    let (home, server) = keeping();
    server.moody(|asked| if asked.writes_entries() { Mood::HangUp } else { Mood::Well });
    let model = Server::new([Answer::text("hello"), Answer::text("again")]);
    home.run(["hi"]).model(&model).finish().mentions("cannot be asked");
    assert!(kept(&home, &server).is_empty());
    let journal = home.tapes_dir().join(format!("{}.jsonl.turn", name(&home, "cli:local")));
    assert!(std::fs::metadata(journal).unwrap().len() > 0, "the journal keeps the turn");

    // Still away: no second turn begins whose first could be lost.
    home.run(["too early"]).model(&model).finish().fails("cannot be asked");
    assert_eq!(model.requests().len(), 1);

    server.moody(|_| Mood::Well);
    home.run(["and now"]).model(&model).finish().says("[cli:local]\nagain\n");
    let entries = kept(&home, &server);
    ids_follow(&entries);
    assert_eq!(said(&entries), ["hi", "hello", "and now", "again"]);
    nothing_at_home(&home);
}

#[test]
fn a_server_that_takes_too_long_is_waited_for_only_so_long() {
    let (home, server) = keeping();
    home.configure("[plugins.tapes-http.config]\npatience_ms = 300");
    server.moody(|_| Mood::Slow(Duration::from_secs(60)));
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().fails("plugin `tapes-http`");
    assert!(model.requests().is_empty(), "the model was paid");
}

#[test]
fn a_server_that_is_slower_than_a_call_may_be_is_a_fault_with_a_name() {
    let (home, server) = keeping();
    home.configure("[plugins.tapes-http.limits]\ndeadline_ms = 400");
    server.moody(|_| Mood::Slow(Duration::from_secs(60)));
    home.run(["hi"]).finish().fails("hook `store` of plugin `tapes-http`: took longer than 400 ms");
}

#[test]
fn wrong_ids_and_invalid_lines_are_reported() {
    let line = |id: u64, payload: &str| {
        format!(r#"{{"id": {id}, "kind": "message", "payload": {payload}, "meta": {{}}, "date": "d"}}"#) + "\n"
    };
    let cases = [
        (line(2, "{}") + &line(2, "{}"), "broke the contract"),
        ("hello".to_owned(), "no line of a tape"),
        (line(1, "{]"), "is no JSON object"),
        (line(1, "{"), "no line of a tape"),
        (line(1, "{x}"), "is no JSON object"),
    ];
    for (body, expected) in cases {
        let (home, server) = keeping();
        let shown = body.clone();
        server.moody(move |asked| if asked.path.contains("/entries?") { Mood::Say(shown.clone()) } else { Mood::Well });
        let model = Server::new([Answer::text("hello")]);
        let finished = home.run(["hi"]).model(&model).finish();
        assert_eq!(finished.code, Some(1), "{body}\n{finished}");
        assert!(finished.stderr.contains("plugin `tapes-http`"), "{body}\n{finished}");
        assert!(finished.stderr.contains(expected), "{body}\n{finished}");
        assert!(model.requests().is_empty(), "{body}: the model was paid");
    }
}

#[test]
fn an_ambiguous_answer_of_the_server_stores_nothing() {
    let (home, server) = keeping();
    server.moody(|asked| if asked.is_write() { Mood::Say("{}".to_owned()) } else { Mood::Well });
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().fails("did not say whether it stored the write");
    assert!(model.requests().is_empty(), "the model was paid");
}

#[test]
fn a_store_that_did_not_load_is_not_replaced() {
    let (home, _server) = keeping();
    std::fs::write(home.bub_home().join("plugins/tapes-http.wasm"), "no component").unwrap();
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().fails("plugin `tapes-http` is to keep the tapes, but it did not load");
    home.remove_plugin("tapes-http");
    home.run(["hi"]).model(&model).finish().fails("but it is not there");
    assert!(model.requests().is_empty(), "the model was paid");
    nothing_at_home(&home);
    // A disabled plugin stores no tapes.
    home.configure("[plugins.tapes-http]\nenabled = false");
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
}

#[test]
fn a_store_with_other_bytes_is_not_replaced_either() {
    let (home, server) = keeping();
    let digest = "0".repeat(64);
    home.configure(&format!("[plugins.tapes-http]\nfollow = false\ndigest = \"{digest}\""));
    let home = home.strict();
    let model = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&model).finish();
    finished.fails("its grants are not for these bytes; to let it: bub-wasm plugin grant tapes-http hook:tape-store");
    assert!(model.requests().is_empty() && server.asked().is_empty());
    nothing_at_home(&home);
}

#[test]
fn a_store_without_its_grant_stores_nothing() {
    let (home, server) = keeping();
    let home = home.strict();
    let config = std::fs::read_to_string(home.bub_home().join("config.toml")).unwrap();
    std::fs::write(home.bub_home().join("config.toml"), config.replace("\"hook:tape-store\", ", "")).unwrap();
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    assert!(server.asked().is_empty());
}
