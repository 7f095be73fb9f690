//! Tapes as they stand on disk.

use crate::Home;
use regex::Regex;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::LazyLock;

/// The keys of an entry, in their order.
const KEYS: [&str; 5] = ["id", "kind", "payload", "meta", "date"];

/// No fraction when the microseconds are 0, as the original writes it.
static DATE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00$").expect("it is an expression"));

/// The entries of a tape. Every line must be, byte for byte, what the original would write: keys, their order,
/// separators, the date.
#[track_caller]
pub fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("no tape at {}: {error}", path.display()));
    assert!(text.is_empty() || text.ends_with('\n'), "the last line of the tape is torn: {text}");
    text.lines().map(entry).collect()
}

#[track_caller]
fn entry(line: &str) -> Value {
    let entry: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON: {error}: {line}"));
    let keys: Vec<&str> = entry.as_object().map(|entry| entry.keys().map(String::as_str).collect()).unwrap_or_default();
    assert_eq!(keys, KEYS, "in {line}");
    assert!(DATE.is_match(entry["date"].as_str().unwrap_or_default()), "the date of {line}");
    assert_eq!(python_json(&entry), line, "the bytes of a line");
    entry
}

/// The tapes of a home, by the half of their names that is the session, when they all belong to its workspace.
#[track_caller]
pub fn of_home(home: &Home) -> BTreeMap<String, Vec<Value>> {
    let tapes = all(&home.tapes_dir());
    for name in tapes.keys() {
        assert!(name.starts_with(&home.workspace_half()), "the tape `{name}` is not named after the workspace");
    }
    by_session(tapes)
}

/// The tapes below a directory, by the half of their names that is the session.
pub fn by_session(tapes: BTreeMap<String, Vec<Value>>) -> BTreeMap<String, Vec<Value>> {
    tapes
        .into_iter()
        .map(|(name, tape)| (name.split_once("__").map_or(name.clone(), |(_, half)| half.to_owned()), tape))
        .collect()
}

/// The tapes of a directory, by name. Its other files (locks, journals) are not tapes, and of the host's evidence (receipts,
/// chains) the original knows nothing.
#[track_caller]
pub fn all(dir: &Path) -> BTreeMap<String, Vec<Value>> {
    let Ok(files) = fs::read_dir(dir) else {
        return BTreeMap::new();
    };
    let mut tapes = BTreeMap::new();
    for file in files {
        let path = file.expect("the directory can be listed").path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a tape's name is ASCII");
            if !name.ends_with("__sidecar__receipts") && !name.ends_with("__sidecar__chain") {
                tapes.insert(name.to_owned(), read(&path));
            }
        }
    }
    tapes
}

/// JSON text as Python's `json.dumps(..., ensure_ascii=False)` writes it.
pub fn python_json(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Python);
    serde::Serialize::serialize(value, &mut serializer).expect("JSON can be written to memory");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
