//! Closing an interrupted turn on its tape, at its end or in recovery after a crash.
//!
//! A tool with an irrevocable effect is recorded before it runs. If no entry has its call, an interruption writes the
//! call with a result that says that the tool may or may not have run. The next model call reads it, and no tool is
//! repeated.

use super::draft::Draft;
use super::error::Result;
use super::json;

/// The kind of an entry with tool calls.
pub(super) const CALLS: &str = "tool_call";

/// The kind of the entry with their results.
pub(super) const RESULTS: &str = "tool_result";

/// The result of an interrupted tool, for the model.
const INTERRUPTED: &str = r#"{"kind": "temporary", "message": "interrupted; it may or may not have run"}"#;

/// The payload of the newest calls without results. `entries` are kinds and payloads, oldest first.
pub(super) fn open_calls<'a>(entries: impl DoubleEndedIterator<Item = (&'a str, &'a str)>) -> Option<&'a str> {
    let newest = entries.rev().find(|(kind, _)| matches!(*kind, CALLS | RESULTS));
    newest.filter(|(kind, _)| *kind == CALLS).map(|(_, payload)| payload)
}

/// Whether the payload of a `tool_call` entry contains that call.
pub(super) fn holds_call(payload: &str, call: &str) -> bool {
    let wanted = identity(call);
    calls(payload).into_iter().any(|call| identity(call) == wanted)
}

/// Removes the calls in the payload of a `tool_call` entry, each once: a model may reuse an id.
pub(super) fn forget_written(begun: &mut Vec<String>, payload: &str) {
    for written in calls(payload).into_iter().map(identity) {
        if let Some(at) = begun.iter().position(|call| identity(call) == written) {
            begun.remove(at);
        }
    }
}

/// Removes that call, once.
pub(super) fn forget(begun: &mut Vec<String>, call: &str) {
    if let Some(at) = begun.iter().position(|begun| begun == call) {
        begun.remove(at);
    }
}

/// Entries that close a turn's own entries, so that the next model call can follow them. `begun` has calls that are not
/// in any entry.
pub(super) fn close<'a>(
    own: impl DoubleEndedIterator<Item = (&'a str, &'a str)>,
    begun: &[String],
) -> Result<Vec<Draft>> {
    let mut closing = Vec::new();
    if let Some(open) = open_calls(own) {
        closing.push(results(calls(open).len())?);
    }
    if !begun.is_empty() {
        closing.push(tool_call(begun)?);
        closing.push(results(begun.len())?);
    }
    Ok(closing)
}

/// An entry of these calls, each a JSON object.
///
/// # Errors
///
/// A call is not a JSON object.
pub(super) fn tool_call(calls: &[String]) -> Result<Draft> {
    Draft::new(CALLS, &format!(r#"{{"calls": [{}]}}"#, calls.join(", ")), "{}")
}

fn results(count: usize) -> Result<Draft> {
    let results = vec![INTERRUPTED; count].join(", ");
    Draft::new(RESULTS, &format!(r#"{{"results": [{results}]}}"#), "{}")
}

fn calls(payload: &str) -> Vec<&str> {
    json::get(payload, "calls").and_then(|calls| json::elements(calls).ok()).unwrap_or_default()
}

/// The identity of a call: its id, which a model may reuse, and the name of its tool, in which models write `_` for
/// `.`.
fn identity(call: &str) -> (Option<String>, Option<String>) {
    let id = json::get(call, "id").and_then(json::string);
    let name = json::get(call, "function").and_then(|function| json::get(function, "name")).and_then(json::string);
    (id, name.map(|name| name.replace('.', "_")))
}
