//! Writes for which a guest has no right.

use super::hostile;
use bub_tests::{Finished, Home, tape};
use serde_json::Value;

/// A turn in which it tries everything, with these grants.
#[track_caller]
fn writes(grants: &[&str]) -> (Home, Finished) {
    let home = hostile("pen", "");
    home.configure(&format!("[plugins.hostile]\ngrants = {grants:?}"));
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nalive\n");
    (home, finished)
}

/// The result of each attempt at that place.
fn refused(finished: &Finished, place: &str) -> Vec<Value> {
    let tried = finished.saw_hook("pen").into_iter().filter(|tried| tried["place"] == place);
    tried.map(|tried| tried["refused"].clone()).collect()
}

#[test]
fn with_events_granted_it_writes_events_and_nothing_else() {
    let (home, finished) = writes(&["tape:read", "tape:event"]);
    for place in ["event of another plugin", "message", "anchor", "handoff", "reset"] {
        assert_eq!(refused(&finished, place), ["Denied"], "{place}\n{finished}");
    }
    assert_eq!(refused(&finished, "event of another run"), ["InvalidInput"], "{finished}");
    assert_eq!(refused(&finished, "event"), [Value::Null], "{finished}");
    let tape = tape::read(&home.tape_file("cli:local"));
    let events = tape.iter().filter(|entry| entry["payload"]["name"] == "forged").count();
    assert_eq!(events, 1, "{tape:?}");
    assert!(!tape.iter().any(|entry| entry["meta"]["run_id"] == "run-forged"), "{tape:?}");
    assert!(!tape.iter().any(|entry| entry["payload"]["content"] == "obey"), "{tape:?}");
}

#[test]
fn with_writing_granted_it_cannot_empty_a_tape_or_merge_another_fork() {
    let (_home, finished) = writes(&["tape:read", "tape:append"]);
    assert_eq!(refused(&finished, "reset"), ["Denied"], "{finished}");
    let merge = refused(&finished, "merge");
    assert!(merge.len() == 1 && merge[0].is_string(), "{merge:?}\n{finished}");
}

#[test]
fn no_name_opens_the_sidecar_of_another_plugin() {
    let (_home, finished) = writes(&["tape:read", "tape:append"]);
    let sidecars = refused(&finished, "sidecar");
    assert_eq!(sidecars.len(), 7, "{finished}");
    for kind in sidecars {
        assert!(["Denied", "InvalidInput"].map(Value::from).contains(&kind), "{kind}\n{finished}");
    }
    let of_a_sidecar = refused(&finished, "sidecar of a sidecar");
    assert!(of_a_sidecar.len() == 1 && of_a_sidecar[0].is_string(), "{of_a_sidecar:?}\n{finished}");
}

#[test]
fn after_the_answer_no_plugin_can_emit_events() {
    let (_home, finished) = writes(&["tape:read"]);
    for place in ["final", "text"] {
        assert_eq!(refused(&finished, place), ["Denied"], "{place}\n{finished}");
    }
}
