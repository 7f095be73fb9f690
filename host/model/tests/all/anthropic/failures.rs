//! Handling of a server that does not answer as it should.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use bub_model::{Client, ErrorKind, ProbeResult, Secret, Settings};

use super::super::{KEY, ask, error_of, finish, request, text};
use super::{Answer, Server, begin, events, said, settings, start, stream, words};

fn wrong(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
}

fn refusal(status: u16, kind: &str, message: &str) -> Answer {
    Answer::json(status, &wrong(kind, message).to_string())
}

#[tokio::test]
async fn each_status_is_final_or_retried() {
    for (status, kind, requests, wanted) in [
        (400, "invalid_request_error", 1, ErrorKind::Provider),
        (401, "authentication_error", 1, ErrorKind::Provider),
        (402, "billing_error", 1, ErrorKind::Provider),
        (403, "permission_error", 1, ErrorKind::Provider),
        (404, "not_found_error", 1, ErrorKind::Provider),
        (413, "request_too_large", 1, ErrorKind::Provider),
        (429, "rate_limit_error", 3, ErrorKind::Temporary),
        (500, "api_error", 3, ErrorKind::Temporary),
        (504, "timeout_error", 3, ErrorKind::Temporary),
        (529, "overloaded_error", 3, ErrorKind::Temporary),
    ] {
        let server = Server::start([refusal(status, kind, "no")]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, wanted, "{status}");
        assert_eq!(error.message, format!("model `anthropic:fake`: the server answered {status}: no"));
        assert_eq!(server.seen().len(), requests, "{status}");
    }
}

#[tokio::test]
async fn an_overloaded_server_may_say_when_to_come_back() {
    let busy = Answer::new(529, "retry-after: 0\r\n", &wrong("overloaded_error", "Overloaded").to_string());
    let server = Server::start([busy, events(&words("hi"))]).await;
    let settings = Settings { retry_delay: Duration::from_secs(600), ..settings(&server) };
    let start = Instant::now();
    assert_eq!(ask(settings, request()).await.1, None);
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn an_overflow_is_recognized_by_its_message() {
    for words in [
        "prompt is too long: 212345 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    ] {
        let server = Server::start([refusal(400, "invalid_request_error", words)]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, ErrorKind::ContextLength, "{error}");
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_retried_by_its_name() {
    for (kind, requests, wanted) in [
        ("overloaded_error", 3, ErrorKind::Temporary),
        ("api_error", 3, ErrorKind::Temporary),
        ("rate_limit_error", 3, ErrorKind::Temporary),
        ("timeout_error", 3, ErrorKind::Temporary),
        ("invalid_request_error", 1, ErrorKind::Provider),
    ] {
        let server = Server::start([events(&[start(), wrong(kind, "no")])]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, wanted, "{kind}");
        assert_eq!(error.message, "model `anthropic:fake`: the server reported an error: no");
        assert_eq!(server.seen().len(), requests, "{kind}");
    }
}

#[tokio::test]
async fn an_error_after_text_is_final() {
    let begun = [
        start(),
        begin(0, json!({"type": "text", "text": ""})),
        said(0, "hi"),
        wrong("overloaded_error", "Overloaded"),
    ];
    let server = Server::start([events(&begun)]).await;
    let (events, error) = ask(settings(&server), request()).await;
    assert_eq!((events, server.seen().len()), (vec![text("hi")], 1));
    assert_eq!(error.unwrap().kind, ErrorKind::Temporary);
}

#[tokio::test]
async fn an_invalid_answer_is_reported_in_one_line() {
    let many: Vec<Value> = std::iter::once(start())
        .chain((0..129).map(|index| begin(index, json!({"type": "tool_use", "id": "x", "name": "f", "input": {}}))))
        .collect();
    for (answer, what) in [
        (Answer::json(200, "{}"), "holds no message"),
        (events(&[json!({"type": "message_stop"})]), "holds no message"),
        (Answer::cut("event: message_start\ndata: {nope\n\n"), "holds an event that is no valid JSON"),
        (events(&many), "holds more than 128 tool calls"),
    ] {
        let server = Server::start([answer]).await;
        let error = error_of(settings(&server), request()).await;
        assert_eq!(error.kind, ErrorKind::Provider);
        assert_eq!(error.message, format!("model `anthropic:fake`: the answer of `{}` {what}", server.host()));
    }
}

#[tokio::test]
async fn documents_of_odd_shapes_are_passed_over() {
    let odd = [
        json!(null),
        json!([]),
        json!("x"),
        json!({"type": 7}),
        json!({"type": "message_start"}),
        json!({"type": "content_block_start", "index": -1}),
        json!({"type": "content_block_delta", "index": u64::MAX, "delta": {"type": "input_json_delta", "partial_json": "x"}}),
        json!({"type": "content_block_delta", "delta": 7}),
        json!({"type": "message_delta", "delta": [], "usage": {"output_tokens": -1, "input_tokens": "x"}}),
        json!({"type": "message_start", "message": {"usage": {"input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX}}}),
    ];
    let odd: String = odd.iter().map(|event| format!("data: {event}\n\n")).collect();
    let server = Server::start([Answer::cut(&(odd + &stream(&words("hi"))))]).await;
    let (events, error) = ask(settings(&server), request()).await;
    assert_eq!((events.first(), events.last(), error), (Some(&text("hi")), Some(&finish("stop")), None));
}

#[tokio::test]
async fn the_key_is_in_no_error_and_in_no_answer() {
    let server = Server::start([refusal(401, "authentication_error", &format!("invalid x-api-key: {KEY}"))]).await;
    let error = error_of(settings(&server), request()).await;
    assert_eq!(error.message, "model `anthropic:fake`: the server answered 401: invalid x-api-key: ***");
    let server = Server::start([events(&words(&format!("It is {KEY}.")))]).await;
    let (told, _) = ask(settings(&server), request()).await;
    assert!(!format!("{told:?}").contains(KEY), "{told:?}");
}

#[tokio::test]
async fn a_missing_key_is_named_by_its_variable() {
    let error = error_of(Settings::new("anthropic:x"), request()).await;
    assert_eq!(error.kind, ErrorKind::Config);
    assert_eq!(
        error.message,
        "model `anthropic:x`: provider `anthropic` wants a key: set `ANTHROPIC_API_KEY`, `BUB_ANTHROPIC_API_KEY` or `BUB_API_KEY`"
    );
}

#[tokio::test]
async fn a_probe_asks_for_the_models_with_the_key() {
    let server = Server::start([Answer::json(200, r#"{"data":[{"id":"x"}]}"#)]).await;
    let client = Client::new(Settings { api_key: Some(Secret::new(KEY)), ..settings(&server) }).unwrap();
    let listed = ProbeResult::Listed(format!("`{}` answers, and has it", server.host()));
    assert_eq!(client.probe("anthropic:x").await.unwrap(), listed);
    let head = &server.seen()[0].head;
    assert!(
        head.starts_with("GET /v1/models?limit=1000 HTTP/1.1\r\n") && head.contains(&format!("x-api-key: {KEY}\r\n")),
        "{head}"
    );
}
