//! `acp`: an editor speaks to the program in lines. Each message of the program is held against the schema of the protocol.

mod bad_input;
mod begin;
mod cancel;
mod changes;
mod clients;
mod permissions;
mod prompts;
mod replays;
mod schema;
mod servers;
mod sessions;

use bub_tests::{Answer, Finished, Home, Run, Started};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// No test waits longer for a message.
const PATIENCE: Duration = Duration::from_secs(120);

/// An editor.
struct Editor<'home> {
    program: Started<'home>,
    last: u64,
    /// The methods of its requests.
    asked: HashMap<u64, String>,
}

/// `acp` in that home.
fn serving<'home>(home: &'home Home, more: &[&str]) -> Run<'home> {
    home.bub(["acp"].into_iter().chain(more.iter().copied())).spoken_to()
}

impl<'home> Editor<'home> {
    /// Starts the program.
    fn start(run: Run<'home>) -> Self {
        Self { program: run.start(), last: 0, asked: HashMap::new() }
    }

    /// Starts the program, and begins.
    #[track_caller]
    fn begin(run: Run<'home>) -> Self {
        let mut editor = Self::start(run);
        let begun = editor.ask("initialize", &hello(1));
        assert_eq!(begun["result"]["agentInfo"]["name"], "bub-wasm", "{begun}");
        editor
    }

    fn send(&mut self, message: &Value) {
        self.program.say(&message.to_string());
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request, and returns its id.
    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.asked.insert(id, method.to_owned());
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request, and waits for its answer.
    #[track_caller]
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// A new session in that folder.
    #[track_caller]
    fn session(&mut self, folder: &Path) -> String {
        let begun = self.ask("session/new", &json!({ "cwd": folder, "mcpServers": [] }));
        begun["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {begun}")).to_owned()
    }

    /// Begins a prompt of that text.
    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        self.request("session/prompt", &prompt(session, &[json!({ "type": "text", "text": text })]))
    }

    /// A prompt of that text to its end; answers why it stopped.
    #[track_caller]
    fn say(&mut self, session: &str, text: &str) -> String {
        let id = self.prompt(session, text);
        self.stopped(id)
    }

    /// Why that prompt stopped.
    #[track_caller]
    fn stopped(&self, id: u64) -> String {
        let answer = self.answer(id);
        answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("it failed: {answer}")).to_owned()
    }

    /// Waits for the question about a call.
    #[track_caller]
    fn question(&self, number: usize) -> Value {
        let begun = Instant::now();
        loop {
            let messages = self.messages();
            let mut asked = messages.iter().filter(|message| message["method"] == "session/request_permission");
            if let Some(question) = asked.nth(number) {
                return question.clone();
            }
            self.still_waiting(begun, "the question");
        }
    }

    /// Answers a question with the option of that kind.
    #[track_caller]
    fn decide(&mut self, question: &Value, kind: &str) {
        let options = question["params"]["options"].as_array().expect("there are options");
        let option = options.iter().find(|option| option["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"));
        let outcome = json!({ "outcome": "selected", "optionId": option["optionId"] });
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "outcome": outcome } }));
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
            self.still_waiting(begun, what);
        }
    }

    #[track_caller]
    fn still_waiting(&self, begun: Instant, what: &str) {
        let told = || self.program.told();
        assert!(begun.elapsed() < PATIENCE, "{what} did not come\n{}\n{}", self.program.printed(), told());
        thread::sleep(Duration::from_millis(5));
    }

    /// All messages so far. Every line is one.
    #[track_caller]
    fn messages(&self) -> Vec<Value> {
        messages(&self.program.printed())
    }

    /// The updates of a session so far, of that kind.
    #[track_caller]
    fn updates(&self, session: &str, kind: &str) -> Vec<Value> {
        updates(&self.messages(), session, kind)
    }

    /// All text of that kind so far.
    #[track_caller]
    fn text(&self, session: &str, kind: &str) -> String {
        text(&self.messages(), session, kind)
    }

    /// Closes its end, waits for the program's, and holds all that it said against the schema.
    #[track_caller]
    fn end(self) -> Finished {
        let Self { program, asked, .. } = self;
        let finished = program.finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        schema::check(&messages(&finished.stdout), &asked);
        finished
    }
}

/// The parameters of `initialize`.
fn hello(version: u16) -> Value {
    let capabilities = json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true });
    json!({ "protocolVersion": version, "clientCapabilities": capabilities, "clientInfo": { "name": "test", "version": "1" } })
}

/// The parameters of a prompt.
fn prompt(session: &str, parts: &[Value]) -> Value {
    json!({ "sessionId": session, "prompt": parts })
}

/// Whole lines as messages.
#[track_caller]
fn messages(printed: &str) -> Vec<Value> {
    let whole = printed.rfind('\n').map_or("", |end| &printed[..end]);
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    whole.lines().map(parse).collect()
}

fn updates(messages: &[Value], session: &str, kind: &str) -> Vec<Value> {
    let of_session = messages.iter().filter(|message| message["params"]["sessionId"] == session);
    let updates = of_session.map(|message| &message["params"]["update"]);
    updates.filter(|update| update["sessionUpdate"] == kind).cloned().collect()
}

fn text(messages: &[Value], session: &str, kind: &str) -> String {
    let updates = updates(messages, session, kind);
    updates.iter().filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// The user's text, without the line about the message that the program puts before it.
fn last_line(content: &str) -> &str {
    content.lines().last().unwrap_or_default()
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

/// An answer of these pieces, which are members of a delta, with that reason for its end.
fn streamed(deltas: &[Value], reason: &str) -> Answer {
    let chunk = |delta: &Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "model": "fake-model", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let mut events: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    events += &chunk(&json!({}), json!(reason));
    Answer::recorded(&(events + "data: [DONE]\n\n"))
}
