//! Several `serve` on one database.

mod chaos;
mod failover;
mod link;
mod upgrade;

use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Home, Serve, Server, programs};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use chaos::Asked;

use crate::home;
use crate::serve::echo;

/// No test waits longer for something that happens in another process.
const DEADLINE: Duration = Duration::from_secs(90);

/// Homes of workers on one database and in one workspace.
pub(crate) struct Workers {
    pub(crate) homes: Vec<Home>,
    pub(crate) address: String,
}

impl Workers {
    /// `None`: PostgreSQL is not installed.
    pub(crate) fn new(count: usize, config: &str) -> Option<Self> {
        let address = Postgres::shared()?.database();
        let homes: Vec<Home> = (0..count).map(|_| home()).collect();
        for home in &homes {
            home.configure(&format!("tape_store = {address:?}\nlease_seconds = 3\n{config}"));
        }
        Some(Self { homes, address })
    }

    pub(crate) fn serve<'home>(&'home self, nth: usize, model: &Server) -> Serve<'home> {
        Serve::start(self.command(nth).model(model), &self.homes[nth].bub_home())
    }

    /// A worker that does what messages say.
    pub(crate) fn offline(&self, nth: usize) -> Serve<'_> {
        Serve::start(self.command(nth), &self.homes[nth].bub_home())
    }

    fn command(&self, nth: usize) -> bub_tests::Run<'_> {
        let workspace = self.homes[0].workspace();
        self.homes[nth].bub(["-w", workspace.to_str().unwrap(), "serve", "--listen", "127.0.0.1:0"])
    }

    pub(crate) fn sql(&self, statement: &str) -> String {
        Postgres::shared().unwrap().sql(&self.address, statement)
    }

    /// Waits until a statement returns that.
    #[track_caller]
    pub(crate) fn until(&self, statement: &str, expected: &str) {
        until(&self.address, statement, expected);
    }
}

/// Ends the clients of a test, also if it fails: the test waits for their threads.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Waits until clients have asked for that many more messages.
#[track_caller]
fn go_on(asked: &Mutex<Vec<Asked>>, more: usize) {
    let count = || asked.lock().unwrap().len();
    let (start, before) = (Instant::now(), count());
    while count() < before + more {
        assert!(start.elapsed() < DEADLINE, "the workers do not go on");
        sleep(Duration::from_millis(20));
    }
}

#[track_caller]
pub(crate) fn until(address: &str, statement: &str, expected: &str) {
    let start = Instant::now();
    loop {
        let found = Postgres::shared().unwrap().sql(address, statement);
        if found == expected {
            return;
        }
        assert!(start.elapsed() < DEADLINE, "{statement}: `{found}` and not `{expected}`");
        sleep(Duration::from_millis(50));
    }
}

/// The messages of people and the model in a session, as a worker shows them.
fn said(serve: &Serve<'_>, session: &str) -> Vec<String> {
    let path = format!("/v1/sessions/{}/entries?max=256", session.replace(':', "%3A"));
    let entries = serve.get(&path);
    let messages = entries["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "message");
    let content = |entry: &Value| {
        let content = entry["payload"]["content"].as_str().unwrap_or_default();
        content.lines().last().unwrap_or_default().to_owned()
    };
    messages.map(content).collect()
}

fn turn(serve: &Serve<'_>, session: &str, content: &str) -> Value {
    serve.post("/v1/turns", &json!({ "content": content, "session_id": session }))
}

#[test]
fn a_conversation_goes_on_at_any_worker() {
    let Some(workers) = Workers::new(2, "") else { return };
    let model = echo();
    let (first, second) = (workers.serve(0, &model), workers.serve(1, &model));
    assert_eq!(turn(&first, "http:birds", "heron")["model_output"], "you said: heron");
    assert_eq!(turn(&second, "http:birds", "stork")["model_output"], "you said: stork");
    assert_eq!(turn(&first, "http:birds", "crane")["model_output"], "you said: crane");
    let all = ["heron", "you said: heron", "stork", "you said: stork", "crane", "you said: crane"];
    assert_eq!(said(&second, "http:birds"), all);
    let sessions = second.get("/v1/sessions");
    assert_eq!(sessions["sessions"][0]["session_id"], "http:birds", "{sessions}");
    assert_eq!(workers.sql("SELECT count(*) FROM message WHERE state < 2"), "0");
    assert_eq!(first.end().code, Some(0));
    assert_eq!(second.end().code, Some(0));
}

#[test]
fn messages_of_one_session_at_two_workers_are_turns_one_after_the_other() {
    let Some(workers) = Workers::new(2, "") else { return };
    let model = Server::ruled(|request| {
        sleep(Duration::from_millis(50));
        Answer::text(request.last_content().lines().last().unwrap_or_default())
    });
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    scope(|scope| {
        for (at, serve) in serves.iter().enumerate() {
            for nth in 0..6 {
                scope.spawn(move || {
                    let content = format!("{at}-{nth}");
                    assert_eq!(turn(serve, "http:busy", &content)["model_output"], content.as_str());
                });
            }
        }
    });
    let said = said(&serves[0], "http:busy");
    assert_eq!(said.len(), 24, "{said:?}");
    assert!(said.chunks(2).all(|pair| pair[0] == pair[1]), "no turn began before the last one ended: {said:?}");
}

#[test]
fn an_idempotency_key_holds_at_all_workers() {
    let Some(workers) = Workers::new(2, "") else { return };
    let model = Server::ruled(|request| {
        sleep(Duration::from_millis(400));
        Answer::text(request.last_content().lines().last().unwrap_or_default())
    });
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    // The tokens have the same name at both.
    let body = json!({ "content": "pay", "session_id": "http:once" });
    let ask = |serve: &Serve<'_>| serve.ask("POST", "/v1/turns").header("idempotency-key", "7").json(&body).send().ok();
    let answers: Vec<Value> = scope(|scope| {
        let asked: Vec<_> = serves.iter().map(|serve| scope.spawn(move || ask(serve))).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0]["model_output"], "pay");
    assert_eq!(ask(&serves[1])["model_output"], "pay");
    assert_eq!(model.requests().len(), 1);
    let other = json!({ "content": "pay more", "session_id": "http:once" });
    let refused = serves[1].ask("POST", "/v1/turns").header("idempotency-key", "7").json(&other).send();
    assert_eq!(refused.status, 409, "{}", refused.body);
}

#[test]
fn messages_that_a_killed_worker_had_accepted_are_done_by_another() {
    let Some(workers) = Workers::new(2, "") else { return };
    let model = Server::ruled(|request| {
        sleep(Duration::from_millis(300));
        Answer::text(request.last_content().lines().last().unwrap_or_default())
    });
    let first = workers.serve(0, &model);
    let second = workers.serve(1, &model);
    // The worker is killed before it answers.
    let asked: Vec<_> = (0..5)
        .map(|nth| {
            let body = json!({ "content": format!("m{nth}"), "session_id": format!("http:{}", nth % 2) });
            first.ask("POST", "/v1/turns").header("idempotency-key", &nth.to_string()).json(&body).open()
        })
        .collect();
    workers.until("SELECT count(*) FROM message", "5");
    first.kill();
    drop(asked);
    workers.until("SELECT count(*) FROM message WHERE state < 2", "0");
    let mut done: Vec<String> =
        [said(&second, "http:0"), said(&second, "http:1")].concat().into_iter().step_by(2).collect();
    done.sort();
    done.dedup();
    assert_eq!(done, ["m0", "m1", "m2", "m3", "m4"]);
    // The client asks again at another worker.
    let body = json!({ "content": "m4", "session_id": "http:0" });
    let again = second.ask("POST", "/v1/turns").header("idempotency-key", "4").json(&body).send().ok();
    assert!(again["error"].is_null(), "{again}");
}

#[test]
fn a_message_at_one_worker_steers_the_turn_of_another() {
    let Some(workers) = Workers::new(2, "") else { return };
    for home in &workers.homes {
        home.scripted("porter", programs::SCRIPTED, "admit-message = \"steer\"");
    }
    // The first step calls a tool, so that there is a second one to be steered. It lasts until the message has arrived.
    let address = workers.address.clone();
    let model = Server::ruled(move |request| match request.messages().last().map(|last| last["role"].clone()) {
        Some(role) if role == "user" && request.last_content().ends_with("first") => {
            until(&address, "SELECT count(*) FROM message WHERE steers AND state = 1 AND worker <> origin", "1");
            Answer::tool_call("tape_info", "{}")
        }
        _ => Answer::text("done"),
    });
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    scope(|scope| {
        let first = scope.spawn(|| turn(&serves[0], "http:s", "first"));
        workers.until("SELECT count(*) FROM message WHERE state = 1", "1");
        let second = turn(&serves[1], "http:s", "second");
        assert_eq!(second["model_output"], "done", "{second}");
        let first = first.join().unwrap();
        assert_eq!(first["run_ids"], second["run_ids"], "both have the outcome of one turn");
    });
    assert_eq!(model.requests().len(), 2);
    let mut said = said(&serves[0], "http:s");
    said.retain(|said| ["first", "second", "done"].contains(&said.as_str()));
    assert_eq!(said, ["first", "second", "done"]);
    assert_eq!(workers.sql("SELECT count(*) FROM message WHERE state < 2"), "0");
}

/// Reads events of a stream until one has that name and session, and returns its id.
#[track_caller]
fn event(reader: &mut BufReader<TcpStream>, name: &str, session: &str) -> String {
    let (mut id, mut is_wanted) = (String::new(), false);
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended");
        let line = line.trim_end();
        if let Some(of) = line.strip_prefix("id: ") {
            of.clone_into(&mut id);
        } else if let Some(of) = line.strip_prefix("event: ") {
            is_wanted = of == name;
        } else if let (true, Some(data)) = (is_wanted, line.strip_prefix("data: ")) {
            let data: Value = serde_json::from_str(data).unwrap();
            if session.is_empty() || data["session_id"] == session {
                return id;
            }
        }
    }
}

#[test]
fn events_of_all_workers_are_read_at_each_and_resumed_at_another() {
    let Some(workers) = Workers::new(2, "") else { return };
    let model = echo();
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    let mut events = BufReader::new(serves[1].ask("GET", "/v1/events").open());
    event(&mut events, "ready", "");
    turn(&serves[0], "http:one", "hi");
    let last = event(&mut events, "turn-ends", "http:one");
    drop(events);
    turn(&serves[1], "http:two", "hi");
    turn(&serves[0], "http:three", "hi");
    let resumed = serves[0].ask("GET", "/v1/events").header("last-event-id", &last).open();
    let mut events = BufReader::new(resumed);
    let two: i64 = event(&mut events, "turn-ends", "http:two").parse().unwrap();
    let three: i64 = event(&mut events, "turn-ends", "http:three").parse().unwrap();
    assert!(last.parse::<i64>().unwrap() < two && two < three, "{last} {two} {three}");
    let refused = serves[0].ask("GET", "/v1/events").header("last-event-id", "x").send();
    refused.refused(400, "`Last-Event-ID`");
}

#[test]
fn a_worker_that_was_suspended_gives_way_and_joins_again() {
    let Some(workers) = Workers::new(2, "") else { return };
    let model = Server::ruled(|request| {
        sleep(Duration::from_millis(1500));
        Answer::text(request.last_content().lines().last().unwrap_or_default())
    });
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    let body = json!({ "content": "hi", "session_id": "http:s" });
    let asked = serves[0].ask("POST", "/v1/turns").header("idempotency-key", "1").json(&body).open();
    workers.until("SELECT count(*) FROM message WHERE state = 1", "1");
    serves[0].program().suspend();
    // The other worker takes the message over when the lease has ended.
    workers.until("SELECT count(*) FROM message WHERE state = 2", "1");
    serves[0].program().resume();
    let mut answer = String::new();
    BufReader::new(asked).read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"model_output\":\"hi\""), "the client gets the outcome of the other worker: {answer}");
    assert_eq!(said(&serves[1], "http:s"), ["hi", "hi"]);
    workers.until("SELECT count(*) FROM lease WHERE name LIKE 'worker:%' AND until > clock_timestamp()", "2");
    assert_eq!(turn(&serves[0], "http:s", "again")["model_output"], "again");
}

#[test]
fn quotas_hold_over_all_workers() {
    let Some(workers) = Workers::new(2, "[quotas.anonymous]\nsessions = 2") else { return };
    let token = crate::serve::token_of(&workers.homes[0], "guest", "anonymous", "\"turns\"", "guest/");
    crate::serve::token_of(&workers.homes[1], "guest", "anonymous", "\"turns\"", "guest/");
    let model = echo();
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    let ask = |nth: usize, session: &str| {
        let body = json!({ "content": "hi", "session_id": session });
        serves[nth].ask("POST", "/v1/turns").token(&token).json(&body).send()
    };
    assert_eq!(ask(0, "guest/1").status, 200);
    assert_eq!(ask(1, "guest/2").status, 200);
    ask(0, "guest/3").refused(429, "sessions");
    ask(1, "guest/3").refused(429, "sessions");
    assert_eq!(ask(1, "guest/1").status, 200);
}

#[test]
fn a_channel_is_polled_by_one_worker_and_by_another_after_its_end() {
    let Some(workers) = Workers::new(
        2,
        "[plugins.poster.config]\nflags = [\"polls\"]\narrivals = [{ id = \"1\", content = \"news\" }]",
    ) else {
        return;
    };
    for home in &workers.homes {
        home.plugin("poster", programs::POSTER);
    }
    let model = echo();
    let first = workers.serve(0, &model);
    let epoch = "SELECT epoch FROM lease WHERE name = 'poll:poster' AND until > clock_timestamp()";
    workers.until(epoch, "1");
    let _second = workers.serve(1, &model);
    workers.until("SELECT count(*) FROM message WHERE state = 2", "1");
    first.kill();
    workers.until(epoch, "2");
    // The other worker gets the same message from the channel, and knows it.
    sleep(Duration::from_secs(1));
    assert_eq!(workers.sql("SELECT count(*) FROM message"), "1");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_worker_stops_a_turn_of_another() {
    let Some(workers) = Workers::new(2, "") else { return };
    let model = Server::ruled(|_| {
        sleep(Duration::from_secs(20));
        Answer::text("late")
    });
    let serves = [workers.serve(0, &model), workers.serve(1, &model)];
    scope(|scope| {
        let asked = scope.spawn(|| {
            let body = json!({ "content": "go", "session_id": "http:long" });
            serves[0].ask("POST", "/v1/turns").json(&body).send().ok()
        });
        workers.until("SELECT count(*) FROM message WHERE state = 1", "1");
        let stopped = serves[1].post("/v1/sessions/http%3Along/stop", &json!({}));
        assert_eq!(stopped["stopped"], true, "{stopped}");
        let outcome = asked.join().unwrap();
        assert_eq!(outcome["error"]["kind"], "cancelled", "{outcome}");
    });
    let idle = serves[1].post("/v1/sessions/http%3Along/stop", &json!({}));
    assert_eq!(idle["stopped"], false, "{idle}");
    assert_eq!(workers.sql("SELECT count(*) FROM message WHERE state < 2"), "0");
}
