//! `record` keeps turns, and `replay` makes their calls again with nothing reaching outside.

mod broken;
mod evidence;
mod kept;
mod kinds;
mod live;
mod many;
mod ways;
pub(crate) mod with;

use crate::home;
use bub_tests::{Finished, Home};
use std::fs;
use std::path::PathBuf;

/// A home in which all turns are recorded.
fn recording() -> Home {
    let home = home();
    home.configure("record = \"all\"");
    home
}

/// The files of its recordings, the oldest first.
fn files(home: &Home) -> Vec<PathBuf> {
    let dir = home.bub_home().join("recordings");
    let folders = fs::read_dir(dir).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.sort_by_key(|file| file.file_name().map(ToOwned::to_owned));
    files
}

/// The name of a recording.
fn name(file: &std::path::Path) -> String {
    file.file_stem().expect("it has a name").to_string_lossy().into_owned()
}

fn replay(home: &Home, turns: usize) -> Finished {
    home.bub(["replay", "--turns", &turns.to_string()]).finish()
}

/// All turns of the home are identical, and there are so many.
#[track_caller]
fn are_identical(home: &Home, turns: usize) {
    let replayed = replay(home, turns + 1);
    let lines = replayed.stdout.lines().filter(|line| line.contains("  identical  (")).count();
    assert!(replayed.code == Some(0) && lines == turns, "{replayed}");
}

#[test]
fn nothing_is_recorded_unless_it_is_wanted() {
    let home = home();
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    assert!(!home.bub_home().join("recordings").exists());
    let replayed = home.bub(["replay"]).finish();
    assert!(replayed.code == Some(1) && replayed.stderr.contains("record = \"all\""), "{replayed}");
    home.configure("record = \"some\"");
    home.run(["ECHO:hi"]).finish().fails("unknown variant `some`, expected one of `off`, `faults`, `all`");
}

#[test]
fn a_turn_is_listed_and_named_by_a_part_of_its_name_or_by_its_model_call() {
    let home = recording();
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    let file = files(&home).pop().expect("it is recorded");
    let name = name(&file);
    let listed = home.bub(["replay", "--list"]).finish();
    assert!(listed.stdout.starts_with(&name) && listed.stdout.contains("cli:local  "), "{listed}");
    let listed = home.bub(["replay", "--list", "--json"]).finish();
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    let run = listed["turns"][0]["runs"][0].as_str().expect("a model was called").to_owned();
    assert_eq!(listed["turns"][0]["session"], "cli:local");
    for named in [&name[..], &name[9..], &run] {
        let replayed = home.bub(["replay", named]).finish();
        assert!(
            replayed.code == Some(0) && replayed.stdout.starts_with(&format!("{name}  identical  (")),
            "{replayed}"
        );
    }
    let replayed = home.bub(["replay", "nonsense"]).finish();
    assert!(replayed.code == Some(1) && replayed.stderr.contains("no recording is named `nonsense`"), "{replayed}");
    let replayed = home.bub(["replay", "--session", "other"]).finish();
    assert!(replayed.stderr.contains("no turn of session `other` is recorded"), "{replayed}");
}
