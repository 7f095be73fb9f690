//! Turns whose tapes another machine keeps.

use super::{Mood, StandIn, TOKEN, home, ids_follow, keeping, kept, kept_at, name, nothing_at_home, said};
use bub_tape::{Draft, Entry, FileStore, Store};
use bub_tests::{Answer, Home, Server, programs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_turn_is_stored_remotely_and_not_locally() {
    let (home, server) = keeping();
    let model = Server::new([Answer::text("hello"), Answer::text("again")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    home.run(["and now"]).model(&model).finish().says("[cli:local]\nagain\n");
    let entries = kept(&home, &server);
    ids_follow(&entries);
    assert_eq!(said(&entries), ["hi", "hello", "and now", "again"]);
    nothing_at_home(&home);
    let seen = model.requests()[1].messages().len();
    assert_eq!(seen, 4, "the second turn has read the first: system, user, assistant, user");
}

#[test]
fn a_turn_with_a_tool_is_stored_as_in_a_file() {
    let kinds = |entries: Vec<Entry>| entries.into_iter().map(|entry| entry.kind).collect::<Vec<_>>();
    let run = |home: &Home| {
        home.configure("[plugins.odd_tools]\ngrants = [\"tools:*\"]");
        home.plugin("odd_tools", programs::ODD_TOOLS);
        let model = Server::new([Answer::tool_call("plain", "{}"), Answer::text("done")]);
        home.run(["go on"]).model(&model).finish().says("[cli:local]\ndone\n");
    };
    let (remote, server) = keeping();
    run(&remote);
    let local = home();
    run(&local);
    let store: Arc<dyn Store> = Arc::new(FileStore::open(local.tapes_dir()).unwrap());
    let at_home = StandIn::new(store, None).tape(&name(&local, "cli:local"));
    let there = kept(&remote, &server);
    ids_follow(&there);
    assert_eq!(kinds(there), kinds(at_home));
}

#[test]
fn only_the_server_gets_the_token() {
    let (home, server) = keeping();
    let model = Server::new([Answer::text("hello")]);
    let run = home.run(["hi"]).model(&model).env("RUST_LOG", "trace");
    let finished = run.finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(!finished.stderr.contains(TOKEN), "the token is in the log");
    let asked = server.asked();
    let bearer = format!("Bearer {TOKEN}");
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.headers["authorization"] == bearer), "{asked:?}");
}

#[test]
fn a_turn_asks_the_server_seldom() {
    let (home, server) = keeping();
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    let asked = server.asked();
    let writes: Vec<_> = asked.iter().filter(|asked| asked.writes_entries()).collect();
    let paths: Vec<_> = asked.iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect();
    assert_eq!(writes.len(), 1, "a turn is one write\n{paths:#?}");
    assert_eq!(writes[0].headers["if-match"], "\"0\"");
    assert!(asked.len() <= 16, "{paths:#?}");
}

#[test]
fn a_concurrent_writer_only_changes_ids() {
    let (home, server) = keeping();
    let (tape, store) = (name(&home, "cli:local"), server.store());
    let done = AtomicBool::new(false);
    server.moody(move |asked| {
        if asked.writes_entries() && !done.swap(true, Ordering::Relaxed) {
            let draft = Draft::new("event", r#"{"name": "elsewhere", "data": {}}"#, "{}").unwrap();
            let (store, tape) = (store.clone(), tape.clone());
            let append = async move { store.append(&tape, vec![draft], None).await.map(drop) };
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(append).unwrap();
        }
        Mood::Well
    });
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    let entries = kept(&home, &server);
    ids_follow(&entries);
    assert_eq!(entries[0].event_name().as_deref(), Some("elsewhere"), "the other was first");
    assert_eq!(said(&entries), ["hi", "hello"]);
    assert_eq!(server.asked().iter().filter(|asked| asked.writes_entries()).count(), 2);
}

#[test]
fn the_store_may_be_one_of_files() {
    let dir = tempfile::tempdir().unwrap();
    let files = Arc::new(FileStore::open(dir.path().join("tapes")).unwrap());
    let server = StandIn::new(files, None);
    let home = home();
    kept_at(&home, &server.base());
    let model = Server::new([Answer::text("héllo 你好")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhéllo 你好\n");
    let file = dir.path().join("tapes").join(name(&home, "cli:local")).with_extension("jsonl");
    let entries = bub_tests::tape::read(&file);
    assert!(entries.len() > 3, "every line is as the original would write it: {entries:?}");
}

#[test]
fn a_conversation_longer_than_one_answer_is_read_whole() {
    let (home, server) = keeping();
    let tape = name(&home, "cli:local");
    let long = "x".repeat(3_000);
    let mut drafts: Vec<Draft> = bub_tape::bootstrap().into();
    for number in 0..100 {
        for (role, text) in [("user", format!("question {number}")), ("assistant", format!("{number} {long}"))] {
            let payload = serde_json::json!({ "role": role, "content": text });
            drafts.push(Draft::new("message", &payload.to_string(), "{}").unwrap());
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(server.store().append(&tape, drafts, None)).unwrap();
    let model = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    assert_eq!(model.requests()[0].messages().len(), 202, "system, two hundred of before, and this one");
}

/// A failed write must not be retried at the beginning of every later turn.
#[test]
fn media_that_the_store_cannot_hold_are_rejected_before_the_model_is_called() {
    let (home, server) = keeping();
    let picture = |name: &str, size: usize, seed: u8| {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        png.resize(size, seed);
        std::fs::write(home.workspace().join(name), png).expect("the workspace can be written");
    };
    picture("large.png", 5_000_000, 0);
    picture("a.png", 4_500_000, 1);
    picture("b.png", 4_500_000, 2);
    let model = Server::new(["one", "two", "three"].map(Answer::text));
    let refused = home.run(["look", "--attach", "large.png"]).model(&model).finish();
    refused.fails("the media come to 6.7 MB in base64, and the tape takes 6.3 MB: attach less");
    assert!(model.requests().is_empty());
    home.run(["look", "--attach", "a.png"]).model(&model).finish().says("[cli:local]\none\n");
    home.run(["look", "--attach", "b.png"]).model(&model).finish().says("[cli:local]\ntwo\n");
    home.run(["and now"]).model(&model).finish().says("[cli:local]\nthree\n");
    let last = model.requests()[2].body.clone();
    assert_eq!(last.matches("data:image/png;base64,").count(), 2, "both pictures came back from the other side");
    ids_follow(&kept(&home, &server));
}

#[test]
fn one_serve_keeps_the_tapes_of_another_home() {
    let there = home().bare().served();
    let home = home();
    home.plugin("tapes-http", programs::TAPES_HTTP);
    home.configure(&super::configuration(&there.serve.base()));
    super::keep_token(&home.bub_home(), there.serve.token());
    let model = Server::new([Answer::text("hello"), Answer::text("again")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    home.run(["and now"]).model(&model).finish().says("[cli:local]\nagain\n");
    let store = FileStore::open(there.home.tapes_dir()).unwrap();
    let entries = StandIn::new(Arc::new(store), None).tape(&name(&home, "cli:local"));
    ids_follow(&entries);
    assert_eq!(said(&entries), ["hi", "hello", "and now", "again"]);
    nothing_at_home(&home);
    assert_eq!(model.requests()[1].messages().len(), 4, "the second turn has read the first");
}
