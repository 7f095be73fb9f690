//! Snapshots of workspaces, through the public API of the crate.

mod hostile;

use bub_undo::{Difference, Label, Limits, Origin, Outcome, Record, Undo};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A home and a workspace.
struct Scene {
    _root: TempDir,
    home: PathBuf,
    workspace: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().canonicalize().expect("a path");
        let (home, workspace) = (path.join("home"), path.join("workspace"));
        fs::create_dir(&home).expect("a home");
        fs::create_dir(&workspace).expect("a workspace");
        Self { _root: root, home, workspace }
    }

    fn undo(&self) -> Undo {
        self.limited(Limits::default())
    }

    fn limited(&self, limits: Limits) -> Undo {
        Undo::new(&self.home, &self.workspace, limits)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.workspace.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, content).expect("a file");
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.workspace.join(path)).ok()
    }

    /// What was different after the turn.
    fn turn(&self, undo: &Undo, turn: impl FnOnce()) -> Option<Record> {
        let snapshot = undo.begin(label()).expect("a snapshot");
        turn();
        undo.finish(snapshot).expect("a record")
    }
}

fn label() -> Label {
    Label { origin: Origin::Turn, session: "cli:local".to_owned() }
}

fn paths(record: &Record) -> Vec<String> {
    record.changes.iter().map(|change| change.path.to_text()).collect()
}

/// The reasons for which something was left as it is.
fn skipped(undo: &Undo, record: &Record, force: bool) -> Vec<(String, String)> {
    let (steps, _) = undo.undo(record, force).expect("an undo");
    let reason = |step: bub_undo::Step| match step.outcome {
        Outcome::Skipped(why) => Some((step.path.to_text(), why)),
        Outcome::Restored | Outcome::Removed => None,
    };
    steps.into_iter().filter_map(reason).collect()
}

/// Everything in the directory: paths, modes, and contents or targets.
fn tree(directory: &Path) -> Vec<(String, u32, String)> {
    let mut all = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("a directory").flatten() {
            let (path, meta) = (entry.path(), entry.metadata().expect("a file"));
            let name = path.strip_prefix(directory).expect("inside").to_string_lossy().into_owned();
            if meta.is_dir() {
                open.push(path);
                all.push((name, meta.mode(), String::new()));
            } else if meta.is_symlink() {
                all.push((name, 0, fs::read_link(path).expect("a link").to_string_lossy().into_owned()));
            } else {
                all.push((name, meta.mode(), fs::read_to_string(path).unwrap_or_default()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn what_a_turn_changes_is_put_back_and_the_undo_can_be_undone() {
    let scene = Scene::new();
    for (path, content) in [("kept", "1\n"), ("changed", "a\nb\n"), ("dir/gone", "x\n"), ("dir/mode", "m\n")] {
        scene.write(path, content);
    }
    symlink("changed", scene.workspace.join("link")).expect("a link");
    fs::create_dir(scene.workspace.join("empty")).expect("a directory");
    let before = tree(&scene.workspace);
    let undo = scene.undo();
    let record = scene.turn(&undo, || {
        scene.write("changed", "a\nc\n");
        scene.write("new/deep/file", "new\n");
        fs::remove_file(scene.workspace.join("dir/gone")).expect("removed");
        fs::set_permissions(scene.workspace.join("dir/mode"), Permissions::from_mode(0o755)).expect("a mode");
        fs::remove_file(scene.workspace.join("link")).expect("removed");
        symlink("kept", scene.workspace.join("link")).expect("a link");
        fs::remove_dir(scene.workspace.join("empty")).expect("removed");
        // Written again with what it held.
        scene.write("kept", "1\n");
    });
    let record = record.expect("changes");
    let expected = ["changed", "dir/gone", "dir/mode", "empty", "link", "new", "new/deep", "new/deep/file"];
    assert_eq!(paths(&record), expected);
    let after = tree(&scene.workspace);
    let changed = record.changes.iter().find(|change| change.path.to_text() == "changed").expect("it");
    assert_eq!(undo.difference(changed), Some(Difference::Text("@@ -1,2 +1,2 @@\n a\n-b\n+c\n".to_owned())));

    let (steps, undone) = undo.undo(&record, false).expect("an undo");
    assert!(steps.iter().all(|step| !matches!(step.outcome, Outcome::Skipped(_))), "{steps:?}");
    assert_eq!(tree(&scene.workspace), before);
    let undone = undone.expect("a record");
    assert_eq!(undone.label.origin, Origin::UndoOf(record.number));
    assert_eq!(undo.record(record.number).expect("it").undone_by, Some(undone.number));

    let (steps, _) = undo.undo(&undone, false).expect("an undo");
    assert!(steps.iter().all(|step| !matches!(step.outcome, Outcome::Skipped(_))), "{steps:?}");
    assert_eq!(tree(&scene.workspace), after);
}

#[test]
fn a_turn_that_changes_nothing_has_no_record() {
    let scene = Scene::new();
    scene.write("a", "a");
    let undo = scene.undo();
    assert_eq!(scene.turn(&undo, || drop(scene.read("a"))), None);
    assert!(undo.records().is_empty());
}

#[test]
fn a_file_that_has_changed_again_is_not_overwritten_unless_it_is_forced() {
    let scene = Scene::new();
    scene.write("a", "1");
    scene.write("b", "1");
    let undo = scene.undo();
    let record =
        scene.turn(&undo, || ["a", "b", "c", "d/e"].iter().for_each(|path| scene.write(path, "2"))).expect("it");
    scene.write("a", "of the user");
    scene.write("d/other", "of the user");
    let again = "it has changed again since".to_owned();
    let full = "it holds files that the turn did not make".to_owned();
    assert_eq!(skipped(&undo, &record, false), [("a".to_owned(), again), ("d".to_owned(), full)]);
    assert_eq!(scene.read("a").as_deref(), Some("of the user"));
    assert_eq!((scene.read("b").as_deref(), scene.read("c"), scene.read("d/e")), (Some("1"), None, None));
    skipped(&undo, &record, true);
    assert_eq!(scene.read("a").as_deref(), Some("1"));
    assert_eq!(scene.read("d/other").as_deref(), Some("of the user"));
    // What was forced can be undone as well.
    let newest = undo.records().remove(0);
    assert_eq!(skipped(&undo, &newest, false), []);
    assert_eq!(scene.read("a").as_deref(), Some("of the user"));
}

#[test]
fn git_the_home_and_ignored_files_are_left_alone() {
    let scene = Scene::new();
    let home = scene.workspace.join(".bub");
    fs::create_dir(&home).expect("a home");
    scene.write(".gitignore", "target/\n*.log\n");
    scene.write(".git/config", "1");
    let undo = Undo::new(&home, &scene.workspace, Limits::default());
    let record = scene.turn(&undo, || {
        for path in [".git/config", "target/x", "a.log", ".bub/config.toml", "a"] {
            scene.write(path, "2");
        }
    });
    assert_eq!(paths(&record.expect("it")), ["a"]);
    let undo = Undo::new(&home, &scene.workspace, Limits { ignored: true, ..Limits::default() });
    let record =
        scene.turn(&undo, || ["target/x", "a.log", ".git/config"].iter().for_each(|path| scene.write(path, "3")));
    assert_eq!(paths(&record.expect("it")), ["a.log", "target/x"]);
}

#[test]
fn files_that_are_not_ignored_any_more_are_not_removed() {
    let scene = Scene::new();
    scene.write(".gitignore", "*.log\n");
    scene.write("old.log", "of the user");
    let undo = scene.undo();
    let record = scene.turn(&undo, || scene.write(".gitignore", "")).expect("it");
    assert_eq!(paths(&record), [".gitignore", "old.log"]);
    let why = "the turn changed which files are ignored, so that it may have been there before";
    assert_eq!(skipped(&undo, &record, false), [("old.log".to_owned(), why.to_owned())]);
    assert_eq!(scene.read("old.log").as_deref(), Some("of the user"));
    assert_eq!(scene.read(".gitignore").as_deref(), Some("*.log\n"));
    // A file that is ignored meanwhile was not deleted.
    scene.write("b.txt", "b");
    let record = scene.turn(&undo, || scene.write(".gitignore", "*.log\n*.txt\n")).expect("it");
    assert_eq!(paths(&record), [".gitignore"]);
}

#[test]
fn what_is_too_large_is_named_and_not_put_back() {
    let scene = Scene::new();
    scene.write("large", &"x".repeat(2_000));
    scene.write("small", "x");
    let undo = scene.limited(Limits { max_file: 1_000, ..Limits::default() });
    let record = scene.turn(&undo, || {
        scene.write("large", "y");
        scene.write("small", "y");
    });
    let reasons = skipped(&undo, &record.expect("it"), false);
    assert_eq!(reasons, [("large".to_owned(), "it was not kept".to_owned())]);
    assert_eq!((scene.read("large").as_deref(), scene.read("small").as_deref()), (Some("y"), Some("x")));
    let full = scene.limited(Limits { max_files: 1, ..Limits::default() });
    let error = full.begin(label()).err().expect("too many files").to_string();
    assert!(error.contains("more than 1 files"), "{error}");
}

#[test]
fn copies_and_records_are_bounded() {
    let scene = Scene::new();
    let limits = Limits { max_bytes: 50_000, ..Limits::default() };
    let undo = scene.limited(limits);
    for turn in 0..12 {
        scene.turn(&undo, || scene.write("file", &format!("{turn}").repeat(10_000)));
    }
    let records = undo.records();
    assert!((1..=5).contains(&records.len()), "{}", records.len());
    assert_eq!(skipped(&undo, &records[0], false), []);
    let size: u64 = tree(&scene.home).iter().map(|(_, _, content)| content.len() as u64).sum();
    assert!(size < 100_000, "{size}");
    // The user alone may read what is kept.
    for (path, mode, _) in tree(&scene.home) {
        assert_eq!(mode & 0o077, 0, "{path}: {mode:o}");
    }
    let old = scene.limited(Limits { max_age: std::time::Duration::ZERO, ..Limits::default() });
    scene.turn(&old, || scene.write("file", "last"));
    assert!(old.records().is_empty());
}

#[test]
fn an_unchanged_file_is_kept_once() {
    let scene = Scene::new();
    scene.write("a", "1");
    let undo = scene.undo();
    let objects =
        || tree(&scene.home).iter().filter(|(path, _, _)| path.contains("objects/") && path.len() > 70).count();
    scene.turn(&undo, || {});
    let first = objects();
    scene.turn(&undo, || {});
    assert_eq!(objects(), first);
}

#[test]
fn a_turn_whose_process_ends_is_recorded_by_the_next_one() {
    let scene = Scene::new();
    scene.write("a", "1");
    let undo = scene.undo();
    let cut_off = undo.begin(label()).expect("a snapshot");
    scene.write("a", "2");
    // Its lock goes with the process.
    drop(cut_off);
    undo.recover_interrupted().expect("recovered");
    let record = undo.records().remove(0);
    assert!(record.is_interrupted);
    assert_eq!(skipped(&undo, &record, false), []);
    assert_eq!(scene.read("a").as_deref(), Some("1"));
}

#[test]
fn two_turns_at_once_in_one_workspace_have_a_record_each() {
    let scene = Scene::new();
    scene.write("a", "1");
    let (one, other) = (scene.undo(), scene.undo());
    let first = one.begin(label()).expect("a snapshot");
    scene.write("a", "2");
    let second = other.begin(label()).expect("a snapshot");
    scene.write("b", "2");
    let first = one.finish(first).expect("a record").expect("changes");
    scene.write("c", "2");
    let second = other.finish(second).expect("a record").expect("changes");
    // Who has changed what cannot be told.
    assert_eq!(
        (paths(&first), paths(&second)),
        (vec!["a".to_owned(), "b".to_owned()], vec!["b".to_owned(), "c".to_owned()])
    );
    assert_eq!(skipped(&one, &second, false), []);
    assert_eq!(skipped(&one, &first, false), [("b".to_owned(), "it is as before already".to_owned())]);
    assert_eq!((scene.read("a").as_deref(), scene.read("b"), scene.read("c")), (Some("1"), None, None));
}

/// `cargo test -p bub-undo --release -- --ignored --nocapture` measures a workspace of 100,000 files.
#[test]
#[ignore = "takes a minute"]
fn a_large_workspace_delays_a_turn_little() {
    let scene = Scene::new();
    for number in 0..100_000 {
        scene.write(&format!("{}/{}/{number}.rs", number % 100, number % 1_000), &format!("fn f{number}() {{}}\n"));
    }
    let undo = scene.limited(Limits { max_time: std::time::Duration::from_secs(600), ..Limits::default() });
    for round in 0..3 {
        let begun = std::time::Instant::now();
        let snapshot = undo.begin(label()).expect("a snapshot");
        let taken = begun.elapsed();
        scene.write("0/0/0.rs", &format!("{round}"));
        let begun = std::time::Instant::now();
        let record = undo.finish(snapshot).expect("a record").expect("changes");
        println!("round {round}: begin {taken:?}, finish {:?}, {} changes", begun.elapsed(), record.changes.len());
    }
}
