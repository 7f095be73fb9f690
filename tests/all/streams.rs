//! `GET /v1/sessions/{session}/stream`: turns that are followed while they run, here and at other workers.

mod workers;

use bub_tests::{Answer, Ask, Gate, Serve, Server};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::scope;

use crate::home;
use crate::serve::{echo, serve};

/// A stream that is read event by event.
pub(crate) struct Stream(BufReader<TcpStream>);

/// An event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Stream {
    /// Follows a session, behind the event with that id.
    fn open(serve: &Serve<'_>, session: &str, behind: Option<&str>) -> Self {
        let ask = serve.ask("GET", &path(session));
        let ask = match behind {
            Some(id) => ask.header("last-event-id", id),
            None => ask,
        };
        Self::read(ask)
    }

    /// Reads what is asked for.
    #[track_caller]
    pub(crate) fn read(ask: Ask<'_>) -> Self {
        let mut stream = Self(BufReader::new(ask.open()));
        assert_eq!(stream.next().name, "ready");
        stream
    }

    #[track_caller]
    pub(crate) fn next(&mut self) -> Event {
        let mut event = Event { id: String::new(), name: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            let line = line.trim_end();
            if let Some(id) = line.strip_prefix("id: ") {
                id.clone_into(&mut event.id);
            } else if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event.name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                event.data = serde_json::from_str(data).unwrap();
            } else if line.is_empty() && !event.name.is_empty() {
                return event;
            }
        }
    }

    /// The next event of that name; others are skipped.
    #[track_caller]
    pub(crate) fn until(&mut self, name: &str) -> Event {
        loop {
            let event = self.next();
            if event.name == name {
                return event;
            }
        }
    }

    /// Reads to the end of a turn, and returns its text and its outcome.
    #[track_caller]
    fn rest(&mut self) -> (String, Value) {
        let mut text = String::new();
        loop {
            let event = self.next();
            match event.name.as_str() {
                "text" => text.push_str(event.data["text"].as_str().unwrap()),
                "final" => return (text, event.data),
                _ => {}
            }
        }
    }
}

fn path(session: &str) -> String {
    format!("/v1/sessions/{}/stream", session.replace(':', "%3A").replace('/', "%2F"))
}

fn say(serve: &Serve<'_>, session: &str, content: &str) -> Value {
    serve.post("/v1/turns", &json!({ "content": content, "session_id": session }))
}

/// Submits a message and waits for nothing.
fn submit(serve: &Serve<'_>, session: &str, content: &str, key: &str) -> TcpStream {
    let body = json!({ "content": content, "session_id": session });
    serve.ask("POST", "/v1/turns").header("idempotency-key", key).json(&body).open()
}

/// A model whose answers have two halves.
fn halves(gate: &Arc<Gate>) -> Server {
    let gate = Arc::clone(gate);
    Server::ruled(move |_| Answer::gated("first half, ", &gate, "second half"))
}

#[test]
fn a_reader_that_comes_in_mid_turn_gets_its_beginning_and_its_end() {
    let (home, gate) = (home(), Arc::default());
    let model = halves(&gate);
    let serve = serve(&home, &model);
    let mut early = Stream::open(&serve, "http:s", None);
    let asked = submit(&serve, "http:s", "go", "1");
    let begin = early.next();
    assert_eq!((begin.name.as_str(), begin.data["turn"].is_string()), ("begin", true));
    assert_eq!(early.until("text").data["text"], "first half, ");
    let mut late = Stream::open(&serve, "http:s", None);
    assert_eq!(late.next().data, begin.data);
    gate.open();
    let (text, outcome) = late.rest();
    assert_eq!((text.as_str(), &outcome["model_output"]), ("first half, second half", &json!(text)));
    assert_eq!(early.rest().0, "second half");
    drop(asked);
    // The next turn of the session follows on the same connection.
    say(&serve, "http:s", "again");
    assert_eq!(late.next().name, "begin");
    assert_eq!(late.rest().0, "first half, second half");
}

#[test]
fn a_reader_that_was_cut_off_goes_on_behind_its_last_event_also_after_the_end() {
    let (home, gate) = (home(), Arc::default());
    let model = halves(&gate);
    let serve = serve(&home, &model);
    let mut stream = Stream::open(&serve, "http:s", None);
    let _asked = submit(&serve, "http:s", "go", "1");
    let last = stream.until("text");
    drop(stream);
    let mut again = Stream::open(&serve, "http:s", Some(&last.id));
    gate.open();
    assert_eq!(again.rest().0, "second half");
    let mut after = Stream::open(&serve, "http:s", Some(&last.id));
    assert_eq!(after.rest().0, "second half");
    let end = Stream::open(&serve, "http:s", Some(&last.id)).until("final");
    // A reader that has all of the turn waits for the next one, and so does one whose position is past its end.
    let (turn, _) = end.id.rsplit_once('/').unwrap();
    let past = format!("{turn}/{}", u64::MAX);
    let mut waiting = [&end.id, &past].map(|id| Stream::open(&serve, "http:s", Some(id)));
    // A turn that has ended is on the tape: who asks without a position does not get it.
    let mut fresh = Stream::open(&serve, "http:s", None);
    say(&serve, "http:s", "second");
    assert_eq!(fresh.next().name, "begin");
    assert_eq!(fresh.rest().1["session_id"], "http:s");
    for stream in &mut waiting {
        assert_eq!(stream.next().name, "begin");
    }
}

#[test]
fn a_client_that_asks_again_with_its_key_gets_the_text_of_the_running_turn() {
    let (home, gate) = (home(), Arc::default());
    let model = halves(&gate);
    let serve = serve(&home, &model);
    let ask = || {
        let body = json!({ "content": "go", "session_id": "http:s" });
        let ask = serve.ask("POST", "/v1/turns").header("idempotency-key", "1").header("accept", "text/event-stream");
        Stream(BufReader::new(ask.json(&body).open()))
    };
    let mut first = ask();
    assert_eq!(first.until("text").data["text"], "first half, ");
    // The client is cut off, and its turn goes on.
    drop(first);
    let mut second = ask();
    assert_eq!(second.until("text").data["text"], "first half, ");
    gate.open();
    let (text, outcome) = second.rest();
    assert_eq!((text.as_str(), &outcome["model_output"]), ("second half", &json!("first half, second half")));
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn tool_calls_and_hostile_text_are_streamed_as_data() {
    let home = home();
    let hostile = "\n\ndata: {}\nevent: final\u{0}\u{1b}[2J\u{202e}</script>";
    let answers = [Answer::tool_call("tape_info", "{}"), Answer::text(hostile)];
    let model = Server::new(answers);
    let serve = serve(&home, &model);
    let mut stream = Stream::open(&serve, "http:s", None);
    scope(|scope| {
        scope.spawn(|| say(&serve, "http:s", hostile));
        let begins = stream.until("tool-begins");
        assert_eq!(begins.data["tool"], "tape.info", "{begins:?}");
        assert_eq!(stream.until("tool-ends").data["call"], begins.data["call"]);
        let (text, outcome) = stream.rest();
        assert_eq!((text.as_str(), outcome["model_output"].as_str()), (hostile, Some(hostile)));
    });
}

#[test]
fn a_stream_needs_the_scope_and_the_reach_of_its_session() {
    let home = home();
    let token = crate::serve::token_of(&home, "guest", "anonymous", "\"read\"", "guest/");
    let writer = crate::serve::token_of(&home, "writer", "anonymous", "\"turns\"", "guest/");
    let model = echo();
    let serve = serve(&home, &model);
    serve.ask("GET", &path("http:s")).token(&token).send().refused(403, "guest/");
    serve.ask("GET", &path("guest/s")).token(&writer).send().refused(403, "read");
    serve.strange("GET", &path("http:s")).send().refused(401, "token");
    for id in ["x", "a/b", "/1", "../1", "a b/1", "run/-1", "run/99999999999999999999"] {
        serve.ask("GET", &path("http:s")).header("last-event-id", id).send().refused(400, "`Last-Event-ID`");
    }
    // The id of a turn that is not known is no reason to refuse: its later events are streamed.
    let mut stream = Stream::open(&serve, "http:s", Some("run-20260101T000000000000Z/3"));
    say(&serve, "http:s", "hi");
    assert_eq!(stream.rest().0, "you said: hi");
}

#[test]
fn a_turn_that_is_stopped_or_fails_ends_in_its_stream_too() {
    let (home, gate) = (home(), Arc::default());
    let model = halves(&gate);
    let serve = serve(&home, &model);
    let mut stream = Stream::open(&serve, "http:s", None);
    let _asked = submit(&serve, "http:s", "go", "1");
    stream.until("text");
    serve.post("/v1/sessions/http%3As/stop", &json!({}));
    assert_eq!(stream.rest().1["error"]["kind"], "cancelled");
    gate.open();
}
