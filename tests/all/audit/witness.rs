//! Signed heads elsewhere.

use super::{SESSION, audit, is_tampered, is_whole};
use crate::home;
use bub_tests::Home;
use bub_tests::listener::{Listener, response};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Removes lines from the end of a file.
fn cut(path: &Path, lines: usize) {
    let text = fs::read_to_string(path).expect("a file");
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    fs::write(path, all[..all.len() - lines].concat()).expect("it can be written");
}

/// Removes what the last turn has added, everywhere.
fn forget_last_turn(before: &[(std::path::PathBuf, usize)]) {
    for (path, lines) in before {
        let now = fs::read_to_string(path).expect("a file").lines().count();
        cut(path, now - lines);
    }
}

fn counts(home: &Home) -> Vec<(std::path::PathBuf, usize)> {
    let tapes = fs::read_dir(home.tapes_dir()).expect("tapes").flatten().map(|file| file.path());
    let files = tapes.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let all = files.chain([home.bub_home().join("audit/heads.jsonl")]);
    all.map(|path| (path.clone(), fs::read_to_string(path).expect("a file").lines().count())).collect()
}

#[test]
fn an_end_that_was_cut_off_everywhere_is_known_to_the_file_of_a_witness() {
    let home = home();
    let elsewhere = home.workspace().join("witness.jsonl");
    home.configure(&format!("[audit]\nwitness = \"{}\"", elsewhere.display()));
    home.run(["one"]).finish().answers();
    let before = counts(&home);
    home.run(["two"]).finish().answers();
    let finished = audit(&home, &["verify", SESSION]);
    assert!(finished.stdout.contains("; witnessed at record "), "{finished}");
    forget_last_turn(&before);
    is_tampered(&home, "of the witness and what followed was cut off (the signed heads do not have it)");
    // Without the witness nothing is missing.
    home.configure("[audit]\nwitness = \"other.jsonl\"");
    is_whole(&home);
    let list = elsewhere.to_str().expect("text");
    assert_eq!(audit(&home, &["verify", "--witness", list]).code, Some(1));
}

#[test]
fn a_witness_that_is_away_holds_up_no_turn_and_gets_everything_later() {
    let home = home();
    let is_there = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&is_there);
    let listener = Listener::new(move |_| match there.load(Ordering::Relaxed) {
        true => response(204, "", ""),
        false => response(503, "", ""),
    });
    home.configure(&format!(
        "[audit]\nwitness = \"{}/heads\"\n[audit.witness_headers]\nauthorization = \"Bearer {{{{secret:witness}}}}\"",
        listener.base()
    ));
    let secrets = home.bub_home().join("secrets.toml");
    fs::write(&secrets, "[witness]\nvalue = \"topsecret\"\nhosts = [\"127.0.0.1\"]\n").expect("a file");
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).expect("its rights can be set");
    home.run(["one"]).finish().answers();
    let doctor = home.bub(["doctor"]).finish();
    assert!(doctor.stdout.contains("has not taken the signed heads since"), "{doctor}");
    assert!(doctor.stdout.contains("it answers `503 Service Unavailable`"), "{doctor}");
    // It is left alone for a while.
    let heard = listener.heard().len();
    home.run(["two"]).finish().answers();
    assert_eq!(listener.heard().len(), heard);
    let signed = audit(&home, &["sign"]);
    assert_eq!(signed.code, Some(1), "{signed}");
    let why = "the witness does not get the signed heads: it answers `503 Service Unavailable`";
    assert!(signed.stderr.contains(why), "{signed}");
    is_there.store(true, Ordering::Relaxed);
    let signed = audit(&home, &["sign"]);
    assert_eq!(signed.code, Some(0), "{signed}");
    assert!(signed.stdout.contains("the witness has got"), "{signed}");
    let heads = fs::read_to_string(home.bub_home().join("audit/heads.jsonl")).expect("heads");
    let request = listener.heard().pop().expect("a request");
    assert!(request.ends_with(&heads), "{request}");
    assert!(request.to_lowercase().contains("authorization: bearer topsecret"), "{request}");
    let doctor = home.bub(["doctor"]).finish();
    assert!(doctor.stdout.contains("has all signed heads"), "{doctor}");
}
