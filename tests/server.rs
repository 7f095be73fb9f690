//! A model on loopback: HTTP/1.1 by hand, so that it can also do what a well-behaved server would not.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// The answer to one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A whole body with that status and that content type.
    Whole(u16, &'static str, String),
    /// The beginning of an event stream; then the connection is gone.
    CutOff(String),
    /// The beginning of an event stream; then nothing, for as long as the client waits.
    Stalled(String),
    /// Nothing, for as long as the client waits.
    Silence,
    /// The beginning of an event stream, and the rest when the gate is open.
    Gated(String, Arc<Gate>, String),
}

/// A gate that a test opens when an answer may go on.
#[derive(Debug, Default)]
pub struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Opens it for all.
    pub fn open(&self) {
        *self.is_open.lock().expect("no thread panicked") = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let is_open = self.is_open.lock().expect("no thread panicked");
        drop(self.opened.wait_while(is_open, |is_open| !*is_open).expect("no thread panicked"));
    }
}

impl Answer {
    /// Events as they were recorded; what begins like an error object has the status that goes with it.
    pub fn recorded(text: &str) -> Self {
        if !text.starts_with("{\"error\"") {
            return Self::Whole(200, "text/event-stream", text.to_owned());
        }
        let status = if text.contains("\"server_error\"") { 500 } else { 400 };
        Self::Whole(status, "application/json", text.to_owned())
    }

    /// That text, in two pieces.
    pub fn text(text: &str) -> Self {
        let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let (head, tail) = text.split_at(half);
        let events = [delta(json!({ "content": head })), delta(json!({ "content": tail })), end("stop")];
        Self::recorded(&stream(&events))
    }

    /// That text, and the tokens of the prompt.
    pub fn counted(text: &str, prompt_tokens: usize) -> Self {
        let usage =
            json!({ "prompt_tokens": prompt_tokens, "completion_tokens": 1, "total_tokens": prompt_tokens + 1 });
        let counted = json!({ "id": "c", "object": "chat.completion.chunk", "model": "fake-model", "choices": [], "usage": usage });
        Self::recorded(&stream(&[delta(json!({ "content": text })), end("stop"), counted]))
    }

    /// The error of a server for a request that exceeds the context window.
    pub fn too_long(window: usize, prompt_tokens: usize) -> Self {
        let message = format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {prompt_tokens} tokens."
        );
        let body = json!({ "error": { "message": message, "code": "context_length_exceeded" } });
        Self::Whole(400, "application/json", body.to_string())
    }

    /// One call of a tool; the arguments are what the model wrote, JSON or not.
    pub fn tool_call(name: &str, arguments: &str) -> Self {
        let function = json!({ "name": name, "arguments": arguments });
        let call = json!({ "index": 0, "id": "call_0", "type": "function", "function": function });
        Self::tool_calls(&[call])
    }

    /// These calls, as they stand.
    pub fn tool_calls(calls: &[Value]) -> Self {
        Self::recorded(&stream(&[delta(json!({ "tool_calls": calls })), end("tool_calls")]))
    }

    /// The beginning of that text, of which the rest never comes.
    pub fn stalled(text: &str) -> Self {
        Self::Stalled(format!("data: {}\n\n", delta(json!({ "content": text }))))
    }

    /// The beginning of that text, and its rest when the gate is open.
    pub fn gated(head: &str, gate: &Arc<Gate>, tail: &str) -> Self {
        let head = format!("data: {}\n\n", delta(json!({ "content": head })));
        Self::Gated(head, Arc::clone(gate), stream(&[delta(json!({ "content": tail })), end("stop")]))
    }

    /// The beginning of a model's reasoning, of which the rest never comes.
    pub fn thinking(text: &str) -> Self {
        Self::Stalled(format!("data: {}\n\n", delta(json!({ "reasoning_content": text }))))
    }

    /// A refusal that no second try would mend.
    pub fn refusal(message: &str) -> Self {
        let body = json!({ "error": { "message": message } });
        Self::Whole(400, "application/json", body.to_string())
    }
}

fn delta(delta: Value) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "model": "fake-model", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn end(reason: &str) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "model": "fake-model", "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn stream(events: &[Value]) -> String {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    events + "data: [DONE]\n\n"
}

/// A received request.
#[derive(Debug, Clone)]
pub struct Request {
    /// `POST`.
    pub method: String,
    /// `/v1/chat/completions`.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as it stood there: key order matters.
    pub body: String,
}

impl Request {
    /// The body as JSON; keys keep their order.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a request's body is JSON")
    }

    /// The messages of the body.
    #[track_caller]
    pub fn messages(&self) -> Vec<Value> {
        self.json()["messages"].as_array().cloned().expect("a request has messages")
    }

    /// The content of the last message.
    #[track_caller]
    pub fn last_content(&self) -> String {
        let messages = self.messages();
        messages.last().and_then(|message| message["content"].as_str()).expect("its content is text").to_owned()
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The server; its threads end with the test's process.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// The rule that chooses an answer from the request.
type Rule = Box<dyn Fn(&Request) -> Answer + Send + Sync>;

#[derive(Default)]
struct Shared {
    /// In place of a list of answers.
    rule: Option<Rule>,
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
    arrived: Condvar,
}

impl Server {
    /// Gives these answers, in order; then only errors.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start(Shared { answers: Mutex::new(answers.into_iter().collect()), ..Shared::default() })
    }

    /// Answers each request by that rule.
    pub fn ruled(rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(Shared { rule: Some(Box::new(rule)), ..Shared::default() })
    }

    fn start(shared: Shared) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(shared);
        let server = Self { address, shared: shared.clone() };
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = shared.clone();
                // A client that hangs up in the middle is the test's business, not an error of the server.
                thread::spawn(move || shared.serve(connection));
            }
        });
        server
    }

    /// The value for `BUB_API_BASE`.
    pub fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().expect("no thread panicked").clone()
    }

    /// Waits until it has been asked so often.
    #[track_caller]
    pub fn wait_for(&self, requests: usize) {
        let patience = Duration::from_secs(60);
        let seen = self.shared.requests.lock().expect("no thread panicked");
        let waited = self.shared.arrived.wait_timeout_while(seen, patience, |seen| seen.len() < requests);
        let late = waited.expect("no thread panicked").1.timed_out();
        assert!(!late, "request {requests} did not come within {patience:?}");
    }
}

impl Shared {
    fn serve(&self, connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection.try_clone()?);
        let mut writer = connection;
        while let Some(request) = read_request(&mut reader)? {
            let ruled = self.rule.as_ref().map(|rule| rule(&request));
            // The lock is held over both lists, so that request N gets answer N.
            let mut requests = self.requests.lock().expect("no thread panicked");
            let answer = ruled.or_else(|| self.answers.lock().expect("no thread panicked").pop_front());
            requests.push(request);
            drop(requests);
            self.arrived.notify_all();
            let nothing_left =
                r#"{"error": {"message": "the test has no answer left for this request", "type": "test"}}"#;
            match answer.unwrap_or(Answer::Whole(400, "application/json", nothing_left.to_owned())) {
                Answer::Whole(status, content_type, body) => {
                    respond(&mut writer, status, content_type, body.len(), &body)?
                }
                Answer::CutOff(body) => {
                    respond(&mut writer, 200, "text/event-stream", body.len() + 1000, &body)?;
                    return Ok(());
                }
                Answer::Stalled(body) => {
                    respond(&mut writer, 200, "text/event-stream", body.len() + 1000, &body)?;
                    reader.fill_buf()?;
                    return Ok(());
                }
                Answer::Gated(head, gate, tail) => {
                    respond(&mut writer, 200, "text/event-stream", head.len() + tail.len(), &head)?;
                    gate.wait();
                    writer.write_all(tail.as_bytes())?;
                }
                Answer::Silence => {
                    // Comes back when the client hangs up.
                    reader.fill_buf()?;
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

fn respond(writer: &mut TcpStream, status: u16, content_type: &str, length: usize, body: &str) -> io::Result<()> {
    let head =
        format!("HTTP/1.1 {status} as recorded\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n");
    writer.write_all(head.as_bytes())?;
    writer.write_all(body.as_bytes())?;
    writer.flush()
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).map_err(io::Error::other)?;
    Ok(Some(Request { method, path, headers, body }))
}
