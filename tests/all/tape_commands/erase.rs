//! `erase`.

use super::{BUBS, golden, home_with, home_with_bubs, json, line, message, tape, tape_file};
use crate::home;
use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Home, Server, tape as tapes};
use serde_json::{Value, json as value};
use std::fs;

const NAME: &str = "aaaa__bbbb";
const SECRET: &str = "555-0100";

/// The steps of an erasure at which a process may end, see `host/tape/src/fail.rs`, and whether the entry is gone then.
const STEPS: [(&str, bool); 4] =
    [("erase.begun", false), ("erase.written", false), ("erase.renamed", true), ("erase.end", true)];

fn home_with_secret() -> Home {
    home_with(
        NAME,
        &[
            &line(1, "anchor", r#"{"name": "session/start", "state": {"owner": "human"}}"#),
            &message(2, "user", "hello"),
            &message(3, "user", &format!("my number is {SECRET}, \u{1f4de}")),
            &message(4, "assistant", "noted"),
            "this line is no entry\n",
            &message(7, "user", "bye"),
        ],
    )
}

fn lines(home: &Home, name: &str) -> Vec<String> {
    let text = fs::read_to_string(tape_file(home, name)).expect("the tape is there");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn an_erased_entry_is_removed_and_every_other_line_is_unchanged() {
    let home = home_with_secret();
    let before = lines(&home, NAME);
    let done = json(&tape(&home, ["erase", NAME, "3", "--yes", "--json"]));
    assert_eq!(done["tapes"], value!([{ "tape": NAME, "entries": 1 }]), "{done}");
    let after = lines(&home, NAME);
    let kept: Vec<&String> = before.iter().filter(|line| !line.contains(SECRET)).collect();
    assert_eq!(after[..kept.len()].iter().collect::<Vec<_>>(), kept);
    let receipt: Value = serde_json::from_str(&after[kept.len()]).expect("one line more");
    assert_eq!((&receipt["id"], &receipt["payload"]["name"]), (&value!(8), &value!("tape.erased")));
    assert_eq!(receipt["payload"]["data"]["entries"][0]["id"], 3, "{receipt}");
    assert_eq!(receipt["payload"]["data"]["entries"][0]["digest"].as_str().map(str::len), Some(32), "{receipt}");
    assert!(receipt["payload"]["data"]["by"].as_str().is_some_and(|by| by.starts_with("user ")), "{receipt}");
    assert_eq!(receipt["meta"], value!({ "context": false }));
    assert!(!after.concat().contains(SECRET));
    let shown = tape(&home, ["show", NAME]);
    assert!(shown.stdout.contains("bye") && shown.stdout.contains("hello"), "{shown}");
}

#[test]
fn erased_entries_are_found_by_no_index_and_the_next_turn_continues() {
    let home = home();
    let server = Server::new(["one", "two", "three"].map(Answer::text));
    home.run([&format!("my number is {SECRET}") as &str]).model(&server).finish();
    home.run(["and more"]).model(&server).finish();
    tape(&home, ["info"]);
    let finished = tape(&home, ["erase", "--text", SECRET, "--yes"]);
    assert!(finished.stdout.contains("erased from tape `"), "{finished}");
    let found = home.bub(["tape", "search", "number"]).finish();
    assert!(!found.stdout.contains(SECRET), "{found}");
    home.run(["go on"]).model(&server).finish().says("[cli:local]\nthree\n");
    let sent = server.requests().pop().expect("asked").body;
    assert!(!sent.contains(SECRET) && sent.contains("and more"), "{sent}");
    let ids: Vec<u64> =
        tapes::read(&home.tape_file("cli:local")).iter().filter_map(|entry| entry["id"].as_u64()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    let everywhere = std::process::Command::new("grep").args(["-rl", SECRET]).arg(home.bub_home()).output();
    let everywhere = String::from_utf8(everywhere.expect("grep runs").stdout).expect("names");
    let left: Vec<&str> = everywhere.lines().filter(|path| !path.contains("/cache/plugins/")).collect();
    assert!(left.is_empty(), "no file of the home holds it: {left:?}");
    let verified = home.bub(["tape", "verify"]).finish();
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn a_call_is_erased_with_its_result_and_an_anchor_stays_without_its_words() {
    let home = home_with_bubs();
    let entries = tapes::read(&golden());
    let call = entries.iter().find(|entry| entry["kind"] == "tool_call").expect("it has a call");
    let result = entries.iter().find(|entry| entry["kind"] == "tool_result").expect("it has a result");
    tape(&home, ["erase", BUBS, &call["id"].to_string(), "--yes"]);
    let after = tapes::read(&tape_file(&home, BUBS));
    for gone in [call, result] {
        assert!(!after.iter().any(|entry| entry["id"] == gone["id"]), "{gone}");
    }
    let anchor = entries.iter().rfind(|entry| entry["kind"] == "anchor").expect("it has anchors");
    tape(&home, ["erase", BUBS, &anchor["id"].to_string(), "--yes"]);
    let after = tapes::read(&tape_file(&home, BUBS));
    let blank = after.iter().find(|entry| entry["id"] == anchor["id"]).expect("a phase begins there");
    assert_eq!(blank["payload"], value!({ "name": "phase-1", "state": "(forgotten)" }), "{blank}");
}

#[test]
fn forgotten_entries_can_be_erased_without_repeating_the_text() {
    let home = home();
    let server = Server::new(["noted", "yes"].map(Answer::text));
    home.run([&format!("my number is {SECRET}") as &str]).model(&server).finish();
    home.run([&format!(",memory.save content='Phone: {SECRET}'") as &str]).finish();
    home.run([&format!(",memory.forget {SECRET}") as &str]).finish();
    let finished = tape(&home, ["erase", "--forgotten", "--yes"]);
    assert!(finished.stdout.contains("erased from tape `"), "{finished}");
    for session in ["cli:local", ""] {
        let text = fs::read_to_string(home.tape_file(session)).expect("the tape is there");
        assert!(!text.contains(SECRET), "{session}: {text}");
    }
    let again = home.bub(["tape", "erase", "--forgotten", "--yes"]).finish();
    again.refuses(&["no entry that can be erased"]);
}

#[test]
fn text_in_the_current_memory_is_kept_and_reported() {
    let home = home();
    home.run([",memory.save content='Likes tea.'"]).finish();
    let finished = home.bub(["tape", "erase", "--text", "likes tea", "--yes"]).finish();
    assert!(finished.stderr.contains("1 entry; forget it first, with ,memory.forget"), "{finished}");
    assert!(home.run([",memory.export"]).finish().stdout.contains("Likes tea."));
}

#[test]
fn archives_and_the_trash_are_erased_and_other_copies_are_named() {
    let home = home_with_secret();
    let text = fs::read_to_string(tape_file(&home, NAME)).expect("the tape is there");
    tape(&home, ["reset", NAME, "--yes"]);
    fs::write(tape_file(&home, NAME), &text).expect("it can be");
    tape(&home, ["reset", NAME, "--discard", "--yes"]);
    fs::write(tape_file(&home, NAME), &text).expect("it can be");
    fs::write(tape_file(&home, NAME).with_extension("jsonl.torn"), SECRET).expect("it can be");
    let done = json(&tape(&home, ["erase", NAME, "--text", SECRET, "--yes", "--json"]));
    assert_eq!(done["archives"][0]["entries"], 1, "{done}");
    assert_eq!(done["trash"].as_array().map(Vec::len), Some(1), "{done}");
    assert!(done["still_in"][0].as_str().is_some_and(|path| path.ends_with(".torn")), "{done}");
    let archive = fs::read_to_string(done["archives"][0]["path"].as_str().expect("a path")).expect("it is there");
    assert!(!archive.contains(SECRET) && archive.contains("hello"), "{archive}");
}

#[test]
fn wherever_it_ends_the_tape_is_the_old_one_or_the_new_one() {
    for (step, is_gone) in STEPS {
        let home = home_with_secret();
        let before = lines(&home, NAME);
        let cut = home.bub(["tape", "erase", NAME, "3", "--yes"]).env("BUB_FAILPOINT", step).finish();
        assert_ne!(cut.code, Some(0), "{step}: it was cut off\n{cut}");
        match is_gone {
            true => assert!(!lines(&home, NAME).concat().contains(SECRET), "{step}"),
            false => assert_eq!(lines(&home, NAME), before, "{step}"),
        }
        if !is_gone {
            tape(&home, ["erase", NAME, "3", "--yes"]);
        }
        let after = lines(&home, NAME);
        assert_eq!(after.len(), before.len(), "one line less, and a receipt: {step}");
        assert!(!after.concat().contains(SECRET), "{step}");
        assert!(!tape_file(&home, NAME).with_extension("jsonl.erase").exists(), "{step}");
    }
}

#[test]
fn it_waits_for_the_turn_that_runs_and_asks() {
    let home = home();
    home.configure("lock_wait = 0.2");
    home.run(["hi"]).finish();
    let held = fs::File::open(home.tape_file("cli:local").with_extension("jsonl.turn")).expect("a lease");
    held.lock().expect("it is free");
    home.bub(["tape", "erase", "2", "--yes"]).finish().refuses(&["another turn"]);
    held.unlock().expect("it is ours");
    home.bub(["tape", "erase", "2"]).finish().refuses(&["no terminal", "`--yes`"]);
}

#[test]
fn invalid_arguments_are_rejected_and_change_nothing() {
    let home = home_with_secret();
    let before = lines(&home, NAME);
    for (words, naming) in [
        (&["erase", NAME][..], &["say what to erase"][..]),
        (&["erase", NAME, "99"], &["no entry 99"]),
        (&["erase", NAME, "x"], &["`x` is not the id"]),
        (&["erase", NAME, "--text", "a"], &["at least 3 characters"]),
        (&["erase", NAME, "3", "--text", "abc"], &["cannot be combined"]),
        (&["erase", "--text", "not said anywhere", NAME], &["no entry that can be erased"]),
    ] {
        let words = ["tape"].iter().chain(words).copied().chain(["--yes"]);
        home.bub(words).finish().refuses(naming);
    }
    assert_eq!(lines(&home, NAME), before);
}

/// Where ids do not grow, an entry's id follows from those in front of it.
#[test]
fn a_tape_whose_ids_do_not_grow_is_left_as_it_is() {
    let home = home_with(NAME, &[&message(5, "user", "a"), &message(5, "user", "b"), &message(5, "user", "c")]);
    let refused = home.bub(["tape", "erase", NAME, "5", "--yes"]).finish();
    assert!(refused.code == Some(1) && refused.stderr.contains("bub-wasm tape fork"), "{refused}");
    tape(&home, ["erase", NAME, "7", "--yes"]);
    assert_eq!(lines(&home, NAME).len(), 3, "the last one changes no other");
}

#[test]
fn a_tape_in_a_database_loses_the_entry_and_the_file_its_bytes() {
    let home = home();
    home.configure("tape_store = \"sqlite:tapes.sqlite\"");
    let server = Server::new(["one", "two"].map(Answer::text));
    home.run(["my number is zebra-quagga-0100"]).model(&server).finish();
    let finished = tape(&home, ["erase", "--text", "zebra-quagga-0100", "--yes"]);
    assert!(finished.stdout.contains("erased from tape `"), "{finished}");
    let everywhere =
        std::process::Command::new("grep").args(["-rl", "zebra-quagga-0100"]).arg(home.bub_home()).output();
    let everywhere = String::from_utf8(everywhere.expect("grep runs").stdout).expect("names");
    assert_eq!(everywhere, "", "no file of the home holds it");
    home.run(["go on"]).model(&server).finish().says("[cli:local]\ntwo\n");
    assert!(!server.requests()[1].body.contains("zebra-quagga"));
}

#[test]
fn a_text_that_stands_in_an_archive_alone_is_erased_from_it() {
    let postgres = Postgres::shared().map(Postgres::database);
    for store in ["files", "sqlite:tapes.sqlite"].into_iter().chain(postgres.as_deref()) {
        let home = home();
        home.configure(&format!("tape_store = \"{store}\""));
        let server = Server::new(["one", "two", "three"].map(Answer::text));
        home.run(["my number is zebra-quagga-0100"]).model(&server).finish();
        home.run(["the weather is fine"]).model(&server).finish();
        tape(&home, ["reset", "--yes"]);
        home.run(["hello again"]).model(&server).finish();
        let erased = json(&tape(&home, ["erase", "--text", "zebra-quagga-0100", "--yes", "--json"]));
        let archives = erased["archives"].as_array().expect("a list");
        assert!(archives.len() == 1 && archives[0]["entries"].as_u64() >= Some(1), "{store}: {erased}");
        let name = archives[0]["path"].as_str().expect("its name");
        let more = home.bub(["tape", "erase", "--text", "zebra-quagga-0100", "--yes"]).finish();
        more.refuses(&["no entry that can be erased matches"]);
        let said = tape(&home, ["erase", "--text", "the weather is fine", "--yes"]);
        assert!(said.stdout.contains(&format!("erased from archive `{name}`")), "{store}: {said}");
    }
}
