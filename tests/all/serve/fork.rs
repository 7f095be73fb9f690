//! Sessions that go on from an entry of another.

use super::quotas::limited;
use super::sessions::{gated, listed, listed_ids, with_each_store};
use super::{echo, say, serve, token};
use crate::home;
use bub_tests::{Answer, Gate, Serve, Server, tape};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread::scope;

/// All entries of a session.
#[track_caller]
fn entries(serve: &Serve<'_>, session: &str) -> Vec<Value> {
    let page = serve.get(&format!("/v1/sessions/{session}/entries?after=0"));
    page["entries"].as_array().expect("a list").clone()
}

/// The id of the newest message with that text.
#[track_caller]
fn id_of(entries: &[Value], text: &str) -> u64 {
    let is_it = |entry: &&Value| entry["payload"]["content"].as_str().is_some_and(|content| content.ends_with(text));
    entries.iter().rev().find(is_it).and_then(|entry| entry["id"].as_u64()).expect("the message")
}

#[track_caller]
fn fork(serve: &Serve<'_>, session: &str, body: &Value) -> String {
    let made = serve.post(&format!("/v1/sessions/{session}/fork"), body);
    made["session_id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_fork_has_the_entries_up_to_one_with_their_ids_and_goes_on() {
    with_each_store(|home| {
        let model = echo();
        let serve = serve(home, &model);
        for content in ["the heron eats fish", "and the stork", "and the egret"] {
            say(&serve, "http:birds", content);
        }
        let old = entries(&serve, "http:birds");
        let through = id_of(&old, "you said: and the stork");
        let new = fork(&serve, "http:birds", &json!({ "through": through }));
        assert!(new.starts_with("http:") && new != "http:birds", "{new}");
        let forked = entries(&serve, &new);
        let expected: Vec<&Value> = old.iter().filter(|entry| entry["id"].as_u64() <= Some(through)).collect();
        assert_eq!(forked.len(), expected.len());
        for (entry, expected) in forked.iter().zip(&expected) {
            for field in ["id", "kind", "payload", "date"] {
                assert_eq!(entry[field], expected[field]);
            }
        }
        assert_eq!(forked[0]["meta"]["session"]["id"], json!(new), "the mark names the new session");
        let row = listed(&serve).into_iter().find(|row| row["session_id"] == json!(new)).expect("it is listed");
        assert_eq!((&row["first_words"], &row["entries"]), (&json!("the heron eats fish"), &json!(through)));
        let tape = row["tape"].as_str().expect("a name").to_owned();
        assert_eq!(serve.get(&format!("/v1/tapes/{tape}"))["session_id"], json!(new));
        let said = say(&serve, &new, "and the owl");
        assert_eq!(said["model_output"], "you said: and the owl");
        let asked = model.requests()[3].json().to_string();
        assert!(asked.contains("stork") && !asked.contains("egret"), "{asked}");
        assert_eq!(entries(&serve, "http:birds").len(), old.len(), "the first one stays");
        let again = json!({ "through": 1, "session_id": new });
        let said = serve.ask("POST", "/v1/sessions/http:birds/fork").json(&again).send();
        said.refused(409, "there is a session of this id already");
        let own = json!({ "through": 1, "session_id": "http:birds" });
        serve.ask("POST", "/v1/sessions/http:birds/fork").json(&own).send().refused(409, "already");
        serve.end();
        let restarted = super::serve(home, &model);
        assert!(listed_ids(&restarted).contains(&new));
    });
}

#[test]
fn a_fork_of_no_entries_begins_anew_under_the_id_that_was_asked_for() {
    with_each_store(|home| {
        let model = echo();
        let serve = serve(home, &model);
        say(&serve, "http:a", "the heron eats fish");
        assert_eq!(fork(&serve, "http:a", &json!({ "through": 0, "session_id": "http:b" })), "http:b");
        let begun = entries(&serve, "http:b");
        assert_eq!((begun.len(), &begun[0]["payload"]["name"]), (2, &json!("session/start")));
        assert_eq!(listed_ids(&serve), ["http:a", "http:b"]);
        say(&serve, "http:b", "hello");
        assert!(!model.requests()[1].json().to_string().contains("heron"));
    });
}

#[test]
fn the_point_and_the_id_of_a_fork_are_checked() {
    let (home, model) = (home(), echo());
    let ada = token(&home, "ada", "\"turns\", \"read\"", "ada/");
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    say(&serve, "ada/http:a", "hello");
    let ask = |body: Value| serve.ask("POST", "/v1/sessions/http:a/fork").json(&body).send();
    ask(json!({ "through": 9999 })).refused(400, "there is no entry 9999");
    ask(json!({ "through": u64::MAX })).refused(400, "there is no entry");
    ask(json!({ "through": -1 })).refused(400, "the body does not fit");
    ask(json!({})).refused(400, "missing field `through`");
    for id in ["", "temp/x", "a\nb", &"x".repeat(257)] {
        ask(json!({ "through": 1, "session_id": id })).refused(400, "a session's id has 1 to 256 bytes");
    }
    let by_ada = |body: Value| serve.ask("POST", "/v1/sessions/ada%2Fhttp:a/fork").token(&ada).json(&body).send();
    by_ada(json!({ "through": 1, "session_id": "bob/x" })).refused(403, "begin with `ada/`");
    let made = by_ada(json!({ "through": 1 })).ok();
    assert!(made["session_id"].as_str().is_some_and(|id| id.starts_with("ada/http:")), "{made}");
    assert_eq!(listed_ids(&serve).len(), 3, "no refused fork is listed");
}

#[test]
fn a_fork_hides_what_was_forgotten_and_has_the_sidecars() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for content in ["the heron eats fish", "and the stork"] {
        say(&serve, "http:birds", content);
    }
    home.run([",memory.forget heron"]).finish();
    let last = entries(&serve, "http:birds").len() as u64;
    let new = fork(&serve, "http:birds", &json!({ "through": last }));
    let shown = serve.get(&format!("/v1/sessions/{new}/entries?after=0")).to_string();
    assert!(shown.contains("(forgotten)") && !shown.contains("eats fish") && shown.contains("stork"), "{shown}");
    assert!(home.sidecar_file(&new, "forgotten").is_file());
}

#[test]
fn a_fork_does_not_wait_for_the_turn_of_its_source() {
    let (home, gate) = (home(), Arc::<Gate>::default());
    let model = gated(&gate);
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    let last = entries(&serve, "http:a").len() as u64;
    scope(|threads| {
        let turn = threads.spawn(|| say(&serve, "http:a", "slowly"));
        model.wait_for(2);
        let new = fork(&serve, "http:a", &json!({ "through": last }));
        assert_eq!(entries(&serve, &new).len() as u64, last);
        assert_eq!(say(&serve, &new, "hello")["model_output"], "at once");
        gate.open();
        turn.join().expect("it ends");
    });
}

#[test]
fn a_fork_at_a_call_goes_on_with_a_result_for_it() {
    let home = home();
    std::fs::write(home.workspace().join("notes.txt"), "the heron").expect("a file");
    let call = || Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#);
    let model = Server::new([call(), Answer::text("it is about a heron"), Answer::text("going on")]);
    let serve = serve(&home, &model);
    say(&serve, "http:a", "read it");
    let calls = serve.get("/v1/sessions/http:a/entries?kind=tool_call");
    let new = fork(&serve, "http:a", &json!({ "through": calls["entries"][0]["id"] }));
    assert_eq!(say(&serve, &new, "and now")["model_output"], "going on");
    let asked = model.requests()[2].messages();
    let result = asked.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    assert!(result.to_string().contains("may or may not have run"), "{result}");
}

/// Two requests for one id: one of them makes the session.
#[test]
fn one_of_two_forks_to_an_id_is_made() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    let ask = || {
        let body = json!({ "through": 3, "session_id": "http:new" });
        serve.ask("POST", "/v1/sessions/http:a/fork").json(&body).send().status
    };
    let mut statuses = scope(|threads| {
        let asked: Vec<_> = (0..4).map(|_| threads.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().expect("it is answered")).collect::<Vec<_>>()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409]);
    assert_eq!(tape::read(&home.tape_file("http:new")).len(), 3);
}

#[test]
fn a_long_tape_is_forked_in_pages_and_charged_to_a_quota() {
    let (home, model) = (home(), echo());
    let ada = limited(&home, "ada", "record_mib_per_day = 20");
    std::fs::create_dir_all(home.tapes_dir()).expect("a directory");
    let text = "x".repeat(1000);
    let line = |id: u64| {
        format!(
            "{{\"id\": {id}, \"kind\": \"message\", \"payload\": {{\"role\": \"user\", \"content\": \"{text}\"}}, \"meta\": {{}}, \"date\": \"2026-01-01T00:00:00+00:00\"}}\n"
        )
    };
    // With a gap, as an erasure leaves it.
    let lines: String = (1..=100_000).filter(|id| !(500..510).contains(id)).map(line).collect();
    std::fs::write(home.tape_file("http:long"), lines).expect("a tape");
    let serve = serve(&home, &model);
    let ask = || serve.ask("POST", "/v1/sessions/http:long/fork");
    let whole = json!({ "through": 100_000, "session_id": "http:whole" });
    ask().token(&ada).json(&whole).send().refused(429, "`record_mib_per_day`");
    assert!(!home.tape_file("http:whole").exists(), "an incomplete copy is removed");
    let before = serve.program().peak();
    ask().json(&json!({ "through": 99_999, "session_id": "http:new" })).send().ok();
    if let (Some(before), Some(after)) = (before, serve.program().peak()) {
        assert!(after - before < 64 << 20, "a tape of 110 MB takes {} bytes of memory", after - before);
    }
    let outline = serve.get("/v1/sessions/http:new/outline");
    assert_eq!((&outline["entries"], &outline["last"]), (&json!(99_989), &json!(99_999)));
    assert_eq!(serve.get("/v1/sessions/http:new/entries?after=498&max=2")["entries"][1]["id"], 510);
}
