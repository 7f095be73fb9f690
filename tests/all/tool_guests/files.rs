//! `fs.read`, `fs.write` and `fs.edit` inside of the workspace.

use super::{WORKSPACE, call, error, in_turn, path, together, with};
use serde_json::json;
use std::fs;

/// The recorded commands, and their recorded answers.
#[test]
fn files_are_written_read_and_edited_as_recorded() {
    let home = with("workspace", &[WORKSPACE]);
    let file = home.workspace().join("d/t.txt");
    let shown = path(&file);
    let results = in_turn(
        &home,
        vec![
            call("fs_write", json!({ "path": "d/t.txt", "content": "l1\nl2 old\nl3" })),
            call("fs_read", json!({ "path": "d/t.txt" })),
            call("fs_read", json!({ "path": "d/t.txt", "offset": 1, "limit": 1 })),
            call("fs_edit", json!({ "path": "d/t.txt", "old": "old", "new": "new" })),
            call("fs_edit", json!({ "path": "d/t.txt", "old": "missing", "new": "x" })),
            call("fs_edit", json!({ "path": "d/t.txt", "old": "l1", "new": "x", "start": 1 })),
            call("fs_read", json!({ "path": shown })),
        ],
    );
    assert_eq!(results[0], format!("wrote: {shown}"));
    assert_eq!(results[1], "l1\nl2 old\nl3");
    assert_eq!(results[2], "l2 old");
    assert_eq!(results[3], format!("edited: {shown}"));
    assert_eq!(error(&results[4]), ("invalid_input", format!("'missing' not found in {shown} from line 0").as_str()));
    assert_eq!(error(&results[5]).1, format!("'l1' not found in {shown} from line 1"));
    assert_eq!(results[6], "l1\nl2 new\nl3");
}

#[test]
fn an_edit_leaves_line_ends_and_permissions_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let home = with("workspace", &[WORKSPACE]);
    let (unix, dos) = (home.workspace().join("unix.sh"), home.workspace().join("dos.txt"));
    fs::write(&unix, "#!/bin/sh\necho old\necho old\n\n").expect("it can be written");
    fs::set_permissions(&unix, fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::write(&dos, "one\r\ntwo\r\nthree\r\n").expect("it can be written");
    let results = together(
        &home,
        &[
            ("fs_edit", json!({ "path": "unix.sh", "old": "old", "new": "new" })),
            ("fs_edit", json!({ "path": "dos.txt", "old": "one\ntwo", "new": "1\n2" })),
        ],
    );
    assert_eq!(results[0], format!("edited: {} (2 places)", unix.display()));
    assert_eq!(fs::read_to_string(&unix).expect("it is there"), "#!/bin/sh\necho new\necho new\n\n");
    assert_eq!(fs::metadata(&unix).expect("it is there").permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_to_string(&dos).expect("it is there"), "1\r\n2\r\nthree\r\n");
}

#[test]
fn a_shorter_content_truncates_the_file() {
    let home = with("workspace", &[WORKSPACE]);
    fs::write(home.workspace().join("a"), "long ".repeat(100_000)).expect("it can be written");
    let results = together(&home, &[("fs_write", json!({ "path": "./a", "content": "short" }))]);
    assert_eq!(results[0], format!("wrote: {}/a", home.workspace().display()));
    assert_eq!(fs::read_to_string(home.workspace().join("a")).expect("it is there"), "short");
}

#[test]
fn an_edit_that_finds_nothing_shows_similar_lines() {
    let home = with("workspace", &[WORKSPACE]);
    fs::write(home.workspace().join("a.rs"), "fn main() {\n    let total = count(items);\n}\n")
        .expect("it can be written");
    let edit = json!({ "path": "a.rs", "old": "let total = count(item);", "new": "x" });
    let results = together(&home, &[("fs_edit", edit)]);
    let (_, message) = error(&results[0]);
    assert!(message.ends_with("counted from 0:\n1:     let total = count(items);"), "{message}");
}

#[test]
fn a_read_only_workspace_reports_how_to_allow_writing() {
    let home = with("workspace", &["fs:<workspace>:ro"]);
    fs::write(home.workspace().join("a"), "text").expect("it can be written");
    let results = together(
        &home,
        &[
            ("fs_read", json!({ "path": "a" })),
            ("fs_write", json!({ "path": "a", "content": "b" })),
            ("fs_write", json!({ "path": "new/b", "content": "b" })),
            ("fs_edit", json!({ "path": "a", "old": "text", "new": "b" })),
        ],
    );
    // Whether a guest that wants to write is given less is the host's matter: either way, this is what helps.
    for result in &results[1..] {
        let (kind, message) = error(result);
        assert_eq!(kind, "denied", "{message}");
        assert!(message.ends_with("bub-wasm plugin grant workspace 'fs:<workspace>:rw'"), "{message}");
    }
    assert_eq!(fs::read_to_string(home.workspace().join("a")).expect("it is there"), "text");
    assert!(!home.workspace().join("new").exists());
}
