//! The content of a directory of tapes, read without the store.

use std::fs;
use std::path::Path;

use bub_tape::Entry;
use bub_tape::json as text;

use super::driver::SIDECAR;
use super::world::{Token, World};
use crate::NAME;

/// Reads all files. Every line must be whole, as this program writes it, and the ids consecutive in each file.
///
/// # Panics
///
/// When one is not.
#[track_caller]
pub(crate) fn look(dir: &Path) -> World {
    for found in fs::read_dir(dir).unwrap() {
        let path = found.unwrap().path();
        let torn = path.extension().is_some_and(|extension| extension == "torn");
        assert!(!torn, "a line was torn: {}", fs::read_to_string(path).unwrap());
    }
    look_past_torn(dir)
}

/// Part of a line, as some other program may leave it.
pub(crate) const TORN: &str = r#"{"id": 9, "torn": "of"#;

/// The same where part of a line was left: it is set aside, or in an archive.
#[track_caller]
pub(crate) fn look_past_torn(dir: &Path) -> World {
    let mut world = World {
        tape: tokens(&dir.join(format!("{NAME}.jsonl"))),
        notes: tokens(&dir.join(format!("{NAME}__sidecar__{SIDECAR}.jsonl"))),
        away: Vec::new(),
    };
    for path in [dir.to_owned(), dir.join("trash")].iter().flat_map(fs::read_dir).flatten().flatten() {
        let (name, path) = (path.file_name().into_string().unwrap(), path.path());
        if name.ends_with(".bak") || path.parent().is_some_and(|parent| parent.ends_with("trash")) {
            world.away.extend(tokens(&path));
        }
    }
    world.away.sort_unstable();
    world
}

/// The journal is empty: no turn is in flight, and nothing is left to recover.
#[track_caller]
pub(crate) fn is_settled(dir: &Path) {
    assert_eq!(fs::metadata(dir.join(format!("{NAME}.jsonl.turn"))).unwrap().len(), 0);
}

#[track_caller]
pub(crate) fn entries(path: &Path) -> Vec<Entry> {
    let Ok(mut file) = fs::read_to_string(path) else { return Vec::new() };
    if path.extension().is_none_or(|extension| extension != "jsonl") {
        file = file.replace(&format!("{TORN}\n"), "").replace(TORN, "");
    }
    assert!(file.is_empty() || file.ends_with('\n'), "the last line of {} is torn: {file}", path.display());
    let entry = |(place, line): (usize, &str)| {
        let entry = Entry::parse(line).unwrap_or_else(|| panic!("no entry in {}: {line}", path.display()));
        assert_eq!(entry.line(), line);
        assert_eq!(entry.id, place as u64 + 1, "the ids of {}\n{file}", path.display());
        entry
    };
    file.lines().enumerate().map(entry).collect()
}

#[track_caller]
fn tokens(path: &Path) -> Vec<Token> {
    entries(path).iter().map(token).collect()
}

fn token(entry: &Entry) -> Token {
    let get = |key| text::get(&entry.payload, key).and_then(text::string).unwrap_or_default();
    let each = |key, show: fn(&str) -> Option<String>| {
        let list = text::elements(text::get(&entry.payload, key).unwrap()).unwrap();
        list.into_iter().map(|element| show(element).unwrap()).collect::<Vec<_>>().join(",")
    };
    match &*entry.kind {
        "message" => format!("{}:{}", get("role"), get("content")),
        "tool_call" => format!("call:{}", each("calls", |call| text::string(text::get(call, "id")?))),
        "tool_result" => {
            // Recovery writes an error, not a text.
            let result = |result: &str| {
                let shown = text::string(result);
                shown.or_else(|| result.contains("may or may not have run").then(|| "interrupted".to_owned()))
            };
            format!("result:{}", each("results", result))
        }
        kind @ ("anchor" | "event") => format!("{kind}:{}", get("name")),
        kind => kind.to_owned(),
    }
}

/// A copy of a directory of tapes, as a crash at this moment would leave it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for found in fs::read_dir(from).unwrap() {
        let found = found.unwrap();
        let target = to.join(found.file_name());
        if found.file_type().unwrap().is_dir() {
            copy(&found.path(), &target);
        } else {
            fs::copy(found.path(), target).unwrap();
        }
    }
}
