//! What each room of the host does not know, held by its `use` lines.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms in the order in which a message meets them. Those in one row may know each other.
const ROWS: &[&[&str]] = &[
    &["cli"],
    &["http"],
    &["gateway"],
    &["host", "turn", "hooks", "grants", "plugin"],
    &["channel"],
    &["config"],
    &["error"],
    &["recall"],
    &["model", "net", "process", "secret", "tape", "usage"],
    &["files", "inline", "nearest", "redact_stream", "variables", "wording"],
];

/// Uses that point upward, each with its reason. None may be added without one.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("channel", "plugin", "an envelope's type is that of the contract"),
    ("config", "grants", "grants are read from the file into the type that is checked"),
    ("config", "plugin", "what a fault does is read from the file into the type that is acted on"),
    ("error", "plugin", "a failure holds the fault or the contract's error that it came from"),
];

#[test]
fn imports_point_downward_only() {
    let wrong: Vec<String> = uses()
        .into_iter()
        .filter(|(from, to, _)| {
            let upward = row(from) > row(to);
            let same_row_stranger = row(from) == row(to) && from != to && row(from) == row("tape");
            (upward || same_row_stranger) && !EXCEPTIONS.iter().any(|(a, b, _)| a == from && b == to)
        })
        .map(|(from, to, path)| format!("`{from}` uses `{to}` in {}", path.display()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_exception_is_needed() {
    let uses = uses();
    for (from, to, _) in EXCEPTIONS {
        assert!(uses.iter().any(|(a, b, _)| a == from && b == to), "`{from}` no longer uses `{to}`");
    }
}

#[test]
fn only_the_bindings_generate_bindings() {
    let files: Vec<PathBuf> = sources(&src()).into_iter().filter(|path| read(path).contains("bindgen!(")).collect();
    assert_eq!(files, [src().join("plugin/bindings.rs")]);
}

#[test]
fn the_main_path_fits_its_room() {
    let lines = read(&src().join("turn.rs")).lines().count();
    assert!(lines <= 170, "turn.rs has {lines} lines; the main path is to be read at once");
}

fn row(room: &str) -> usize {
    ROWS.iter().position(|row| row.contains(&room)).unwrap_or_else(|| panic!("the room `{room}` has no row"))
}

/// Every `use crate::ROOM` and `crate::ROOM::` of every file: from, to, where.
fn uses() -> Vec<(String, String, PathBuf)> {
    let mut uses = Vec::new();
    for path in sources(&src()) {
        let inside = path.strip_prefix(src()).expect("it lies in src");
        let room = inside.components().next().expect("it has a name").as_os_str().to_string_lossy();
        let room = room.trim_end_matches(".rs").to_owned();
        if ["main", "lib"].contains(&room.as_str()) {
            continue;
        }
        for line in read(&path).lines().filter(|line| !line.trim_start().starts_with("//")) {
            for rest in line.split("crate::").skip(1) {
                let to: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if to != room && !to.is_empty() {
                    uses.push((room.clone(), to, path.clone()));
                }
            }
        }
    }
    uses
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("it can be read")
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("it is a directory") {
        let path = entry.expect("it can be listed").path();
        match path.is_dir() {
            true => files.extend(sources(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}
