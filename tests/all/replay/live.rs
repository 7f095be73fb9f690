//! `replay --live`: a model is asked what was not asked when the turn was recorded.

use super::{files, recording};
use bub_tests::{Answer, Home, Server, programs, tape};
use serde_json::Value;

/// A turn that the next version of its plugin changes, and that version.
fn recorded() -> (Home, String) {
    let home = recording();
    home.plugin("upper", programs::PROMPT_UPPER);
    let server = Server::new([Answer::text("a recorded answer")]);
    home.run(["message 7"]).model(&server).finish();
    assert!(server.requests()[0].body.contains("MESSAGE 7"));
    (home, format!("upper={}", programs::PROMPT_UPPER_NEXT))
}

#[test]
fn the_first_new_question_is_asked_and_its_answer_is_carried_on() {
    let (home, with) = recorded();
    home.configure("record = \"all\"\n[prices]\ncurrency = \"EUR\"\n[prices.models.\"openai:fake-model\"]\nprompt = 1000000\ncompletion = 0");
    let (before, files_before) = (tape::of_home(&home), files(&home));
    let server = Server::ruled(|_| Answer::text("a live answer"));
    let live = home.bub(["replay", "--with", &with, "--live"]).model(&server).finish();
    assert_eq!(live.code, Some(1), "{live}");
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "one question, once: {live}");
    assert!(requests[0].body.contains("message 7") && !requests[0].body.contains("MESSAGE 7"), "{}", requests[0].body);
    assert!(live.stdout.contains("  live `openai:fake-model` answered `a live answer`  ("), "{live}");
    assert!(!live.stdout.contains("what was not asked then"), "{live}");
    let carried = |line: &str| line.contains("hook `render-outbound`") && line.contains("a live answer");
    assert!(live.stdout.lines().any(carried), "{live}");
    let last = live.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("1 live model call of at most 20: ") && last.ends_with(" EUR"), "{live}");
    // Nothing is written: no entry, no recording.
    assert_eq!((tape::of_home(&home), files(&home)), (before, files_before));

    let shown = home.bub(["replay", "--with", &with, "--live", "--json"]).model(&server).finish();
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
    let call = &shown["turns"][0]["live"][0];
    assert_eq!((&call["answer"], &call["model"]), (&"a live answer".into(), &"openai:fake-model".into()), "{shown}");
    assert_eq!((&shown["turns"][0]["question"], &shown["live"]["calls"]), (&Value::Null, &1.into()), "{shown}");
    assert!(shown["live"]["prompt_tokens"].as_u64() > Some(0), "{shown}");
}

#[test]
fn what_is_new_and_no_model_call_ends_there() {
    let (home, with) = recorded();
    let server = Server::ruled(|request| match request.messages().last().is_some_and(|last| last["role"] == "tool") {
        true => Answer::text("never asked"),
        false => Answer::tool_call("fs_write", r#"{"path": "made.txt", "content": "x"}"#),
    });
    let live = home.bub(["replay", "--with", &with, "--live"]).model(&server).finish();
    assert!(live.stdout.contains("calls `fs_write`") && live.stdout.contains("what was not asked then"), "{live}");
    assert_eq!(server.requests().len(), 1, "{live}");
    assert!(!home.workspace().join("made.txt").exists());
}

#[test]
fn there_is_a_bound_on_calls_and_a_failed_call_is_told() {
    let (home, with) = recorded();
    let server = Server::ruled(|_| Answer::text("a live answer"));
    let none = home.bub(["replay", "--with", &with, "--live", "--live-calls", "0"]).model(&server).finish();
    assert!(none.stdout.contains("would ask `bub:model/chat.complete` what was not asked then"), "{none}");
    assert!(server.requests().is_empty() && none.stdout.contains("0 live model calls of at most 0"), "{none}");
    let broken = Server::ruled(|_| Answer::refusal("no \u{1b}[2J such thing"));
    let failed = home.bub(["replay", "--with", &with, "--live"]).model(&broken).finish();
    assert!(failed.stdout.contains("live `openai:fake-model` failed: "), "{failed}");
    assert!(!failed.stdout.contains('\u{1b}'), "{failed}");
}

#[test]
fn without_a_model_it_is_refused() {
    let (home, with) = recorded();
    let refused = home.bub(["replay", "--with", &with, "--live"]).finish();
    let words = "`--live` has no model to ask: set `model` in config.toml";
    assert!(refused.code == Some(1) && refused.stderr.contains(words), "{refused}");
    assert_eq!(refused.stderr.lines().count(), 1, "{refused}");
    home.configure("record = \"all\"\nmodel = \"nowhere:model\"");
    let refused = home.bub(["replay", "--with", &with, "--live"]).finish();
    assert!(refused.code == Some(1) && refused.stderr.contains("`--live` cannot ask `nowhere:model`"), "{refused}");
    assert_eq!(refused.stderr.lines().count(), 1, "{refused}");
    let alone = home.bub(["replay", "--live"]).finish();
    assert!(alone.code == Some(2) && alone.stderr.contains("--with"), "{alone}");
}
