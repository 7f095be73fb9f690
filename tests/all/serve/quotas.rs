//! The quota of a token, and that others are unaffected when it is used up.

use super::{echo, say, serve, token_of};
use crate::home;
use bub_tests::{Answer, Home, Said, Serve, Server};
use serde_json::json;
use std::thread;
use std::time::Duration;

const TURN: &str = "/v1/turns";

fn stranger(home: &Home, name: &str) -> String {
    token_of(home, name, "anonymous", r#""turns", "read""#, "")
}

/// A token with quotas of its own.
pub(super) fn limited(home: &Home, name: &str, quota: &str) -> String {
    let token = stranger(home, name);
    let file = home.bub_home().join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, format!("{text}quota = {{ {quota} }}\n")).unwrap();
    token
}

fn turn(serve: &Serve<'_>, token: &str, session: &str, content: &str) -> Said {
    let turn = json!({ "content": content, "session_id": session });
    serve.strange("POST", TURN).token(token).json(&turn).send()
}

#[track_caller]
fn is_used_up(said: &Said, quota: &str) -> u64 {
    let error = &said.refused(429, &format!("`{quota}`")).json()["error"];
    assert_eq!(error["code"], "quota_exceeded", "{said:?}");
    let seconds = said.header("retry-after").and_then(|seconds| seconds.parse().ok()).expect("it says when");
    assert!((1..=86_400).contains(&seconds), "{said:?}");
    seconds
}

#[test]
fn requests_of_a_minute_are_counted_by_token() {
    let (home, model) = (home(), echo());
    let (mallory, alice) = (stranger(&home, "mallory"), stranger(&home, "alice"));
    let serve = serve(&home, &model);
    let ask = |token: &str| serve.strange("GET", "/v1/hooks").token(token).send();
    // Some come back while it is asked.
    let refused = (0..2_000).map(|_| ask(&mallory)).find(|said| said.status != 200).expect("there is an end to it");
    let seconds = is_used_up(&refused, "requests_per_minute");
    assert_eq!(ask(&alice).status, 200);
    assert_eq!(say(&serve, "http:a", "hi")["model_output"], "you said: hi");
    let metrics = serve.ask("GET", "/metrics").send().body;
    assert!(metrics.contains("bub_quota_refusals_total{quota=\"requests_per_minute\"} "), "{metrics}");
    thread::sleep(Duration::from_secs(seconds) + Duration::from_millis(100));
    assert_eq!(ask(&mallory).status, 200);
}

#[test]
fn tokens_of_a_day_are_counted_by_caller_over_all_processes() {
    let home = home();
    home.configure("[quotas.anonymous]\ntokens_per_day = 1_000");
    let (mallory, alice) = (stranger(&home, "mallory"), stranger(&home, "alice"));
    let model = Server::ruled(|_| Answer::counted("hello", 900));
    let first = serve(&home, &model);
    assert_eq!(turn(&first, &mallory, "http:a", "hi").ok()["model_output"], "hello");
    // The cost of an answer is known only afterwards, so the last one may exceed the budget.
    let refused = (0..9).map(|_| turn(&first, &mallory, "http:b", "hi")).find(|said| said.status != 200);
    is_used_up(&refused.expect("there is an end to it"), "tokens_per_day");
    let completion = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    let completion = first.strange("POST", "/v1/chat/completions").token(&mallory).json(&completion).send();
    is_used_up(&completion, "tokens_per_day");
    drop(first);
    let second = serve(&home, &model);
    is_used_up(&turn(&second, &mallory, "http:a", "hi"), "tokens_per_day");
    assert_eq!(turn(&second, &alice, "http:a", "hi").ok()["model_output"], "hello");
    (0..3).for_each(|_| assert_eq!(say(&second, "http:a", "hi")["model_output"], "hello"));
    drop(second);

    // The same for a sender of any channel, where a model is asked.
    let run = |sender: &str| home.run(["hi", "--channel", "post", "--sender-id", sender]).model(&model).finish();
    let refused = (0..9).map(|_| run("7")).find(|finished| finished.code != Some(0)).expect("there is an end to it");
    let shown = refused.to_string();
    assert!(shown.contains("`anonymous post/7` has used ") && shown.contains("and may use 1000"), "{shown}");
    assert_eq!(run("8").code, Some(0));
}

#[test]
fn sessions_are_counted_by_the_token_that_begins_them() {
    let (home, model) = (home(), echo());
    let mallory = limited(&home, "mallory", "sessions = 2");
    let alice = stranger(&home, "alice");
    let first = serve(&home, &model);
    // Speaking later in another's session does not make one its first user.
    turn(&first, &alice, "http:alice", "hi").ok();
    for session in ["http:a", "http:b", "http:a", "http:alice"] {
        turn(&first, &mallory, session, "hi").ok();
    }
    is_used_up(&turn(&first, &mallory, "http:c", "hi"), "sessions");
    drop(first);
    let second = serve(&home, &model);
    is_used_up(&turn(&second, &mallory, "http:c", "hi"), "sessions");
    turn(&second, &mallory, "http:b", "hi").ok();
    // Of this one nothing is kept.
    let completion = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    second.strange("POST", "/v1/chat/completions").token(&mallory).json(&completion).send().ok();
    let listed = second.get("/v1/sessions").to_string();
    assert!(!listed.contains("http:c"), "{listed}");
}

#[test]
fn bytes_added_to_tapes_in_a_day_are_counted_by_token() {
    let (home, model) = (home(), echo());
    let mallory = limited(&home, "mallory", "record_mib_per_day = 1, tokens_per_day = 100_000_000");
    let first = serve(&home, &model);
    let long = "x".repeat(400_000);
    // The answer counts as well: the model repeats it.
    turn(&first, &mallory, "http:a", &long).ok();
    is_used_up(&turn(&first, &mallory, "http:a", &long), "record_mib_per_day");
    turn(&first, &mallory, "http:a", "short").ok();
    drop(first);
    let second = serve(&home, &model);
    is_used_up(&turn(&second, &mallory, "http:a", &long), "record_mib_per_day");
    turn(&second, &mallory, "http:a", "short").ok();
    assert_eq!(say(&second, "http:a", "hi")["model_output"], "you said: hi");
}

#[test]
fn a_quota_of_nothing_is_no_quota() {
    let home = home();
    home.configure("[quotas.peer]\nsessions = 0");
    home.run(["hi"]).finish().fails("`quotas.peer.sessions` of config.toml: `0` is not a positive whole number");
}
