//! The recorded runs of the original Bub in `tests/golden`.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The directory of the recorded runs.
pub const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden");

/// The text of `golden/edges.json`: inputs and the original's results, by subject.
///
/// It contains Python's `NaN`, which is not JSON: parse one subject ([`cases`]), not the whole text.
pub fn edges() -> String {
    fs::read_to_string(PathBuf::from(GOLDEN).join("edges.json")).expect("it can be read")
}

/// The cases of one subject of `golden/edges.json`.
pub fn cases(subject: &str) -> Vec<Value> {
    let edges = edges();
    let (_, list) = edges.split_once(&format!("\n \"{subject}\": ")).expect("there is such a subject");
    let list = serde_json::Deserializer::from_str(list).into_iter::<Vec<Value>>().next();
    let cases = list.and_then(Result::ok).expect("it is a list");
    assert!(!cases.is_empty());
    cases
}
