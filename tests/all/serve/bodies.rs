//! Bodies of requests: limits apply before they are read, and clients that read nothing are disconnected.

mod fuzz;

use super::{echo, say, serve, token_of};
use crate::home;
use bub_tests::{Answer, Said, Serve, Server};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const TURN: &str = "/v1/turns";
const COMPLETION: &str = "/v1/chat/completions";

/// No test waits longer than this.
const PATIENCE: Duration = Duration::from_secs(120);

/// The head of a request with a body of that length, of which nothing is sent.
fn announce(serve: &Serve<'_>, path: &str, token: &str, length: &str) -> TcpStream {
    let mut stream = serve.connect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\n{length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it listens");
    stream
}

fn answer(mut stream: TcpStream) -> Said {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Said::parse(&answer)
}

fn metric(serve: &Serve<'_>, line: &str) -> bool {
    serve.ask("GET", "/metrics").send().body.lines().any(|known| known == line)
}

#[track_caller]
fn wait_for_metric(serve: &Serve<'_>, line: &str) {
    let begun = Instant::now();
    while !metric(serve, line) {
        assert!(begun.elapsed() < PATIENCE, "no `{line}`: {}", serve.ask("GET", "/metrics").send().body);
        thread::sleep(Duration::from_millis(5));
    }
}

/// Of each of these nothing but the head is sent: a server that read the body first would answer 408, after a day.
#[test]
fn length_channel_token_and_scope_are_checked_before_the_body_is_read() {
    let (home, model) = (home(), echo());
    home.configure("[serve]\npatience_seconds = 86_400");
    let reader = token_of(&home, "reader", "owner", r#""read""#, "");
    let stranger = token_of(&home, "stranger", "anonymous", r#""turns""#, "");
    let serve = serve(&home, &model);
    let owner = serve.token();
    let mebibytes = |mebibytes: usize| format!("content-length: {}", mebibytes << 20);
    let asked = |path: &str, token: &str, length: &str| answer(announce(&serve, path, token, length));
    asked("/channels/none", owner, &mebibytes(1)).refused(404, "no channel of this name");
    asked("/channels/none/deeper", "", "transfer-encoding: chunked").refused(404, "no channel of this name");
    for path in [TURN, COMPLETION] {
        asked(path, "wrong", &mebibytes(1)).refused(401, "a token is needed");
        asked(path, &reader, &mebibytes(1)).refused(403, "`turns`");
        asked(path, owner, &mebibytes(33)).refused(413, "longer than");
        // The limit for all strangers together is the limit for one of them.
        asked(path, &stranger, &mebibytes(9)).refused(413, "longer than");
    }
    assert_eq!(say(&serve, "http:still", "there")["model_output"], "you said: there");
}

/// All connections are open before the first byte of a body is sent, so that none makes room for another.
#[test]
fn a_thousand_bodies_for_a_channel_that_does_not_exist_take_little_memory() {
    const CONNECTIONS: usize = 1_024;
    const MOST: u64 = 64_000_000;
    const SENDERS: usize = 32;
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    say(&serve, "http:still", "there");
    let idle = serve.program().memory().unwrap_or_default();
    serve.program().forget_peak();
    let body = vec![b'x'; 1 << 20];
    let length = format!("content-length: {}", body.len());
    let mut streams: Vec<_> = (0..CONNECTIONS).map(|_| announce(&serve, "/channels/none", "", &length)).collect();
    thread::scope(|scope| {
        for some in streams.chunks_mut(CONNECTIONS / SENDERS) {
            // The server may hang up on a body that it does not want.
            scope.spawn(|| some.iter_mut().for_each(|stream| drop(stream.write_all(&body))));
        }
    });
    let mut refused = 0;
    for stream in streams {
        let mut bytes = Vec::new();
        // A reset connection may lose its answer.
        if { stream }.read_to_end(&mut bytes).is_ok() && !bytes.is_empty() {
            Said::parse(&bytes).refused(404, "no channel of this name");
            refused += 1;
        }
    }
    assert!(refused > CONNECTIONS / 2, "{refused} answers");
    let peak = serve.program().peak().unwrap_or_default().saturating_sub(idle);
    let _ = writeln!(std::io::stderr(), "{CONNECTIONS} connections: {peak} bytes above {idle}");
    assert!(peak <= MOST, "{peak} bytes above the idle program's {idle}");
    assert_eq!(say(&serve, "http:still", "there")["model_output"], "you said: there");
}

#[test]
fn a_body_in_chunks_is_counted_as_it_comes() {
    let (home, model) = (home(), echo());
    home.configure("[serve]\nunknown_body_budget_mib = 1");
    let stranger = token_of(&home, "stranger", "anonymous", r#""turns""#, "");
    let serve = serve(&home, &model);
    for path in [TURN, COMPLETION] {
        let mut stream = announce(&serve, path, &stranger, "transfer-encoding: chunked");
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x1_0000));
        // It never ends, and is refused all the same.
        while stream.write_all(chunk.as_bytes()).is_ok() {}
        answer(stream).refused(413, "longer than");
    }
}

#[test]
fn bodies_of_anonymous_callers_have_a_separate_budget() {
    let home = home();
    home.configure("[serve]\nunknown_body_budget_mib = 1\npatience_seconds = 86_400");
    let model = echo();
    let stranger = token_of(&home, "stranger", "anonymous", r#""turns""#, "");
    let serve = serve(&home, &model);
    let (most, rest) = (900 << 10, 100);
    let mut slow = announce(&serve, TURN, &stranger, &format!("content-length: {most}"));
    let start = br#"{"what": ""#;
    slow.write_all(start).unwrap();
    slow.write_all("x".repeat(most - start.len() - rest).as_bytes()).unwrap();
    wait_for_metric(&serve, &format!("bub_body_bytes{{caller=\"unknown\"}} {most}"));
    let busy = answer(announce(&serve, COMPLETION, &stranger, &format!("content-length: {most}")));
    assert_eq!(busy.refused(503, "try again").header("retry-after"), Some("1"));
    assert_eq!(say(&serve, "http:owner", "hi")["model_output"], "you said: hi");
    // A small one fits beside it.
    let small = serve.strange("POST", TURN).token(&stranger).json(&json!({ "content": "small" })).send();
    assert_eq!(small.ok()["model_output"], "you said: small");
    slow.write_all("x".repeat(rest).as_bytes()).unwrap();
    answer(slow).refused(400, "does not fit");
    wait_for_metric(&serve, "bub_body_bytes{caller=\"unknown\"} 0");
}

#[test]
fn a_body_is_charged_until_its_turn_has_ended() {
    let home = home();
    let model = Server::ruled(|_| Answer::Silence);
    let serve = serve(&home, &model);
    let body = json!({ "content": "x".repeat(50_000) });
    let length = body.to_string().len();
    // With a key the turn goes on when its client leaves.
    let turn = serve.ask("POST", TURN).header("idempotency-key", "k").json(&body).open();
    model.wait_for(1);
    drop(turn);
    assert!(metric(&serve, &format!("bub_body_bytes{{caller=\"trusted\"}} {length}")));
}

#[test]
fn json_is_bounded_in_depth_members_and_elements() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let post =
        |path: &str, body: &str| serve.ask("POST", path).header("content-type", "application/json").body(body).send();
    for path in [TURN, COMPLETION] {
        let deep = format!("{{\"content\": {}{}}}", "[".repeat(64), "]".repeat(64));
        post(path, &deep).refused(400, "deeper than 64");
        let zeros = format!("{{\"content\": [{}0]}}", "0,".repeat(140_000));
        post(path, &zeros).refused(400, "more than 131072 elements");
        let members = format!("{{\"content\": {{{}\"a\":0}}}}", "\"a\":0,".repeat(66_000));
        post(path, &members).refused(400, "more than 65536 members");
    }
    // The content of a string is not nesting.
    let text = format!("{{\"content\": \"{}\\\"[{{\"}}", "[{,:".repeat(140_000));
    assert!(matches!(post(TURN, &text).status, 200 | 500));
}

#[test]
fn parts_of_a_message_are_taken_as_before() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let ask = |content: serde_json::Value| {
        serve.ask("POST", COMPLETION).json(&json!({ "messages": [{ "role": "user", "content": content }] })).send()
    };
    let parts = json!([{ "type": "text", "text": "one" }, { "type": "refusal", "refusal": "two", "more": [1] }]);
    assert_eq!(ask(parts).ok()["choices"][0]["message"]["content"], "you said: two");
    ask(json!([{ "type": "text" }])).refused(400, "has no `text`");
    ask(json!([{ "text": "hi" }])).refused(400, "`type`");
    ask(json!([1])).refused(400, "does not fit");
    ask(json!(1)).refused(400, "a string or a list of parts");
}

/// The system buffers some megabytes for a peer that reads nothing; what does not fit waits, and not for ever.
#[test]
fn a_client_that_reads_nothing_loses_its_connection() {
    let (home, model) = (home(), echo());
    home.configure("[serve]\npatience_seconds = 1");
    let serve = serve(&home, &model);
    let mut stream = serve.connect();
    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let ask = b"GET /v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let begun = Instant::now();
    let ended = loop {
        assert!(begun.elapsed() < PATIENCE, "it still waits for a client that reads nothing");
        match stream.write_all(ask) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(ended.kind(), std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe), "{ended}");
    assert_eq!(say(&serve, "http:still", "there")["model_output"], "you said: there");
}
