//! Automatic cleanup by `serve`.

use super::{echo, serve};
use crate::home;
use crate::tape_commands::gc::put;
use bub_tests::{Home, Serve};
use serde_json::json;
use std::time::{Duration, Instant};

fn watched(home: &Home) -> Serve<'_> {
    let run = home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&echo()).watched();
    Serve::start(run, &home.bub_home())
}

#[test]
fn garbage_is_removed_and_everything_else_is_kept() {
    let home = home();
    let tapes = home.tapes_dir();
    let [old, young] =
        ["20261101T000000Z", "20261121T000000Z"].map(|date| tapes.join(format!("trash/a__b.jsonl.{date}")));
    let archive = tapes.join("a__b.jsonl.20261101T000000Z.bak");
    put(&old, "thrown away", 3);
    put(&young, "thrown away", 0);
    put(&archive, "kept\n", 900);
    let serve = watched(&home);
    serve.program().wait_for("gc: removed 1 file of 11 B from the tapes");
    assert!(!old.exists() && young.exists() && archive.exists());
    assert_eq!(serve.program().told().matches("gc: removed").count(), 1);
}

#[test]
fn nothing_is_logged_without_garbage() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    super::say(&serve, "a", "hi");
    assert!(!serve.end().stderr.contains("gc: removed"));
}

/// A message of more than a week ago may come again, and is another one then.
#[test]
fn messages_of_long_ago_are_forgotten_by_the_records() {
    let home = home();
    let model = echo();
    let first = serve(&home, &model);
    let ask = |serve: &Serve<'_>, key: &str| {
        let turn = json!({ "content": "hi", "session_id": "a" });
        serve.ask("POST", "/v1/turns").header("idempotency-key", key).json(&turn).send().ok()
    };
    ask(&first, "old");
    ask(&first, "young");
    first.end();
    let records = home.bub_home().join("serve.sqlite");
    let rows = |sql: &str| -> i64 {
        let records = rusqlite::Connection::open(&records).expect("it is a database");
        records.query_row(sql, [], |row| row.get(0)).expect("it is asked well")
    };
    let aged = rusqlite::Connection::open(&records).expect("it is a database");
    aged.execute("UPDATE message SET taken = '2026-01-01T00:00:00Z' WHERE id LIKE '%old'", []).expect("it is written");
    drop(aged);
    let serve = watched(&home);
    serve.program().wait_for("gc: removed 1 message from the inbox database");
    let begun = Instant::now();
    while rows("SELECT count(*) FROM message") != 1 {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    assert_eq!(rows("SELECT count(*) FROM message WHERE id LIKE '%young'"), 1);
}
