//! The same through the program: what its user sees of a turn that may not begin, must wait, or was cut off.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use bub_tests::{Answer, Finished, Home, Server, tape};

use crate::home;

const SESSION: &str = "cli:local";

/// A turn that is refused before the model is asked, in one line.
#[track_caller]
fn is_refused(home: &Home, failpoint: &str, naming: &[&str]) {
    let server = Server::new([Answer::text("this was paid for")]);
    let finished = home.run(["hi"]).model(&server).env("BUB_FAILPOINT", failpoint).finish();
    finished.refuses(naming);
    assert!(server.requests().is_empty(), "the model was asked");
}

/// The kinds and texts of a tape's messages, errors and recoveries.
fn said(home: &Home) -> Vec<String> {
    let said = |entry: serde_json::Value| match entry["kind"].as_str()? {
        "message" => {
            let content = entry["payload"]["content"].as_str()?.lines().last()?.to_owned();
            Some(format!("{}: {content}", entry["payload"]["role"].as_str()?))
        }
        "error" => Some("error".to_owned()),
        _ if entry["payload"]["name"] == "turn.recovered" => Some("recovered".to_owned()),
        _ => None,
    };
    tape::read(&home.tape_file(SESSION)).into_iter().filter_map(said).collect()
}

#[test]
fn a_turn_is_refused_when_its_journal_finds_no_room() {
    let home = home();
    for failpoint in ["begin.room@0!", "record@0!", "record@9!"] {
        is_refused(&home, failpoint, &["journal of tape", "no storage space"]);
    }
    // No remains of it stay in the way.
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
}

#[test]
fn a_turn_is_refused_where_nothing_can_be_written() {
    let home = home();
    fs::create_dir_all(home.tapes_dir()).unwrap();
    fs::set_permissions(home.tapes_dir(), fs::Permissions::from_mode(0o500)).unwrap();
    // The superuser may write there all the same, and meets a directory.
    let file = home.tape_file(SESSION);
    if fs::write(home.tapes_dir().join("tried"), "").is_ok() {
        fs::create_dir(file.with_extension("jsonl.turn")).unwrap();
    }
    is_refused(&home, "", &["tape"]);
    assert!(!file.exists());
    fs::set_permissions(home.tapes_dir(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_turn_that_cannot_be_put_on_the_tape_is_there_before_the_next() {
    let home = home();
    let server = Server::new(["first", "second"].map(Answer::text));
    let finished = home.run(["one"]).model(&server).env("BUB_FAILPOINT", "commit.block@9!").finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.mentions("no storage space");
    home.run(["two"]).model(&server).finish().says("[cli:local]\nsecond\n").mentions("was interrupted");
    let expected = ["user: one", "assistant: first", "error", "recovered", "user: two", "assistant: second"];
    assert_eq!(said(&home), expected);
    let asked = server.requests()[1].messages();
    assert!(asked.iter().any(|message| message["content"] == "first"), "the model sees what was said: {asked:?}");
}

#[test]
fn a_turn_whose_process_ended_is_there_before_the_next() {
    let expected = ["user: one", "error", "recovered", "user: two", "assistant: second"];
    for (failpoint, answers, expected) in [
        ("commit.locked", &["first", "second"][..], {
            let mut all = expected.to_vec();
            all.insert(1, "assistant: first");
            all
        }),
        ("begin.end", &["second"], expected[3..].to_vec()),
    ] {
        let home = home();
        let server = Server::new(answers.iter().map(|text| Answer::text(text)));
        let finished = home.run(["one"]).model(&server).env("BUB_FAILPOINT", failpoint).finish();
        assert_eq!(finished.code, None, "{finished}");
        home.run(["two"]).model(&server).finish().says("[cli:local]\nsecond\n");
        assert_eq!(said(&home), expected, "{failpoint}");
    }
}

#[test]
fn a_turn_waits_for_another_of_its_session_and_times_out_in_one_line() {
    let home = home();
    home.configure("lock_wait = 1.5");
    let server = Server::new([Answer::Silence]);
    let first = home.run(["one"]).model(&server).start();
    server.wait_for(1);
    let second: Finished = home.run(["two"]).model(&server).finish();
    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""), "{second}");
    let lines: Vec<&str> = second.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "one that it waits, one that it gave up\n{second}");
    assert!(lines[0].contains("another turn of this session runs in process"), "{second}");
    assert!(lines[1].contains("still runs in process") && lines[1].contains("after 1.5 seconds"), "{second}");
    assert_eq!(server.requests().len(), 1, "the model was asked by the second");
    first.interrupt();
    first.finish();
    assert_eq!(said(&home), ["user: one", "error"]);
}

#[test]
fn the_turns_of_two_processes_are_serialized() {
    let home = home();
    let server = Server::new([Answer::Silence, Answer::text("second")]);
    let first = home.run(["one"]).model(&server).start();
    server.wait_for(1);
    let second = home.run(["two"]).model(&server).start();
    second.wait_for("another turn of this session runs in process");
    first.interrupt();
    first.finish();
    second.finish().says("[cli:local]\nsecond\n");
    assert_eq!(said(&home), ["user: one", "error", "user: two", "assistant: second"]);
}
