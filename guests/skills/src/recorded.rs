//! What the original made of the same input.

use serde_json::Value;

const EDGES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/edges.json"));

/// The cases of a subject. There is at least one.
pub fn cases(subject: &str) -> Vec<Value> {
    // As Python writes numbers that JSON has no name for.
    let edges = EDGES.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null");
    let edges: Value = serde_json::from_str(&edges).expect("it is JSON");
    let cases = edges[subject].as_array().expect("a list of cases");
    assert!(!cases.is_empty());
    cases.clone()
}
