//! Calls of a model that a guest makes: those that it drops, and those that another plugin redirects.

use crate::home;
use bub_tests::{Answer, Home, Server, programs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A guest that makes one call with these grants, beside a plugin that sees it.
fn caller(grants: &str, call: &str, observer: &str) -> Home {
    let home = home();
    home.scripted("a", programs::SCRIPTED, observer);
    home.configure(&format!("[plugins.caller]\ngrants = [{grants}]\nconfig = {{ call = {{ {call} }} }}"));
    home.plugin("caller", programs::CALLER);
    home
}

#[test]
pub(crate) fn caller_returns_the_answer_of_the_model() {
    let server = Server::new([Answer::text("hello")]);
    let home = caller(r#""model:openai:fake-model""#, "", "");
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
}

#[test]
fn a_dropped_completion_is_reported_once_as_cancelled() {
    // More than once, because the call ends while the turn goes on: neither may outrun the other.
    for _ in 0..5 {
        let server = Server::new([Answer::stalled("Once")]);
        let home = caller(r#""model:*""#, "first = true", "");
        let finished = home.run(["hi"]).model(&server).watched().finish().says("[cli:local]\nOnce\n");
        let heard = finished.saw_hook("after-llm-call");
        assert_eq!(heard.len(), 1, "{finished}");
        assert_eq!((&heard[0]["error-kind"], &heard[0]["text"]), (&"Cancelled".into(), &"Once".into()), "{finished}");
    }
}

#[test]
fn text_that_is_there_already_comes_in_one_piece() {
    let home = caller(r#""model:*""#, r#"first = true, content = "ECHO:what the model has said by now""#, "");
    // The program's own provider says it in pieces of eight characters.
    home.run(["hi"]).finish().says("[cli:local]\nwhat the model has said by now\n");
}

#[test]
fn no_hook_redirects_a_call_to_a_model_that_the_caller_may_not_call() {
    let server = Server::new([Answer::text("hello")]);
    let redirects = r#"before-llm-call = { model = "openai:dear" }"#;
    let home = caller(r#""model:openai:fake-model""#, "", redirects);
    let finished = home.run(["hi"]).model(&server).finish();
    assert!(finished.stdout.contains("Denied: ") && finished.stdout.contains("`model:openai:dear`"), "{finished}");
    assert!(server.requests().is_empty(), "{finished}");
}

#[test]
fn a_call_is_redirected_to_a_model_that_the_caller_may_call() {
    let server = Server::new([Answer::text("hello")]);
    let redirects = r#"before-llm-call = { model = "openai:dear" }"#;
    let home = caller(r#""model:openai:*""#, "", redirects);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(server.requests()[0].json()["model"], "dear");
}

#[test]
fn without_the_grant_no_model_is_called() {
    let server = Server::new([Answer::text("hello")]);
    let home = caller(r#""model:openai:other""#, "", "");
    let finished = home.run(["hi"]).model(&server).finish();
    assert!(finished.stdout.contains("Denied: "), "{finished}");
    assert!(server.requests().is_empty(), "{finished}");
}

#[test]
fn calls_that_a_guest_begins_before_it_listens_go_on_side_by_side() {
    let asked = AtomicUsize::new(0);
    let server = Server::ruled(move |_| {
        asked.fetch_add(1, Ordering::SeqCst);
        let begun = Instant::now();
        // The server answers no call before both have asked.
        while asked.load(Ordering::SeqCst) < 2 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Answer::text(if asked.load(Ordering::SeqCst) < 2 { "alone" } else { "together" })
    });
    let home = caller(r#""model:*""#, "times = 2", "");
    home.run(["hi"]).model(&server).finish().says("[cli:local]\ntogethertogether\n");
}
