//! Tapes as resources.

use super::{Client, SESSION, desk, serving};
use serde_json::{Value, json};

#[track_caller]
fn read(client: &mut Client<'_>, uri: &str) -> (Vec<Value>, Option<String>) {
    let answer = client.ask("resources/read", &json!({ "uri": uri }));
    page(&answer)
}

/// The entries of a page, and the address of the next one.
#[track_caller]
pub(super) fn page(answer: &Value) -> (Vec<Value>, Option<String>) {
    let contents = &answer["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "application/jsonl", "{answer}");
    let lines = contents["text"].as_str().expect("text").lines();
    let entries = lines.map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    (entries, contents["_meta"]["bub-wasm/next"].as_str().map(str::to_owned))
}

fn ids(entries: &[Value]) -> Vec<u64> {
    entries.iter().filter_map(|entry| entry["id"].as_u64()).collect()
}

#[test]
fn the_newest_sessions_of_the_workspace_are_listed_first() {
    let home = desk(true);
    home.run(["--session", "cli:one", "hello one"]).finish().answers();
    home.run(["--session", "odd name/%", "hello two"]).finish().answers();
    let elsewhere = home.workspace().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory");
    let elsewhere = elsewhere.to_string_lossy().into_owned();
    home.bub(["-w", &elsewhere, "run", "--session", "cli:far", "hello far"]).finish().answers();
    let mut client = Client::begin(serving(&home, &[]));
    let listed = client.ask("resources/list", &json!({}));
    let resources = listed["result"]["resources"].as_array().expect("a list");
    let uris: Vec<&str> = resources.iter().filter_map(|resource| resource["uri"].as_str()).collect();
    assert_eq!(uris, ["bub://sessions/odd%20name%2F%25", "bub://sessions/cli:one"], "{listed}");
    assert_eq!(resources[0]["title"], "hello two", "{listed}");
    let (entries, next) = read(&mut client, "bub://sessions/odd%20name%2F%25");
    assert!(entries.iter().any(|entry| entry.to_string().contains("hello two")), "{entries:?}");
    assert_eq!(next, None);
    client.end();
}

#[test]
fn a_tape_is_read_in_pages_both_ways() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    for _ in 0..3 {
        assert!(client.call("fs_read", &json!({ "path": "notes.txt" })).0);
    }
    let uri = format!("bub://sessions/{SESSION}");
    let (all, next) = read(&mut client, &uri);
    assert!(all.len() > 5 && next.is_none(), "{all:?}");
    let (newest, next) = read(&mut client, &format!("{uri}?max=2"));
    assert_eq!(ids(&newest), ids(&all[all.len() - 2..]));
    let (before, _) = read(&mut client, &next.expect("there is more"));
    assert_eq!(ids(&before), ids(&all[all.len() - 4..all.len() - 2]));
    let (oldest, mut next) = read(&mut client, &format!("{uri}?after=0&max=2"));
    let mut seen = ids(&oldest);
    while let Some(uri) = next.take() {
        let (more, then) = read(&mut client, &uri);
        seen.extend(ids(&more));
        next = then;
    }
    assert_eq!(seen, ids(&all));
    client.end();
}

#[test]
fn addresses_that_lead_nowhere_are_refused() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    for (uri, says) in [
        ("file:///etc/passwd", "is no resource"),
        ("bub://sessions/", "names no session"),
        ("bub://sessions/%ff", "is not UTF-8"),
        ("bub://sessions/nobody", "there is no session `nobody`"),
        ("bub://sessions/a?after=x", "is no number"),
        ("bub://sessions/a?after=1&before=2", "has `after` and `before`"),
        ("bub://sessions/a?what=1", "has an unknown parameter"),
        ("bub://sessions/temp%2Fx", "begin with `temp/`"),
        ("bub://sessions/a%00b", "no control characters"),
        ("bub://sessions/..%2F..%2Fsecrets", "there is no session"),
    ] {
        let answer = client.ask("resources/read", &json!({ "uri": uri }));
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(says), "{uri}: {answer}");
    }
    let long = client.ask("resources/read", &json!({ "uri": format!("bub://sessions/{}", "x".repeat(5000)) }));
    assert!(long["error"]["message"].as_str().is_some_and(|text| text.len() < 400), "{long}");
    let templates = client.ask("resources/templates/list", &json!({}));
    let template = &templates["result"]["resourceTemplates"][0];
    assert_eq!(template["uriTemplate"], "bub://sessions/{session}{?after,before,max}", "{templates}");
    client.end();
}
