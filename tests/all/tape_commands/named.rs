//! How a tape is named, and names without a tape.

use super::{BUBS, files, golden, home_with, home_with_bubs, json, message, tape, tape_file};
use crate::home;
use bub_tests::Home;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[track_caller]
fn shows(home: &Home, words: &[&str]) {
    let shown = json(&tape(home, ["show"].into_iter().chain(words.iter().copied()).chain(["--json", "--last", "1"])));
    assert_eq!(shown["tape"], BUBS, "{words:?}");
    assert_eq!(shown["entries"][0]["id"], 32, "{words:?}");
}

#[test]
fn by_its_name_with_or_without_its_ending_and_by_a_path() {
    let home = home_with_bubs();
    shows(&home, &[BUBS]);
    shows(&home, &[&format!("{BUBS}.jsonl")]);
    shows(&home, &[tape_file(&home, BUBS).to_str().expect("the path is UTF-8")]);
    shows(&home, &[golden().to_str().expect("the path is UTF-8")]);
    // Here, in the workspace.
    fs::remove_file(tape_file(&home, BUBS)).expect("it is there");
    fs::copy(golden(), home.workspace().join(format!("{BUBS}.jsonl"))).expect("the workspace can be written");
    shows(&home, &[&format!("{BUBS}.jsonl")]);
}

#[test]
fn a_tape_is_named_by_its_session_and_by_default_is_that_of_run() {
    let home = home();
    home.run(["one"]).finish();
    home.run(["two", "--session-id", "other"]).finish();
    let name = |words: &[&str]| {
        let about = json(&tape(&home, ["info", "--json"].into_iter().chain(words.iter().copied())));
        (about["name"].as_str().unwrap_or_default().to_owned(), about["session"].clone())
    };
    let stem = |session: &str| home.tape_file(session).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    assert_eq!(name(&[]), (stem("cli:local").unwrap_or_default(), "cli:local".into()));
    assert_eq!(name(&["--session", "other"]), (stem("other").unwrap_or_default(), "other".into()));
}

#[test]
fn an_invalid_tape_is_rejected_in_one_line() {
    let home = home_with_bubs();
    let near = format!("{}3", BUBS.trim_end_matches('2'));
    fs::write(home.workspace().join("notes.txt"), "").expect("the workspace can be written");
    let cases: &[(&[&str], &[&str])] = &[
        (&["show", &near], &[&near, "did you mean", BUBS]),
        (&["info", "nobody"], &["`nobody`", "tape list"]),
        (&["show", "../secrets"], &["`../secrets`", "`.jsonl`"]),
        (&["show", "a b"], &["`a b`"]),
        (&["show", ""], &["there is no tape"]),
        (&["show", "/no/such/dir/x.jsonl"], &["/no/such/dir/x.jsonl"]),
        (&["show", "./notes.txt"], &["./notes.txt"]),
        (&["show", "./missing.jsonl"], &["./missing.jsonl"]),
        (&["show", "x\u{1b}[31m"], &[r"x\u{1b}[31m"]),
        (&["show", "--session", "nobody"], &["`nobody`", "run --session"]),
        (&["show", BUBS, "--id", "99"], &["99", BUBS]),
        (&["show", BUBS, "--from-anchor", "nowhere"], &["`nowhere`"]),
        (&["anchors", "nobody"], &["nobody"]),
        (&["search", "x", "nobody"], &["nobody"]),
        (&["context", "nobody"], &["nobody"]),
        (&["context", BUBS, "--selector", "buitlin"], &["buitlin", "did you mean", "builtin"]),
        (&["handoff", "x", "nobody"], &["nobody"]),
        (&["handoff", " ", BUBS], &["needs a name"]),
        (&["handoff", "x", BUBS, "--state", "{half"], &["--state"]),
        (&["fork", "nobody", "--as", "a__b"], &["nobody"]),
        (&["fork", BUBS, "--as", BUBS], &[BUBS, "already"]),
        (&["fork", BUBS, "--as", "nopart"], &["nopart", "`__`"]),
        (&["fork", BUBS, "--as", "../a__b"], &["../a__b"]),
        (&["fork", BUBS, "--as", "a__b", "--at", "99"], &["99", "32"]),
        (&["fork", BUBS, "--as", "a__b", "--at", "0"], &["begin with 1"]),
        (&["reset", BUBS], &["--yes"]),
        (&["reset", "nobody", "--yes"], &["nobody"]),
        (&["export", "nobody"], &["nobody"]),
        (&["export", BUBS, "-o", "/no/such/dir/out"], &["/no/such/dir/out"]),
        (&["verify", "nobody"], &["nobody"]),
    ];
    for (words, naming) in cases {
        home.bub(std::iter::once("tape").chain(words.iter().copied())).finish().refuses(naming);
    }
    home.bub(["--workspace", "/no/such/place", "tape", "list"]).finish().refuses(&["/no/such/place"]);
    assert_eq!(files(&home), [format!("{BUBS}.jsonl")], "something was left behind");
}

#[test]
fn a_kind_that_nothing_has_is_hinted_at() {
    tape(&home_with_bubs(), ["show", BUBS, "--kind", "mesage"]).mentions("did you mean `message`");
}

#[test]
fn a_directory_that_takes_no_files_is_read_without_making_any() {
    let home = home_with("aaaa__bbbb", &[&message(1, "user", "hi"), &message(2, "assistant", "yes")]);
    let before = files(&home);
    let mode = |mode| fs::set_permissions(home.tapes_dir(), fs::Permissions::from_mode(mode)).expect("it is ours");
    mode(0o500);
    for words in [
        &["list"][..],
        &["show", "aaaa__bbbb"],
        &["info", "aaaa__bbbb"],
        &["anchors", "aaaa__bbbb"],
        &["search", "yes", "aaaa__bbbb"],
        &["context", "aaaa__bbbb"],
        &["export", "aaaa__bbbb"],
        &["verify", "aaaa__bbbb"],
    ] {
        tape(&home, words.iter().copied());
        // The mode does not restrict root, so the test checks only that no file was created.
        assert_eq!(files(&home), before, "{words:?} made a file");
    }
    mode(0o700);
}
