//! The use of model calls: the caller it is counted for, its display, and the budget of a day.

mod account;
mod budget;
mod shown;

use crate::home;
use bub_tests::{Answer, Finished, Home};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// An answer that says `hello` and that it used so much.
fn answer(usage: &Value) -> Answer {
    let text = json!({ "choices": [{ "index": 0, "delta": { "content": "hello" }, "finish_reason": "stop" }] });
    let usage = json!({ "choices": [], "usage": usage });
    Answer::recorded(&format!("data: {text}\n\ndata: {usage}\n\ndata: [DONE]\n\n"))
}

/// The same with these counts, of which the prompt's half was in a cache.
pub(crate) fn used(prompt: u64, completion: u64) -> Answer {
    answer(&json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": prompt / 2 },
    }))
}

/// A call of a tool that says that it used so much.
fn tool_call(command: &str, tokens: u64) -> Answer {
    let arguments = json!({ "cmd": command }).to_string();
    let function = json!({ "name": "bash", "arguments": arguments });
    let call = json!({ "index": 0, "id": "call_0", "type": "function", "function": function });
    let delta =
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": tokens, "total_tokens": tokens } });
    Answer::recorded(&format!("data: {delta}\n\ndata: {usage}\n\ndata: [DONE]\n\n"))
}

/// `bub-wasm usage --json` with these words.
#[track_caller]
pub(crate) fn shown(home: &Home, words: &[&str]) -> Value {
    let finished = home.bub(["usage", "--json"].into_iter().chain(words.iter().copied())).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    json_of(&finished)
}

#[track_caller]
fn json_of(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{finished}"))
}

/// The values of one row under these keys.
fn columns(row: &Value) -> [u64; 5] {
    ["calls", "prompt_tokens", "cached_tokens", "completion_tokens", "total_tokens"]
        .map(|key| row[key].as_u64().unwrap_or(u64::MAX))
}

/// Today's file of the account; there is no other.
#[track_caller]
fn todays_file(home: &Home) -> PathBuf {
    let files: Vec<PathBuf> =
        fs::read_dir(home.bub_home().join("usage")).expect("it is there").flatten().map(|file| file.path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// A guest that makes one call of a model as `call` says.
fn with_caller(call: &str) -> Home {
    let home = home();
    home.configure(&format!("[plugins.caller]\ngrants = [\"model:*\"]\nconfig = {{ call = {{ {call} }} }}"));
    home.plugin("caller", bub_tests::programs::CALLER);
    home
}
