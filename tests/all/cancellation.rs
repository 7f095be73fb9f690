//! Ctrl-C while the model thinks.

use crate::home;
use bub_tests::{Answer, Server, programs, tape};
use std::time::{Duration, Instant};

#[test]
fn an_interrupted_turn_saves_its_state_and_its_entries() {
    let home = home();
    home.scripted("a", programs::SCRIPTED, "");
    let server = Server::new([Answer::Silence]);
    let started = home.run(["take your time"]).model(&server).watched().start();
    server.wait_for(1);
    let begun = Instant::now();
    started.interrupt();
    let finished = started.finish();
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?} to end", begun.elapsed());
    assert!(finished.code == Some(1) && finished.stdout.is_empty(), "{finished}");

    let saved = finished.saw_hook("save-state");
    assert_eq!(saved.len(), 1, "{finished}");
    assert!(saved[0]["failure"].is_string(), "{}", saved[0]);
    assert!(finished.asked("dispatch-outbound").is_empty(), "nothing is dispatched\n{finished}");

    let tape = tape::read(&home.tape_file("cli:local"));
    let said = |entry: &&serde_json::Value| {
        entry["kind"] == "message"
            && entry["payload"]["content"].as_str().is_some_and(|text| text.ends_with("take your time"))
    };
    assert_eq!(tape.iter().filter(said).count(), 1, "{tape:?}");
    let last = tape.last().expect("the tape has entries");
    assert_eq!((&last["kind"], &last["payload"]["kind"]), (&"error".into(), &"cancelled".into()), "{last}");
}
