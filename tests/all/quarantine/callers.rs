//! Faults caused by one caller's messages quarantine the plugin for that caller only.

use super::{TRAP, answers, book, end_pauses, listed, weak};
use crate::home;
use crate::serve::{echo, serve, token_of};
use bub_tests::{Home, Serve, programs};
use serde_json::{Value, json};
use std::fs;

/// A home with the plugin `obedient`, which traps on certain messages, and with a high rate limit for callers.
fn obedient() -> Home {
    let home = home();
    home.plugin("obedient", programs::OBEDIENT);
    home
}

fn caller(home: &Home, name: &str, principal: &str) -> String {
    token_of(home, name, principal, r#""turns""#, "")
}

/// The result of a message with that token.
#[track_caller]
fn says(serve: &Serve<'_>, token: &str, session: &str, content: &str) -> Value {
    let turn = json!({ "content": content, "session_id": session });
    serve.strange("POST", "/v1/turns").token(token).json(&turn).send().ok()
}

/// The message broke the plugin: it was asked.
#[track_caller]
fn breaks(serve: &Serve<'_>, token: &str, session: &str) {
    let answer = says(serve, token, session, "trap");
    let error = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(error.contains("hook `build-prompt` of plugin `obedient`: trapped: "), "{answer}");
}

/// The same message has a turn, because the plugin is not asked.
#[track_caller]
fn is_passed_over(serve: &Serve<'_>, token: &str, session: &str) {
    assert_eq!(says(serve, token, session, "trap")["model_output"], "you said: trap");
}

fn breaks_thrice(serve: &Serve<'_>, token: &str, sessions: &[&str]) {
    for session in sessions {
        (0..3).for_each(|_| breaks(serve, token, session));
    }
}

#[test]
fn faults_caused_by_an_anonymous_sender_quarantine_for_that_sender_only() {
    let home = obedient();
    let (mallory, alice) = (caller(&home, "mallory", "anonymous"), caller(&home, "alice", "anonymous"));
    let model = echo();
    let serve = serve(&home, &model);
    breaks_thrice(&serve, &mallory, &["http:a", "http:b"]);
    for session in ["http:a", "http:b", "http:c"] {
        is_passed_over(&serve, &mallory, session);
    }
    // Also where they have spoken in the same sessions.
    for session in ["http:a", "http:c"] {
        breaks(&serve, &alice, session);
        breaks(&serve, serve.token(), session);
    }
    let quarantined = serve.get("/v1/plugins")["quarantined"].clone();
    let callers: Vec<&Value> = quarantined.as_array().expect("a list").iter().map(|held| &held["caller"]).collect();
    assert_eq!(callers.len(), 3, "{quarantined}");
    assert!(callers.iter().all(|caller| *caller == "anonymous http/mallory"), "{quarantined}");
    let told = serve.program().told();
    assert!(told.contains("is in quarantine for `anonymous http/mallory` in all sessions"), "{told}");
}

#[test]
fn any_number_of_anonymous_senders_cannot_quarantine_for_others() {
    let home = obedient();
    let tokens = ["a", "b", "c", "d"].map(|name| caller(&home, name, "anonymous"));
    let model = echo();
    let serve = serve(&home, &model);
    for token in &tokens {
        breaks_thrice(&serve, token, &["http:a", "http:b"]);
    }
    breaks(&serve, serve.token(), "http:a");
}

#[test]
fn two_peers_or_the_owner_twice_quarantine_for_everyone() {
    for owner_alone in [true, false] {
        let home = obedient();
        let (ada, bob) = (caller(&home, "ada", "peer"), caller(&home, "bob", "peer"));
        let mallory = caller(&home, "mallory", "anonymous");
        let model = echo();
        let serve = serve(&home, &model);
        if owner_alone {
            breaks_thrice(&serve, serve.token(), &["http:a", "http:b"]);
        } else {
            breaks_thrice(&serve, &ada, &["http:a", "http:b"]);
            breaks(&serve, &bob, "http:a");
            (0..2).for_each(|_| breaks(&serve, &bob, "http:a"));
        }
        for token in [&ada, &bob, &mallory, serve.token()] {
            is_passed_over(&serve, token, "http:c");
        }
        assert!(serve.program().told().contains("is in quarantine in all sessions"));
    }
}

/// All pauses are over for the program that runs.
fn time_passes(home: &Home) {
    let mut known: Value = serde_json::from_str(&fs::read_to_string(book(home)).expect("it is there")).expect("JSON");
    end_pauses(&mut known);
    // Of another length, so that it is seen.
    fs::write(book(home), format!("{known} ")).expect("it can be written");
    std::thread::sleep(std::time::Duration::from_millis(100));
}

#[test]
fn a_trial_that_an_anonymous_sender_breaks_is_repeated_for_others() {
    let home = obedient();
    let mallory = caller(&home, "mallory", "anonymous");
    let model = echo();
    let serve = serve(&home, &model);
    breaks_thrice(&serve, serve.token(), &["http:a", "http:b"]);
    is_passed_over(&serve, &mallory, "http:c");
    time_passes(&home);
    breaks(&serve, &mallory, "http:c");
    is_passed_over(&serve, &mallory, "http:d");
    // The owner's message is let through at once, and with it everybody's.
    assert_eq!(says(&serve, serve.token(), "http:d", "well")["model_output"], "you said: well");
    breaks(&serve, serve.token(), "http:a");
}

#[test]
fn a_file_of_another_version_is_ignored() {
    let home = weak("build-prompt", TRAP);
    (0..3).for_each(|_| drop(super::breaks(&home, "a")));
    assert_eq!(listed(&home).len(), 1);
    let text = fs::read_to_string(book(&home)).expect("it is there");
    assert!(text.contains("\"version\": 2"), "{text}");
    for other in [text.replace("\"version\": 2", "\"version\": 9"), "[]".to_owned()] {
        fs::write(book(&home), other).expect("it can be written");
        answers(&home, "build-prompt", "\"well\"");
        super::run_in(&home, "a").says("[cli:local]\nwell\n").mentions("is not understood");
    }
}
