//! Commands and turns on tapes whose lines bear ids that do not grow.

use super::{line, tape, tape_file};
use crate::home;
use bub_tests::{Answer, Home, Server, tape as lines_of};
use std::fs;

/// The content of a section, with these ids on its lines.
fn zone(open: u64, event: u64, seal: u64) -> String {
    let anchor = |end: &str| format!(r#"{{"name": "memory/{end}", "state": {{"version": 1}}}}"#);
    let lines = [
        line(open, "anchor", &anchor("open")),
        line(event, "event", r#"{"name": "memory.long_term", "data": {"content": "kept"}}"#),
        line(seal, "anchor", &anchor("seal")),
    ];
    lines.concat().replace("\"meta\": {}", "\"meta\": {\"zone\": true}")
}

fn said(id: &str) -> String {
    format!(
        "{{\"id\": {id}, \"kind\": \"message\", \"payload\": {{\"role\": \"user\", \"content\": \"earlier\"}}, \"meta\": {{}}, \"date\": \"2026-11-21T02:36:22.000001+00:00\"}}\n"
    )
}

/// Tapes that made a reader go on for ever, lost their entries, or took nothing more.
fn odd_tapes() -> Vec<(&'static str, String)> {
    let start = line(1, "anchor", r#"{"name": "session/start", "state": {"owner": "human"}}"#);
    vec![
        ("stale behind a seal", format!("{start}{}{}", zone(10, 11, 12), said("5"))),
        ("stale inside a zone", format!("{start}{}{}", zone(10, 3, 12), said("13"))),
        ("duplicate", format!("{start}{}{}{}", said("2"), said("2"), said("2"))),
        ("falling", (2..40).rev().map(|id| said(&id.to_string())).collect()),
        ("huge", format!("{start}{}{}", said("2"), said("9223372036854775806"))),
        ("huge first", format!("{}{start}{}", said("18446744073709551615"), zone(2, 3, 4))),
        ("negative", format!("{start}{}{}", said("-7"), said("2"))),
        ("no numbers", format!("{start}{}{}{}{}", said("\"x\""), said("1.5"), said("null"), said("1"))),
    ]
}

fn home_with(text: &str) -> Home {
    let home = home();
    fs::create_dir_all(home.tapes_dir()).expect("the home can be written");
    fs::write(home.tape_file("cli:local"), text).expect("the home can be written");
    home
}

#[test]
fn a_turn_and_every_look_end_well_on_a_tape_with_any_ids_and_say_so_once() {
    for (what, text) in odd_tapes() {
        let home = home_with(&text);
        let server = Server::new([Answer::text("said"), Answer::text("said")]);
        let warnings = |stderr: &str| stderr.matches("do not increase").count();
        let ran = home.run(["hello"]).model(&server).finish();
        assert_eq!(ran.code, Some(0), "{what}: {ran}");
        assert_eq!(warnings(&ran.stderr), 1, "{what}: {ran}");
        assert!(
            server.requests()[0].messages().iter().any(|message| message.to_string().contains("earlier")),
            "{what}"
        );
        let written = fs::read_to_string(home.tape_file("cli:local")).expect("the tape is there");
        assert!(written.starts_with(&text), "{what}: nothing that stood there is changed");
        let ids: Vec<u64> =
            lines_of::read(&home.tape_file("cli:local")).iter().filter_map(|entry| entry["id"].as_u64()).collect();
        let own = &ids[ids.len() - 4..];
        assert!(own.is_sorted_by(|one, next| one + 1 == *next) && own[3] < 1 << 53, "{what}: {ids:?}");
        for words in [&["show"][..], &["info"], &["show", "--json"], &["context"], &["search", "earlier"], &["anchors"]]
        {
            let looked = tape(&home, words.iter().copied());
            assert!(warnings(&looked.stderr) <= 1, "{what}: {looked}");
        }
        let shown = tape(&home, ["show", "--json"]).stdout;
        assert!(shown.contains("earlier") && shown.contains("said"), "{what}: {shown}");
        assert_eq!(home.bub(["tape", "verify"]).finish().code, Some(1), "{what}");
        let again = home.run(["once more"]).model(&server).finish();
        assert_eq!(again.code, Some(0), "{what}: {again}");
    }
}

#[test]
fn verify_reports_the_ids_that_entries_are_read_with_and_that_nothing_is_lost() {
    let home = home_with(&odd_tapes()[0].1);
    let found = home.bub(["tape", "verify"]).finish();
    assert_eq!(found.code, Some(1), "{found}");
    let text = found.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("entry 5 follows entry 12, and is read as entry 13: nothing is lost"), "{text}");
}

#[test]
fn a_sidecar_with_any_ids_stops_no_turn() {
    let home = home_with(&odd_tapes()[0].1);
    let name = home.tape_file("cli:local").file_stem().expect("it has a name").to_string_lossy().into_owned();
    for sidecar in ["spill", "context-builder", "memory"] {
        let file = tape_file(&home, &format!("{name}__sidecar__{sidecar}"));
        fs::write(file, &odd_tapes()[3].1).expect("the home can be written");
    }
    let server = Server::new([Answer::text("said")]);
    let ran = home.run(["hello"]).model(&server).finish();
    assert_eq!(ran.code, Some(0), "{ran}");
    tape(&home, ["show"]);
}
