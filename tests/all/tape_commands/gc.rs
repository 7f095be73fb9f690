//! `gc`.

use super::{BUBS, files, home_with_bubs, json, tape};
use bub_tests::Home;
use serde_json::json as expected;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

const GONE: &str = "aaaa__bbbb";

/// Writes a file that was last changed so many days ago.
pub(crate) fn put(path: &Path, bytes: &str, days: u64) {
    fs::create_dir_all(path.parent().expect("it has one")).expect("the home can be written");
    fs::write(path, bytes).expect("the home can be written");
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60 + 60);
    File::options().append(true).open(path).and_then(|file| file.set_modified(then)).expect("it is ours");
}

/// A home with something of each kind that may lie about.
fn untidy() -> Home {
    let home = home_with_bubs();
    let tapes = home.tapes_dir();
    put(&tapes.join(format!("trash/{GONE}.jsonl.20261101T000000Z")), "old\n", 3);
    put(&tapes.join(format!("trash/{GONE}.jsonl.20261121T000000Z")), "new\n", 0);
    put(&tapes.join(format!("{GONE}.jsonl.lock")), "", 0);
    put(&tapes.join(format!("{GONE}.jsonl.turn")), "", 0);
    put(&tapes.join("cccc__dddd.jsonl.turn"), "a turn that was interrupted", 5);
    put(&tapes.join("cccc__dddd.jsonl.lock"), "", 5);
    put(&tapes.join("eeee__ffff.jsonl"), "", 5);
    put(&tapes.join(format!("{GONE}.jsonl.20261101T000000Z.bak")), "kept\n", 9);
    put(&tapes.join(format!("{BUBS}.jsonl.lock")), "", 9);
    put(&tapes.join(format!("{BUBS}.jsonl.torn")), "half", 9);
    home
}

const REMOVED: [&str; 4] =
    ["aaaa__bbbb.jsonl.20261101T000000Z", "aaaa__bbbb.jsonl.lock", "aaaa__bbbb.jsonl.turn", "eeee__ffff.jsonl"];

#[track_caller]
fn removes(home: &Home, words: &[&str]) -> serde_json::Value {
    let said = json(&tape(home, ["gc", "--json"].into_iter().chain(words.iter().copied())));
    let files = said["files"].as_array().cloned().unwrap_or_default();
    let name = |file: &serde_json::Value| {
        let path = file["path"].as_str().unwrap_or_default();
        Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let mut names: Vec<String> = files.iter().filter_map(name).collect();
    names.sort();
    assert_eq!(names, REMOVED, "{said}");
    said
}

#[test]
fn a_dry_run_lists_garbage_and_changes_nothing() {
    let home = untidy();
    let before = files(&home);
    let said = removes(&home, &["--dry-run"]);
    assert_eq!(said["bytes"], expected!(4), "{said}");
    assert_eq!(files(&home), before);
    let finished = tape(&home, ["gc", "--dry-run"]);
    assert!(finished.stdout.ends_with("4 files of 4 B would be removed\n"), "{finished}");
}

#[test]
fn garbage_is_removed_and_files_that_may_be_needed_are_kept() {
    let home = untidy();
    removes(&home, &[]);
    for kept in [
        format!("{BUBS}.jsonl"),
        format!("{BUBS}.jsonl.lock"),
        format!("{BUBS}.jsonl.torn"),
        "cccc__dddd.jsonl.turn".to_owned(),
        "cccc__dddd.jsonl.lock".to_owned(),
        format!("{GONE}.jsonl.20261101T000000Z.bak"),
        format!("trash/{GONE}.jsonl.20261121T000000Z"),
    ] {
        assert!(home.tapes_dir().join(&kept).exists(), "`{kept}` is gone: {:?}", files(&home));
    }
    for gone in ["aaaa__bbbb.jsonl.lock", "aaaa__bbbb.jsonl.turn", "eeee__ffff.jsonl"] {
        assert!(!home.tapes_dir().join(gone).exists(), "`{gone}` is there");
    }
}

#[test]
fn a_held_lock_is_kept() {
    let home = untidy();
    let lock = home.tapes_dir().join(format!("{GONE}.jsonl.lock"));
    let held = File::open(&lock).expect("it is there");
    held.lock().expect("it is free");
    tape(&home, ["gc"]);
    assert!(lock.exists() && lock.with_extension("turn").exists(), "{:?}", files(&home));
}

#[test]
fn a_home_without_tapes_has_no_garbage() {
    assert_eq!(tape(&crate::home(), ["gc"]).stdout, "0 files of 0 B were removed\n");
}

/// Discarded tapes stay in the trash for a day from then on, however old; `--now` does not wait.
#[test]
fn discarded_tapes_are_kept_for_a_day_unless_the_trash_is_emptied() {
    let home = home_with_bubs();
    let file = home.tapes_dir().join(format!("{BUBS}.jsonl"));
    let then = SystemTime::now() - Duration::from_secs(9 * 24 * 60 * 60);
    File::options().append(true).open(&file).and_then(|file| file.set_modified(then)).expect("it is ours");
    let trash = || fs::read_dir(home.tapes_dir().join("trash")).map_or(0, |files| files.count());
    tape(&home, ["reset", BUBS, "--discard", "--yes"]);
    tape(&home, ["gc"]);
    assert_eq!(trash(), 1, "it is kept for a day");
    let said = tape(&home, ["gc", "--now", "--dry-run"]);
    assert!(said.stdout.contains("was thrown away") && trash() == 1, "{said}");
    let said = json(&tape(&home, ["gc", "--now", "--json"]));
    assert_eq!(said["files"].as_array().map(Vec::len), Some(1), "{said}");
    assert_eq!(trash(), 0);
    tape(&home, ["gc", "--now"]).says("0 files of 0 B were removed\n");
}
