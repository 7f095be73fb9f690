//! Sessions over HTTP: their list, names, phases and archives.

use super::{echo, say, serve, token, token_of};
use crate::home;
use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Gate, Home, Serve, Server, tape};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread::{scope, sleep};
use std::time::Duration;

/// Runs a test in a home for each kind of store; PostgreSQL where it is installed.
pub(super) fn with_each_store(test: impl Fn(&Home)) {
    let postgres = Postgres::shared().map(Postgres::database);
    for store in ["files", "sqlite:tapes.db"].into_iter().chain(postgres.as_deref()) {
        let home = home();
        home.configure(&format!("tape_store = {store:?}"));
        test(&home);
    }
}

/// The rows of the list.
#[track_caller]
pub(super) fn listed(serve: &Serve<'_>) -> Vec<Value> {
    serve.get("/v1/sessions")["sessions"].as_array().expect("a list").clone()
}

/// The ids of the listed sessions.
#[track_caller]
pub(super) fn listed_ids(serve: &Serve<'_>) -> Vec<String> {
    listed(serve).iter().map(|row| row["session_id"].as_str().expect("an id").to_owned()).collect()
}

/// A model that waits at the gate before the rest of its answer.
pub(super) fn gated(gate: &Arc<Gate>) -> Server {
    let gate = Arc::clone(gate);
    Server::ruled(move |request| match request.last_content().contains("slowly") {
        true => Answer::gated("wait", &gate, " is over"),
        false => Answer::text("at once"),
    })
}

#[test]
fn sessions_are_listed_with_names_first_words_and_tokens() {
    with_each_store(|home| {
        let model = Server::ruled(|_| Answer::counted("done", 41));
        let serve = serve(home, &model);
        say(&serve, "http:garden", "plant the roses\nand water them");
        say(&serve, "http:garden", "and the tulips");
        say(&serve, "http:taxes", "sum it up");
        let named = serve.post("/v1/sessions/http%3Agarden/name", &json!({ "name": " the rose garden " }));
        assert_eq!(named, json!({ "session_id": "http:garden", "name": "the rose garden" }));
        let rows = listed(&serve);
        assert_eq!((rows.len(), &rows[0]["name"], &rows[1]["name"]), (2, &json!("the rose garden"), &Value::Null));
        assert_eq!(rows[0]["first_words"], "plant the roses\nand water them");
        assert_eq!(rows[1]["first_words"], "sum it up");
        assert_eq!((&rows[0]["tokens"], &rows[1]["tokens"]), (&json!(84), &json!(42)), "of all calls");
        assert_eq!((&rows[0]["running"], &rows[0]["waiting"]), (&json!(false), &json!(0)));
        let removed = serve.post("/v1/sessions/http%3Agarden/name", &json!({ "name": "" }));
        assert_eq!(removed["name"], Value::Null);
        assert_eq!(listed(&serve)[0]["name"], Value::Null);
        let first = serve.get("/v1/sessions?max=1");
        assert_eq!((&first["sessions"][0]["session_id"], &first["more"]), (&json!("http:garden"), &json!(true)));
        let rest = serve.get("/v1/sessions?max=1&after=http:garden");
        assert_eq!((&rest["sessions"][0]["session_id"], &rest["more"]), (&json!("http:taxes"), &json!(false)));
    });
}

#[test]
fn a_name_is_checked_like_that_of_the_command_line() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    let path = "/v1/sessions/http:a/name";
    let rename = |body: &Value| serve.ask("POST", path).json(body).send();
    rename(&json!({ "name": "a\nb" })).refused(400, "one line without control characters");
    rename(&json!({ "name": "a\u{1b}[2J" })).refused(400, "one line without control characters");
    rename(&json!({ "name": "x".repeat(101) })).refused(400, "at most 100 characters");
    rename(&json!({ "name": 7 })).refused(400, "the body does not fit");
    rename(&json!({ "name": "x", "more": 1 })).refused(400, "unknown field");
    rename(&json!({})).refused(400, "missing field `name`");
    serve.ask("POST", path).header("content-type", "text/plain").body("{}").send().refused(415, "application/json");
    let unknown = serve.ask("POST", "/v1/sessions/http:b/name").json(&json!({ "name": "x" })).send();
    unknown.refused(404, "has no messages");
    assert_eq!(rename(&json!({ "name": "\u{202e}evil`" })).status, 200, "a list shows it escaped");
    let shown = home.bub(["sessions"]).finish();
    assert!(shown.stdout.contains("\\u{202e}evil`"), "{shown}");
}

#[test]
fn a_name_and_a_handoff_wait_for_the_running_turn() {
    let (home, gate) = (home(), Arc::<Gate>::default());
    home.configure("lock_wait = 30.0");
    let model = gated(&gate);
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    scope(|threads| {
        let turn = threads.spawn(|| say(&serve, "http:a", "slowly"));
        model.wait_for(2);
        let name = threads.spawn(|| serve.post("/v1/sessions/http:a/name", &json!({ "name": "later" })));
        let handoff = threads.spawn(|| {
            serve.post("/v1/sessions/http:a/handoff", &json!({ "name": "half-way", "summary": "half is done" }))
        });
        sleep(Duration::from_millis(300));
        assert!(!name.is_finished() && !handoff.is_finished());
        assert_eq!(listed(&serve)[0]["running"], true);
        gate.open();
        assert_eq!(turn.join().expect("it ends")["model_output"], "wait is over");
        assert_eq!(name.join().expect("it ends")["name"], "later");
        let anchor = handoff.join().expect("it ends")["anchor"].as_u64().expect("an id");
        let entries = tape::read(&home.tape_file("http:a"));
        let entry = entries.iter().find(|entry| entry["id"] == anchor).expect("the anchor");
        assert_eq!(entry["payload"], json!({ "name": "half-way", "state": { "summary": "half is done" } }));
        let answer = entries.iter().find(|entry| entry["payload"]["content"] == "wait is over").expect("the answer");
        assert!(answer["id"].as_u64() < Some(anchor), "no phase begins within a turn");
    });
    say(&serve, "http:a", "and now");
    let asked = model.requests()[2].json().to_string();
    assert!(asked.contains("half is done") && !asked.contains("slowly"), "{asked}");
}

#[test]
fn a_turn_that_runs_for_too_long_is_reported_as_a_conflict() {
    let (home, gate) = (home(), Arc::<Gate>::default());
    home.configure("lock_wait = 0.2");
    let model = gated(&gate);
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    scope(|threads| {
        let turn = threads.spawn(|| say(&serve, "http:a", "slowly"));
        model.wait_for(2);
        for (route, body) in
            [("name", json!({ "name": "x" })), ("handoff", json!({ "name": "x" })), ("archive", json!({}))]
        {
            let said = serve.ask("POST", &format!("/v1/sessions/http:a/{route}")).json(&body).send();
            said.refused(409, "runs for longer than `lock_wait`");
            assert_eq!(said.json()["error"]["code"], "session_busy");
        }
        gate.open();
        turn.join().expect("it ends");
    });
    let entries = tape::read(&home.tape_file("http:a"));
    assert!(!entries.iter().any(|entry| entry["payload"]["name"] == "x"), "nothing was written");
}

#[test]
fn an_anchor_has_a_name_of_its_own() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    let handoff = |body: &Value| serve.ask("POST", "/v1/sessions/http:a/handoff").json(body).send();
    handoff(&json!({ "name": " " })).refused(400, "an anchor needs a name");
    handoff(&json!({ "name": "a\u{7}b" })).refused(400, "one line of at most 200 characters");
    handoff(&json!({ "name": "x".repeat(201) })).refused(400, "one line of at most 200 characters");
    handoff(&json!({ "name": "memory/open" })).refused(400, "belongs to a plugin's section");
    handoff(&json!({ "summary": "x" })).refused(400, "missing field `name`");
    let long = handoff(&json!({ "name": "x", "summary": "y".repeat(2 << 20) }));
    long.refused(413, "the body is longer than");
    let unknown = serve.ask("POST", "/v1/sessions/http:b/handoff").json(&json!({ "name": "x" })).send();
    unknown.refused(404, "has no messages");
}

/// An anchor of the owner's ends what taints a conversation; another's does not.
#[test]
fn a_handoff_of_a_peer_taints_the_phase_that_it_begins() {
    let (home, model) = (home(), echo());
    let peer = token_of(&home, "pal", "peer", "\"turns\", \"read\"", "");
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    let tainted = || {
        let entries = tape::read(&home.tape_file("http:a"));
        let anchor = entries.iter().rposition(|entry| entry["payload"]["name"] == "next").expect("the anchor");
        entries[anchor..].iter().any(|entry| entry["payload"]["name"] == "turn.tainted")
    };
    let body = json!({ "name": "next", "summary": "do what I say" });
    let path = "/v1/sessions/http:a/handoff";
    let by_peer = serve.ask("POST", path).token(&peer).json(&body).send().ok();
    assert!(tainted());
    let entries = tape::read(&home.tape_file("http:a"));
    let anchor = entries.iter().find(|entry| entry["id"] == by_peer["anchor"]).expect("the anchor");
    assert_eq!((&anchor["kind"], &anchor["payload"]["name"]), (&json!("anchor"), &json!("next")));
    serve.post(path, &body);
    assert!(!tainted());
}

#[test]
fn an_archived_session_leaves_the_list_and_begins_anew() {
    with_each_store(|home| {
        let model = echo();
        let serve = serve(home, &model);
        say(&serve, "http:a", "the heron eats fish");
        say(&serve, "http:b", "hello");
        let archived = serve.post("/v1/sessions/http%3Aa/archive", &json!({}));
        let archive = archived["archive"].as_str().expect("a name");
        assert!(archive.contains(".jsonl.") && archive.ends_with(".bak"), "{archived}");
        assert_eq!(listed_ids(&serve), ["http:b"]);
        serve.ask("GET", "/v1/sessions/http:a").send().refused(404, "has no messages");
        let again = serve.ask("POST", "/v1/sessions/http:a/archive").json(&json!({})).send();
        again.refused(404, "has no messages");
        say(&serve, "http:a", "who are you");
        assert_eq!(listed_ids(&serve), ["http:a", "http:b"]);
        assert!(!model.requests()[2].json().to_string().contains("heron"));
        let first = serve.get("/v1/sessions?max=1");
        assert_eq!((first["sessions"].as_array().map(Vec::len), &first["more"]), (Some(1), &json!(true)));
    });
}

#[test]
fn an_archive_has_what_plugins_keep_beside_it() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    serve.post(
        "/v1/turns",
        &json!({ "content": ",memory.save content='the safe is blue' scope=session", "session_id": "http:a" }),
    );
    let archive = serve.post("/v1/sessions/http:a/archive", &json!({}))["archive"].as_str().expect("a name").to_owned();
    let copy = home.tapes_dir().join(format!("{archive}.memory.export.md"));
    let text = std::fs::read_to_string(&copy).expect("the memory is kept");
    assert!(text.contains("the safe is blue"), "{text}");
    let before = std::fs::read_to_string(home.tapes_dir().join(&archive)).expect("the archive is a file");
    assert!(before.contains("you said: hello"), "{before}");
}

#[test]
fn changing_a_session_needs_the_scopes_and_the_prefix_that_say_so() {
    let (home, model) = (home(), echo());
    let reader = token(&home, "reader", "\"read\"", "");
    let speaker = token(&home, "speaker", "\"turns\"", "");
    let ada = token(&home, "ada", "\"turns\", \"read\", \"admin\"", "ada/");
    let serve = serve(&home, &model);
    say(&serve, "ada/one", "hello");
    say(&serve, "bob/one", "a secret of bob");
    let bodies = [
        ("name", json!({ "name": "x" })),
        ("handoff", json!({ "name": "x" })),
        ("fork", json!({ "through": 1 })),
        ("archive", json!({})),
    ];
    for (route, body) in &bodies {
        let ask = |token: &str, session: &str| {
            let path = format!("/v1/sessions/{session}/{route}");
            serve.ask("POST", &path).token(token).json(body).send()
        };
        let scope = if *route == "archive" { "`admin`" } else { "`turns`" };
        ask(&reader, "bob%2Fone").refused(403, scope);
        let theirs = ask(&ada, "bob%2Fone");
        theirs.refused(403, "begin with `ada/`");
        assert_eq!(ask(&ada, "bob%2Fnobody").body, theirs.body, "a missing session is reported as another's");
        ask(&ada, "ada%2Fnobody").refused(404, "has no messages");
        for session in ["temp%2Fx", "a%00b", "%ff", &"a".repeat(4000)] {
            assert_eq!(ask(serve.token(), session).status, 400, "{route} {session}");
        }
        let status = if *route == "archive" { 403 } else { 200 };
        assert_eq!(ask(&speaker, "bob%2Fone").status, status, "{route}");
        assert_eq!(ask(&ada, "ada%2Fone").status, 200, "{route}");
    }
    let own = serve.ask("GET", "/v1/sessions").token(&ada).send().ok();
    let ids: Vec<&str> =
        own["sessions"].as_array().expect("a list").iter().filter_map(|row| row["session_id"].as_str()).collect();
    assert!(ids.len() == 1 && ids[0].starts_with("ada/") && ids[0] != "ada/one", "the fork alone: {ids:?}");
}

#[test]
fn commands_are_listed_for_tokens_that_can_send_them() {
    let (home, model) = (home(), echo());
    let reader = token(&home, "reader", "\"read\"", "");
    let speaker = token(&home, "speaker", "\"turns\"", "");
    let serve = serve(&home, &model);
    let listed = serve.get("/v1/commands");
    let commands = listed["commands"].as_array().expect("a list");
    let names: Vec<&str> = commands.iter().filter_map(|command| command["name"].as_str()).collect();
    assert!(names.is_sorted() && names.contains(&"help") && names.contains(&"memory.add"), "{names:?}");
    let add = commands.iter().find(|command| command["name"] == "memory.add").expect("it is there");
    assert_eq!(add["plugin"], "memory");
    assert!(add["about"].as_str().is_some_and(|about| !about.is_empty() && !about.contains('\n')), "{add}");
    let said = serve.post("/v1/turns", &json!({ "content": ",help", "session_id": "http:a" }));
    let help = said["model_output"].as_str().expect("a text");
    assert!(names.iter().all(|name| help.contains(&format!(",{name}"))), "{help}");
    assert_eq!(serve.ask("GET", "/v1/commands").token(&reader).send().ok()["commands"], json!([]));
    serve.ask("GET", "/v1/commands").token(&speaker).send().refused(403, "`read`");
}
