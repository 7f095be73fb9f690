//! Invalid requests: from foreign web pages, too long, too slow, or malformed. Each is rejected in JSON, and the server
//! continues.

use super::{echo, say, serve};
use crate::home;
use bub_tests::{Answer, Said, Serve, Server};
use serde_json::json;
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

const TURN: &str = "/v1/turns";

fn goes_on(serve: &Serve<'_>) {
    assert_eq!(say(serve, "http:still", "there")["model_output"], "you said: there");
}

#[test]
fn a_page_of_another_origin_gets_nowhere() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let turn = json!({ "content": "hi" });
    for origin in ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1:1"] {
        let said = serve.ask("POST", TURN).header("origin", origin).json(&turn).send();
        said.refused(403, "may not use the API");
        assert_eq!(said.header("access-control-allow-origin"), None);
        let asked = serve.strange("OPTIONS", TURN).header("origin", origin);
        let asked = asked.header("access-control-request-method", "POST").send();
        asked.refused(403, "may not use the API");
        assert_eq!(asked.header("access-control-allow-origin"), None);
    }
    for site in ["cross-site", "same-site"] {
        let said = serve.ask("POST", TURN).header("sec-fetch-site", site).json(&turn).send();
        said.refused(403, "may not use the API");
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonl"] {
        let said = serve.ask("POST", TURN).header("content-type", kind).body(turn.to_string()).send();
        said.refused(415, "application/json");
    }
    let write = serve.ask("POST", "/v1/tapes/a__b/entries").header("content-type", "text/plain").body("{}").send();
    write.refused(415, "application/json");
    assert!(model.requests().is_empty());
    goes_on(&serve);
}

#[test]
fn a_name_that_was_made_to_lead_here_gets_nowhere() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.", "", "[::1", "127.0.0.2"] {
        serve.ask("GET", "/v1/models").header("host", host).send().refused(421, "does not answer to that `Host`");
    }
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8420"] {
        assert_eq!(serve.ask("GET", "/v1/models").header("host", host).send().status, 200, "{host}");
    }
    serve.strange("GET", "/healthz").header("host", "evil.example").send().refused(421, "`Host`");
}

#[test]
fn configured_origins_may_use_the_api() {
    let (home, model) = (home(), echo());
    home.configure("[serve]\norigins = [\"https://desk.example\"]\nhosts = [\"bub.example\"]");
    let serve = serve(&home, &model);
    let asked = serve.strange("OPTIONS", TURN).header("origin", "https://desk.example");
    let asked = asked.header("access-control-request-method", "POST").send();
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (200, Some("https://desk.example")));
    assert_eq!(asked.header("access-control-allow-methods"), Some("GET,POST"));
    assert!(asked.header("access-control-allow-headers").is_some_and(|headers| headers.contains("idempotency-key")));
    let unauthorized = serve.strange("GET", "/v1/models").header("origin", "https://desk.example").send();
    assert_eq!(
        (unauthorized.status, unauthorized.header("access-control-allow-origin")),
        (401, Some("https://desk.example")),
        "a page can read the error"
    );
    let said = serve.ask("POST", TURN).header("origin", "https://desk.example").header("host", "bub.example");
    let said = said.json(&json!({ "content": "hi" })).send();
    assert_eq!((said.status, said.header("access-control-allow-origin")), (200, Some("https://desk.example")));
    serve.ask("GET", "/v1/models").header("origin", "https://desk.example.evil").send().refused(403, "may not");
}

#[test]
fn unknown_methods_and_paths_are_rejected() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        serve.ask(method, TURN).json(&json!({})).send().refused(405, "does not take this method");
    }
    for (method, path) in [("POST", "/v1/models"), ("DELETE", "/v1/tapes/a__b"), ("PUT", "/v1/tapes/a__b/entries")] {
        let said = serve.ask(method, path).json(&json!({})).send();
        said.refused(405, "does not take this method");
        assert!(said.header("allow").is_some(), "{said:?}");
    }
    for path in ["/page", "/v1", "/v1/", "/v2/turns", "/v1/turns/", "//v1/turns", "/v1/sessions/", "/v1/tapes//entries"]
    {
        let said = serve.ask("GET", path).send();
        assert!(matches!(said.status, 400 | 404), "{path}: {said:?}");
        assert!(said.json()["error"]["message"].is_string());
    }
    serve.ask("BREW", TURN).json(&json!({})).send().refused(405, "does not take this method");
}

#[test]
fn invalid_bodies_are_refused_with_the_reason() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let post =
        |path: &str, body: &[u8]| serve.ask("POST", path).header("content-type", "application/json").body(body).send();
    for path in [TURN, "/v1/chat/completions"] {
        for body in ["", "{", "[]", "null", "\"hi\"", "{\"content\": 1}", "{\"messages\": 1}", "{\"content\": \"a\"} x"]
        {
            post(path, body.as_bytes()).refused(400, "does not fit");
        }
        post(path, b"{\"content\": \"\xff\xfe\"}").refused(400, "not UTF-8");
        let deep = format!("{{\"content\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        post(path, deep.as_bytes()).refused(400, "does not fit");
    }
    post(TURN, b"{\"content\": \"hi\", \"what\": 1}").refused(400, "`what`");
    post(TURN, b"{\"content\": \"hi\", \"session_id\": \"temp/x\"}").refused(400, "temp/");
    post(TURN, b"{\"content\": \"hi\", \"session_id\": \"a\\u0000b\"}").refused(400, "control characters");
    post(TURN, b"{\"content\": \"hi\", \"session_id\": \"\"}").refused(400, "1 to 256 bytes");
    post(TURN, br#"{"content": "hi", "media": [{"mime_type": "image/png", "url": "file:///etc/passwd"}]}"#)
        .refused(400, "`url` of an attachment");
    post(TURN, br#"{"content": "hi", "media": [{"mime_type": "x", "url": "https://a.example/"}]}"#)
        .refused(400, "`mime_type`");
    let keyed = serve.ask("POST", TURN).header("idempotency-key", "").json(&json!({ "content": "hi" })).send();
    keyed.refused(400, "Idempotency-Key");
    assert!(model.requests().is_empty());
    goes_on(&serve);
}

#[test]
fn a_message_that_is_too_long_is_rejected_and_not_stored() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let long = json!({ "content": "x".repeat(33 << 20) }).to_string();
    for path in [TURN, "/v1/chat/completions"] {
        let said = serve.ask("POST", path).header("content-type", "application/json").body(long.clone()).send();
        said.refused(413, "longer than");
    }
    let mut head = serve.connect();
    let _ = head.write_all(format!("GET /{} HTTP/1.1\r\n", "a".repeat(1 << 20)).as_bytes());
    assert!(matches!(read(head).status, 414 | 431));
    let mut headers = serve.connect();
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let _ = headers.write_all(format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{many}\r\n").as_bytes());
    assert_eq!(read(headers).status, 431);
    goes_on(&serve);
}

fn read(mut stream: std::net::TcpStream) -> Said {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Said::parse(&answer)
}

#[test]
fn an_endless_client_is_disconnected_and_delays_no_other() {
    let (home, model) = (home(), echo());
    home.configure("[serve]\npatience_seconds = 1");
    let serve = serve(&home, &model);
    let mut silent = serve.connect();
    let mut head = serve.connect();
    head.write_all(b"GET /v1/models HTTP/1.1\r\nhost: localh").unwrap();
    let mut body = serve.connect();
    let token = serve.token();
    let sent = format!(
        "POST {TURN} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{\"content\": \"h"
    );
    body.write_all(sent.as_bytes()).unwrap();
    let drip = thread::spawn({
        let mut body = body.try_clone().unwrap();
        move || {
            // A byte at a time is no progress.
            while body.write_all(b"i").is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        }
    });
    goes_on(&serve);
    let mut answer = Vec::new();
    let _ = silent.read_to_end(&mut answer);
    assert!(answer.is_empty(), "nothing was asked");
    let _ = head.read_to_end(&mut answer);
    assert!(answer.is_empty() || Said::parse(&answer).status == 408, "{answer:?}");
    let mut answer = Vec::new();
    let _ = body.read_to_end(&mut answer);
    Said::parse(&answer).refused(408, "did not arrive in time");
    drop(body);
    drip.join().unwrap();
    goes_on(&serve);
}

#[test]
fn beyond_the_bounds_messages_are_refused_for_a_moment() {
    let home = home();
    home.configure("[serve]\nmax_turns = 1\nmax_waiting = 1");
    let model = Server::ruled(|_| Answer::Silence);
    let serve = serve(&home, &model);
    let turn = |session: &str| serve.ask("POST", TURN).json(&json!({ "content": "hi", "session_id": session }));
    let _running = turn("http:a").open();
    model.wait_for(1);
    let _waiting = turn("http:b").open();
    let waits = || serve.ask("GET", "/metrics").send().body.contains("bub_messages_waiting 1\n");
    while !waits() {
        thread::sleep(Duration::from_millis(5));
    }
    let refused = turn("http:c").send();
    assert_eq!(refused.refused(503, "try again").header("retry-after"), Some("1"));
    let completion = json!({ "messages": [{ "role": "user", "content": "hi" }], "stream": true });
    let refused = serve.ask("POST", "/v1/chat/completions").json(&completion).send();
    refused.refused(503, "try again");
}

#[test]
fn a_key_that_was_used_for_another_message_is_refused() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let turn = |content: &str| {
        let said = json!({ "content": content, "session_id": "http:a" });
        serve.ask("POST", TURN).header("idempotency-key", "k1").json(&said).send()
    };
    assert_eq!(turn("one").ok(), turn("one").ok());
    let conflict = turn("two");
    assert_eq!(conflict.refused(409, "use a new one").json()["error"]["code"], "idempotency_conflict");
    assert_eq!(model.requests().len(), 1);
    let completion = |content: &str| {
        let said = json!({ "messages": [{ "role": "user", "content": content }], "user": "a" });
        let ask = serve.ask("POST", "/v1/chat/completions").header("idempotency-key", "k2");
        ask.json(&said).send()
    };
    let choices = |said: Said| said.ok()["choices"].clone();
    assert_eq!(choices(completion("one")), choices(completion("one")));
    completion("two").refused(409, "use a new one");
    assert_eq!(model.requests().len(), 2);
}
