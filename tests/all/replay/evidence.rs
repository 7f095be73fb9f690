//! Recordings together with the other evidence: blame, the chain, erasure and backups.

use super::{are_identical, files, name, recording};
use bub_tests::{Answer, Home, Server, programs};
use serde_json::{Value, json};
use std::fs;

/// A turn with a tool, in a home with memory and the context builder, and the bodies that the model got.
fn recorded() -> (Home, Vec<String>) {
    let home = recording();
    home.configure("record = \"all\"\nselector = \"context-builder\"");
    home.plugin("upper", programs::PROMPT_UPPER);
    let run = |message: &str, answers: Vec<Answer>| {
        let server = Server::new(answers);
        home.run([message, "--allow", "run"]).model(&server).finish().answers();
        server.requests().iter().map(|request| request.body.clone()).collect::<Vec<String>>()
    };
    run("remember the milk", vec![Answer::text("done")]);
    let arguments = json!({ "cmd": "echo needle-in-a-turn" }).to_string();
    let bodies = run("look", vec![Answer::tool_call("bash", &arguments), Answer::text("there")]);
    (home, bodies)
}

#[test]
fn every_byte_of_recorded_requests_has_a_source() {
    let (home, bodies) = recorded();
    let turn = name(files(&home).last().expect("it is recorded"));
    let blamed = home.bub(["blame", &turn, "--json"]).finish();
    let blamed: Value = serde_json::from_str(&blamed.stdout).unwrap_or_else(|error| panic!("{error}: {blamed}"));
    let requests = blamed.as_array().expect("a list");
    assert_eq!(requests.len(), bodies.len(), "{blamed:#}");
    for (request, sent) in requests.iter().zip(&bodies) {
        let body = request["body"].as_str().expect("a text");
        let body: Value = serde_json::from_str(body).expect("it is JSON");
        assert_eq!(body, serde_json::from_str::<Value>(sent).expect("it is JSON"));
        let mut end = 0;
        for span in request["spans"].as_array().expect("a list") {
            assert_eq!(span["start"].as_u64(), Some(end), "{span}");
            end = span["end"].as_u64().expect("a number");
        }
        assert_eq!(end, request["body"].as_str().map_or(0, str::len) as u64);
    }
    let sources = blamed.to_string();
    assert!(["\"upper\"", "\"builtin\""].iter().all(|name| sources.contains(name)), "{sources}");
}

#[test]
fn a_recording_that_was_replaced_is_found_by_the_chain() {
    let (home, _) = recorded();
    let verified = home.bub(["audit", "verify"]).finish();
    assert_eq!(verified.code, Some(0), "{verified}");
    let files = files(&home);
    let [first, last] = &files[..] else { panic!("{files:?}") };
    // Whole, and by the program itself: but of another turn.
    fs::copy(first, last).expect("it can be written");
    let verified = home.bub(["audit", "verify"]).finish();
    let line = format!("tampered: recording `{}` was changed after it was written", name(last));
    assert!(verified.code == Some(1) && verified.stdout.contains(&line), "{verified}");
    // One that is gone was removed by its bounds.
    fs::remove_file(last).expect("it can be removed");
    assert_eq!(home.bub(["audit", "verify"]).finish().code, Some(0));
}

#[test]
fn erased_words_are_in_no_recording_and_the_chain_stays_whole() {
    let (home, _) = recorded();
    let erased = home.bub(["tape", "erase", "--text", "needle-in-a-turn", "--yes"]).finish();
    assert_eq!(erased.code, Some(0), "{erased}");
    for file in files(&home) {
        let texts = home.bub(["blame", &name(&file), "--json"]).finish();
        assert!(!texts.stdout.contains("needle-in-a-turn"), "{}", file.display());
    }
    let verified = home.bub(["audit", "verify"]).finish();
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn a_restored_backup_replays_and_verifies() {
    let (home, _) = recorded();
    let (file, back) = (home.bub_home().with_file_name("evidence.tar.gz"), home.bub_home().with_file_name("elsewhere"));
    let (file, back) = (file.display().to_string(), back.display().to_string());
    assert_eq!(home.bub(["backup", "create", &file]).finish().code, Some(0));
    let restored = home.bub(["--home", &back, "backup", "restore", &file]).finish();
    assert_eq!(restored.code, Some(0), "{restored}");
    are_identical(&home, 2);
    let replayed = home.bub(["--home", &back, "replay", "--turns", "2"]).finish();
    assert!(replayed.code == Some(0) && replayed.stdout.contains("2 of 2 turns identical"), "{replayed}");
    let verified = home.bub(["--home", &back, "audit", "verify"]).finish();
    assert_eq!(verified.code, Some(0), "{verified}");
}
