//! Handling of a server that does not answer as it should.

use std::time::{Duration, Instant};

use serde_json::json;

use bub_model::{ErrorKind, Secret, Settings};

use super::server::{Answer, Server};
use super::{KEY, STOP, ask, chunk, error_of, finish, request, settings, text};

const BROKEN: &str = r#"{"error":{"message":"fake internal error","type":"server_error","code":null}}"#;

fn good() -> Answer {
    Answer::events(&[&chunk("hi"), STOP])
}

#[tokio::test]
async fn a_broken_server_gets_three_requests() {
    let server = Server::start([Answer::json(500, BROKEN)]).await;
    let error = error_of(settings(&server), request()).await;
    assert_eq!(error.kind, ErrorKind::Temporary);
    assert_eq!(error.message, "model `openai:fake`: the server answered 500: fake internal error");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_server_that_was_busy_answers_the_next_request() {
    for status in [429, 500, 503] {
        let server = Server::start([Answer::json(status, BROKEN), good()]).await;
        let (events, error) = ask(settings(&server), request()).await;
        assert_eq!((events, error), (vec![text("hi"), finish("stop")], None));
        let seen = server.seen();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[0].body, seen[1].body);
    }
}

#[tokio::test]
async fn a_refusal_is_final() {
    for status in [400, 401, 404, 422] {
        let server = Server::start([Answer::json(status, r#"{"error":"no"}"#)]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, ErrorKind::Provider);
        assert_eq!(error.message, format!("model `openai:fake`: the server answered {status}: no"));
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_server_may_say_when_to_come_back() {
    // A date that has passed, and a third of a second, against a pause of our own of a minute.
    for (header, at_least) in [("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("0.3", 300)] {
        let busy = Answer::new(429, &format!("retry-after: {header}\r\n"), "");
        let server = Server::start([busy, good()]).await;
        let mut settings = settings(&server);
        settings.retry_delay = Duration::from_secs(60);
        let start = Instant::now();
        assert_eq!(ask(settings, request()).await.1, None);
        assert!(start.elapsed() >= Duration::from_millis(at_least), "{header}");
        assert!(start.elapsed() < Duration::from_secs(20), "{header}");
    }
}

#[tokio::test]
async fn an_overflow_is_recognized_by_message_or_code() {
    let by_message = json!({"error": {"message": "This model's maximum context length is 8192 tokens."}});
    let by_code = json!([{"error": {"message": "no", "code": "context_length_exceeded"}}]);
    for body in [by_message, by_code] {
        let server = Server::start([Answer::json(400, &body.to_string())]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, ErrorKind::ContextLength);
        let server = Server::start([Answer::events(&[&body.get(0).unwrap_or(&body).to_string()])]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, ErrorKind::ContextLength);
        // A busy or broken server may speak of tokens and limits and means something else.
        let server = Server::start([Answer::json(429, &body.to_string())]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, ErrorKind::Temporary);
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_the_servers_and_is_retried_by_its_code() {
    let upstream = r#"{"error":{"message":"upstream died","code":502}}"#;
    let server = Server::start([Answer::events(&[upstream]), good()]).await;
    assert_eq!(ask(settings(&server), request()).await.1, None);
    let server = Server::start([Answer::cut("event: error\ndata: broken pipe\n\n")]).await;
    let error = error_of(settings(&server), request()).await;
    assert_eq!(error.message, "model `openai:fake`: the server reported an error: broken pipe");
    assert_eq!(error.kind, ErrorKind::Provider);
}

#[tokio::test]
async fn a_failure_after_the_first_event_is_final() {
    let server = Server::start([Answer::cut(&format!("data: {}\n\n", chunk("hi"))), good()]).await;
    let (events, error) = ask(settings(&server), request()).await;
    assert_eq!(events, [text("hi")]);
    let error = error.unwrap();
    assert_eq!(error.kind, ErrorKind::Temporary);
    let host = server.host();
    assert_eq!(error.message, format!("model `openai:fake`: `{host}` broke off in the middle of its answer"));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_that_ends_before_its_first_event_is_retried() {
    let half = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"bash"}}]}}]}"#;
    let server = Server::start([Answer::cut(&format!("data: {half}\n\ndata: {{\"cho")), good()]).await;
    let (events, error) = ask(settings(&server), request()).await;
    assert_eq!((events, error), (vec![text("hi"), finish("stop")], None));
}

#[tokio::test]
async fn a_server_that_is_down_is_named_without_key_or_query() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let settings = Settings {
        api_key: Some(Secret::new(KEY)),
        api_base: Some(format!("http://user:hunter22@127.0.0.1:{port}/v1?key=query-key")),
        retry_delay: Duration::ZERO,
        ..Settings::new("openai:fake")
    };
    let error = error_of(settings, request()).await;
    assert_eq!(error.kind, ErrorKind::Temporary);
    let start = format!("model `openai:fake`: could not connect to `127.0.0.1:{port}`: ");
    assert!(error.message.starts_with(&start), "{error}");
    assert!(error.message.to_lowercase().contains("refused"), "{error}");
    for secret in [KEY, "hunter22", "query-key"] {
        assert!(!error.message.contains(secret), "{error}");
    }
}

#[tokio::test]
async fn a_servers_error_becomes_one_short_line_without_the_key() {
    let message = format!("bad key {KEY}\n\u{1b}[31mred\u{7}  {}", "x".repeat(2000));
    let server = Server::start([Answer::json(401, &json!({"error": {"message": message}}).to_string())]).await;
    let error = error_of(settings(&server), request()).await;
    assert!(error.message.contains("401: bad key *** [31mred xxx"), "{error}");
    assert!(error.message.ends_with("xxx…"), "{error}");
    assert!(error.message.chars().count() < 600);
    assert!(!error.message.contains(char::is_control));
    // A key where the cut falls is not left in half.
    let message = format!("{}{KEY}", "x".repeat(495));
    let server = Server::start([Answer::json(401, &json!({"error": {"message": message}}).to_string())]).await;
    let error = error_of(settings(&server), request()).await;
    assert!(!error.message.contains(&KEY[..2]), "{error}");
}

#[tokio::test]
async fn an_error_without_a_message_is_its_status() {
    for body in ["", "<html><body>nginx</body></html>", "{}"] {
        let server = Server::start([Answer::new(404, "content-type: text/html\r\n", body)]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.message, "model `openai:fake`: the server answered 404");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = Server::start([Answer::new(307, "location: http://127.0.0.1:1/\r\n", ""), good()]).await;
    let error = error_of(settings(&server), request()).await;
    assert_eq!(error.message, "model `openai:fake`: the server answered 307");
}

#[tokio::test]
async fn an_invalid_answer_is_reported_in_one_line() {
    let calls: Vec<_> = (0..129).map(|index| json!({"index": index, "function": {"name": "f"}})).collect();
    let many = json!({"choices": [{"delta": {"tool_calls": calls}}]}).to_string();
    let html = Answer::new(200, "content-type: text/html\r\n", "<html></html>");
    for (answer, what) in [
        (Answer::json(200, "{\"choices\":"), "is no valid JSON"),
        (html, "is no valid JSON"),
        (Answer::json(200, "{}"), "holds no choice"),
        (Answer::events(&[]), "holds no choice"),
        (Answer::events(&["{nope"]), "holds an event that is no valid JSON"),
        (Answer::events(&[&many]), "holds more than 128 tool calls"),
        (Answer::json(200, &"[".repeat(100_000)), "is no valid JSON"),
    ] {
        let server = Server::start([answer]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, ErrorKind::Provider);
        let host = server.host();
        assert_eq!(error.message, format!("model `openai:fake`: the answer of `{host}` {what}"));
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_larger_than_its_bounds_is_refused() {
    let line = Answer::cut(&format!("data: {}", "x".repeat(10 * 1024 * 1024)));
    let lines = Answer::cut(&": comment\n".repeat(7 * 1024 * 1024));
    for (answer, what) in [(line, "a line of more than 8 MiB"), (lines, "an answer of more than 64 MiB")] {
        let server = Server::start([answer]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, ErrorKind::Provider);
        assert_eq!(error.message, format!("model `openai:fake`: `{}` sent {what}", server.host()));
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_is_not_waited_for() {
    let server = Server::start([Answer::hang("")]).await;
    let settings = Settings { idle: Duration::from_millis(100), ..settings(&server) };
    let error = error_of(settings, request()).await;
    assert_eq!(error.kind, ErrorKind::Temporary);
    assert_eq!(error.message, format!("model `openai:fake`: `{}` fell silent", server.host()));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn the_timeout_bounds_the_whole_of_an_answer() {
    let server = Server::start([Answer::hang(&format!("data: {}\n\n", chunk("hi")))]).await;
    let settings = Settings { timeout: Some(Duration::from_millis(200)), ..settings(&server) };
    let (events, error) = ask(settings, request()).await;
    assert_eq!(events, [text("hi")]);
    let error = error.unwrap();
    assert_eq!(error.kind, ErrorKind::Temporary);
    let host = server.host();
    assert_eq!(error.message, format!("model `openai:fake`: no whole answer from `{host}` within 0.2 s"));
}

#[tokio::test]
async fn a_server_without_tls_at_an_https_address_is_reported_in_one_line() {
    let server = Server::start([good()]).await;
    let settings = Settings { api_base: Some(format!("https://{}/v1", server.host())), ..settings(&server) };
    let error = error_of(settings, request()).await;
    assert_eq!(error.kind, ErrorKind::Temporary);
    let start = format!("model `openai:fake`: could not connect to `{}`: ", server.host());
    assert!(error.message.starts_with(&start), "{error}");
    assert!(!error.message.contains(char::is_control), "{error}");
}
