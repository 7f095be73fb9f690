//! Which selector is asked, what is checked of its answer, and what the guests that select make of a conversation.

mod builder;
mod chosen;
mod compared;
mod examples;
pub(crate) mod long;
mod recall;

use bub_tests::{Home, Request, tape};
use serde_json::Value;

/// The texts of a request, each with its role.
fn said(request: &Request) -> Vec<(String, String)> {
    let text = |message: &Value, key: &str| message[key].as_str().unwrap_or_default().to_owned();
    request.messages().iter().map(|message| (text(message, "role"), text(message, "content"))).collect()
}

/// Whether one of the texts ends so.
fn has(request: &Request, end: &str) -> bool {
    said(request).iter().any(|(_, text)| text.ends_with(end))
}

/// The data of the events of that name on the terminal's tape.
fn events(home: &Home, name: &str) -> Vec<Value> {
    let tape = tape::read(&home.tape_file("cli:local"));
    tape.iter().filter(|entry| entry["payload"]["name"] == name).map(|entry| entry["payload"]["data"].clone()).collect()
}
