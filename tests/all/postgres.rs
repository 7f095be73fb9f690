//! The program with its tapes in PostgreSQL.

mod backup;
mod doctor;
mod faults;
mod store;
mod turns;

use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Home, Server};
use serde_json::{Value, json};

use crate::home;
use crate::serve::{echo, serve};

/// A home whose tapes are in a database of its own, the server, and the database's address; `None`: PostgreSQL is not
/// installed.
fn databased(config: &str) -> Option<(Home, &'static Postgres, String)> {
    let postgres = Postgres::shared()?;
    let (home, address) = (home(), postgres.database());
    home.configure(&format!("tape_store = {address:?}\n{config}"));
    Some((home, postgres, address))
}

#[test]
fn a_conversation_in_postgresql_goes_on_in_run_and_chat_and_is_searched() {
    let Some((home, postgres, address)) = databased("") else { return };
    let server = Server::new(["one", "two"].map(Answer::text));
    home.run(["the number is 4711"]).model(&server).finish().says("[cli:local]\none\n");
    home.bub(["chat", "--session-id", "cli:local"]).input("go on\n").model(&server).finish().says("two\n");
    assert!(server.requests()[1].body.contains("the number is 4711"), "the second turn sees the first");
    let found = home.bub(["tape", "search", "4711"]).finish();
    assert!(found.code == Some(0) && found.stdout.contains("the number is 4711"), "{found}");
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM tape WHERE listed"), "1");
    let in_files = std::fs::read_dir(home.tapes_dir()).into_iter().flatten().flatten();
    let tapes: Vec<_> = in_files.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl")).collect();
    assert!(tapes.is_empty(), "{tapes:?}");
    let reset = home.bub(["tape", "reset", "--yes"]).finish();
    assert_eq!(reset.code, Some(0), "{reset}");
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM tape WHERE listed"), "0", "{reset}");
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM tape WHERE archive"), "1", "{reset}");
}

#[test]
fn memory_in_postgresql_is_shared_by_the_sessions_of_a_workspace() {
    let Some((home, ..)) = databased("[plugins.memory.config]\nretention_days = 36500") else { return };
    for (session, content) in [("one", "first"), ("two", "second")] {
        let server = Server::new([
            Answer::tool_call("memory_save", &json!({ "content": content }).to_string()),
            Answer::text("done"),
        ]);
        home.run(["go on", "--session-id", session]).model(&server).finish().says("[cli:local]\ndone\n");
    }
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi", "--session-id", "three"]).model(&server).finish().says("[cli:local]\nhello\n");
    let system = server.requests()[0].messages()[0]["content"].to_string();
    assert!(system.contains("## Long-term Memory\\nsecond"), "{system}");
    let shown = home.run([",memory.show"]).finish();
    assert!(shown.stdout.contains("workspace: version 2\n"), "{shown}");
}

#[test]
fn the_context_builder_finds_its_options_in_postgresql() {
    let Some((home, ..)) = databased("selector = \"context-builder\"") else { return };
    let server = Server::new(["one", "two", "three"].map(Answer::text));
    home.run(["first"]).model(&server).finish();
    home.run([",context set sliding_window_size=1 enable_instruction_pinning=off"]).finish().answers();
    home.run(["second"]).model(&server).finish();
    home.run(["third"]).model(&server).finish();
    let last = &server.requests()[2];
    let says =
        |end: &str| last.messages().iter().any(|said| said["content"].as_str().unwrap_or_default().ends_with(end));
    assert!(!says("\nfirst") && says("\nsecond") && says("\nthird"), "{:?}", last.messages());
}

#[test]
fn serve_reads_and_writes_in_postgresql_and_goes_on_after_a_crash() {
    let Some((home, postgres, address)) = databased("") else { return };
    let model = echo();
    let say = |serve: &bub_tests::Serve<'_>, content: &str| -> Value {
        serve.post("/v1/turns", &json!({ "content": content, "session_id": "http:birds" }))
    };
    let served = serve(&home, &model);
    for content in ["the heron eats fish", "and the stork"] {
        say(&served, content);
    }
    served.kill();
    let served = serve(&home, &model);
    say(&served, "what else");
    assert!(model.requests()[2].body.contains("the heron eats fish"), "{}", model.requests()[2].body);
    let about = served.get("/v1/sessions/http%3Abirds");
    let entries = postgres.sql(&address, "SELECT count(*) FROM entry e JOIN tape t ON t.number = e.tape WHERE listed");
    assert_eq!(about["entries"].to_string(), entries);
    let found = served.get("/v1/sessions/http%3Abirds/search?q=heron&kind=message&max=1");
    assert!(found["hits"][0]["entry"]["payload"]["content"].as_str().unwrap().contains("heron"), "{found}");
    assert_eq!(served.end().code, Some(0));
}

#[test]
fn a_database_that_is_away_is_named_in_one_line() {
    let Some((home, postgres, address)) = databased("") else { return };
    let server = Server::new(["one", "two"].map(Answer::text));
    home.run(["hi"]).model(&server).finish().says("[cli:local]\none\n");
    let name = address.split(['/', '?']).nth(3).unwrap();
    postgres.sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    home.run(["hi"]).model(&server).finish().refuses(&["the database can only be read"]);
    let away = "postgres://bub@127.0.0.1:9/bub";
    home.configure(&format!("tape_store = {away:?}"));
    let refused = home.run(["hi"]).model(&server).finish();
    refused.refuses(&["open the tapes in `postgres://bub@127.0.0.1:9/bub`: the database cannot be reached"]);
    assert_eq!(server.requests().len(), 1, "no model was asked");
}
