//! Recorded results of the original.

use serde_json::Value;

const EDGES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/edges.json"));

/// The cases of a subject; at least one.
pub fn cases(subject: &str) -> Vec<Value> {
    // Python's numbers that JSON does not have.
    let edges = EDGES.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null");
    let edges: Value = serde_json::from_str(&edges).expect("it is JSON");
    let cases = edges[subject].as_array().expect("a list of cases");
    assert!(!cases.is_empty());
    cases.clone()
}
