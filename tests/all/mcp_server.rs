//! `mcp serve` and `/mcp` of `serve`: an MCP client speaks to the program, in lines and over HTTP.

mod bad_input;
mod calls;
mod clients;
mod ends;
mod http;
mod sessions;
mod turns;

use bub_tests::{Finished, Home, Run, Started};
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

/// No test waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// The session of the tool calls.
const SESSION: &str = "mcp:desk";

/// A client that speaks lines of JSON.
pub(crate) struct Client<'home> {
    program: Started<'home>,
    last: u64,
}

/// `mcp serve` in that home.
pub(crate) fn serving<'home>(home: &'home Home, more: &[&str]) -> Run<'home> {
    home.bub(["mcp", "serve", "--session", SESSION].into_iter().chain(more.iter().copied())).spoken_to()
}

impl<'home> Client<'home> {
    /// Starts the program, and begins.
    #[track_caller]
    pub(crate) fn begin(run: Run<'home>) -> Self {
        Self::begin_with(run, &json!({}))
    }

    /// The same, with those capabilities.
    #[track_caller]
    fn begin_with(run: Run<'home>, capabilities: &Value) -> Self {
        let mut client = Self { program: run.start(), last: 0 };
        let begun = client.ask("initialize", &hello("2025-06-18", capabilities));
        assert_eq!(begun["result"]["serverInfo"]["name"], "bub-wasm", "{begun}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        self.program.say(&message.to_string());
    }

    /// Sends a request, and returns its id.
    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request, and waits for its answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls a tool, and waits for its result: whether it went well, and its text.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        result(&answer)
    }

    /// Waits for the answer to that request.
    #[track_caller]
    fn answer(&self, id: u64) -> Value {
        self.message(&format!("the answer to request {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// Waits for a message.
    #[track_caller]
    fn message(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            if let Some(message) = self.messages().into_iter().find(&is_it) {
                return message;
            }
            let told = || self.program.told();
            assert!(begun.elapsed() < PATIENCE, "{what} did not come\n{}\n{}", self.program.printed(), told());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// All messages so far. Every line is one.
    #[track_caller]
    fn messages(&self) -> Vec<Value> {
        messages(&self.program.printed())
    }

    /// Closes its end, and waits for the program's.
    #[track_caller]
    pub(crate) fn end(self) -> Finished {
        let finished = self.program.finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        messages(&finished.stdout);
        finished
    }
}

/// The parameters of `initialize`.
fn hello(version: &str, capabilities: &Value) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client })
}

/// Whole lines as messages.
#[track_caller]
fn messages(printed: &str) -> Vec<Value> {
    let whole = printed.rfind('\n').map_or("", |end| &printed[..end]);
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    whole.lines().map(parse).collect()
}

/// Whether a call went well, and its text.
#[track_caller]
pub(crate) fn result(answer: &Value) -> (bool, String) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{answer}");
    (result["isError"] != true, text.to_owned())
}

/// Waits until something is so.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A home with a file in its workspace, which its owner vouches for or not.
fn desk(is_trusted: bool) -> Home {
    let home = crate::home();
    std::fs::write(home.workspace().join("notes.txt"), "one\ntwo\n").expect("a file");
    if is_trusted {
        assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    }
    home
}
