//! How a turn that was interrupted is closed on its tape, whether it ends in order or is recovered after a crash.
//!
//! A tool whose effect cannot be taken back is known to have begun before it runs. Until an entry holds its call, an
//! interruption writes the call with a result that says that the tool may or may not have run: the next model call reads
//! it, and no tool is repeated.

use super::draft::Draft;
use super::error::Result;
use super::json;

/// The kind of an entry with tool calls.
pub(super) const CALLS: &str = "tool_call";

/// The kind of the entry behind it.
const RESULTS: &str = "tool_result";

/// What the model reads in place of the result of a tool that was interrupted.
const INTERRUPTED: &str = r#"{"kind": "temporary", "message": "interrupted; it may or may not have run"}"#;

/// The payload of the newest calls that no results follow. `entries` are kinds and payloads, oldest first.
pub(super) fn open_calls<'a>(entries: impl DoubleEndedIterator<Item = (&'a str, &'a str)>) -> Option<&'a str> {
    let newest = entries.rev().find(|(kind, _)| matches!(*kind, CALLS | RESULTS));
    newest.filter(|(kind, _)| *kind == CALLS).map(|(_, payload)| payload)
}

/// Whether the payload of a `tool_call` entry holds that call.
pub(super) fn holds_call(payload: &str, call: &str) -> bool {
    let wanted = identity(call);
    calls(payload).into_iter().any(|call| identity(call) == wanted)
}

/// Removes the calls that the payload of a `tool_call` entry holds, each once: a model may use an id again.
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

/// The entries that close a turn's own entries, of which `begun` holds the calls that none of them has: the next model
/// call can stand behind them.
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
/// One of them is none.
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

/// What tells a call from others: its id, which a model may use again, and the name of its tool, in which models write `_`
/// for `.`.
fn identity(call: &str) -> (Option<String>, Option<String>) {
    let id = json::get(call, "id").and_then(json::string);
    let name = json::get(call, "function").and_then(|function| json::get(function, "name")).and_then(json::string);
    (id, name.map(|name| name.replace('.', "_")))
}
