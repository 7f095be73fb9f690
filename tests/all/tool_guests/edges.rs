//! Files that are no ordinary text.

use super::{WORKSPACE, error, together, with};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::net::UnixListener;
use std::process::Command;

#[test]
fn a_file_that_is_not_text_is_rejected_with_a_remedy() {
    let home = with("workspace", &[WORKSPACE]);
    let ws = home.workspace();
    fs::create_dir(ws.join("dir")).expect("it can be made");
    fs::write(ws.join("binary"), b"\x7fELF\0\x01").expect("it can be written");
    fs::write(ws.join("latin"), b"gr\xfcn\n").expect("it can be written");
    let huge = File::create(ws.join("huge")).expect("it can be made");
    huge.set_len(1 << 30).expect("a file may have holes");
    assert!(Command::new("mkfifo").arg(ws.join("fifo")).status().is_ok_and(|status| status.success()));
    let _socket = UnixListener::bind(ws.join("socket")).expect("a socket");
    let cases = [
        ("dir", "is a directory"),
        ("dir/", "is a directory"),
        (".", "is a directory"),
        ("fifo", "is no regular file"),
        ("socket", "is no regular file"),
        ("binary", "byte 4 of what was read is none"),
        ("latin", "byte 2 of what was read is none"),
        ("binary/below", "is no directory"),
        ("huge", "more than 2 MiB"),
        ("", "is empty"),
    ];
    let read: Vec<(&str, Value)> = cases.iter().map(|(path, _)| ("fs_read", json!({ "path": path }))).collect();
    for ((path, reason), result) in cases.iter().zip(together(&home, &read)) {
        let (kind, message) = error(&result);
        assert!(kind == "invalid_input" && message.contains(reason), "{path}: {kind}: {message}");
    }
    let write = |path: &str| ("fs_write", json!({ "path": path, "content": "x" }));
    let written = together(&home, &["dir", ".", "fifo", "socket", "binary/below"].map(write));
    for result in written {
        assert_eq!(error(&result).0, "invalid_input");
    }
    let edit = |path: &str| ("fs_edit", json!({ "path": path, "old": "a", "new": "b" }));
    let edited = together(&home, &["dir", "fifo", "socket", "binary", "latin", "huge"].map(edit));
    for result in edited {
        assert_eq!(error(&result).0, "invalid_input");
    }
}

#[test]
fn a_part_of_a_large_file_can_be_read() {
    let home = with("workspace", &[WORKSPACE]);
    let lines: String = (0..500_000).map(|number| format!("line {number}\n")).collect();
    fs::write(home.workspace().join("log"), lines).expect("it can be written");
    let results = together(
        &home,
        &[
            ("fs_read", json!({ "path": "log", "offset": 400_000, "limit": 2 })),
            ("fs_read", json!({ "path": "log", "offset": 499_999 })),
            ("fs_read", json!({ "path": "log" })),
            ("fs_read", json!({ "path": "log", "offset": 600_000 })),
        ],
    );
    assert_eq!(results[0], "line 400000\nline 400001");
    assert_eq!(results[1], "line 499999");
    assert!(error(&results[2]).1.contains("`offset` and `limit`"), "{}", results[2]);
    assert_eq!(results[3], "");
}

#[test]
fn a_missing_file_is_not_found_and_invalid_arguments_are_named() {
    let home = with("workspace", &[WORKSPACE]);
    let results = together(
        &home,
        &[
            ("fs_read", json!({ "path": "a" })),
            ("fs_edit", json!({ "path": "a/b", "old": "c", "new": "d" })),
            ("fs_read", json!({ "path": "a", "offset": "zz" })),
            ("fs_read", json!({ "bogus": 1 })),
            ("fs_edit", json!({ "path": "a", "old": "", "new": "d" })),
        ],
    );
    assert_eq!((error(&results[0]).0, error(&results[1]).0), ("not_found", "not_found"));
    for (result, named) in results[2..].iter().zip(["zz", "path", "old"]) {
        let (kind, message) = error(result);
        assert!(kind == "invalid_input" && message.contains(named), "{message}");
    }
}
