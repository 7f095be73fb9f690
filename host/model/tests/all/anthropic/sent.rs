//! Where a request goes, under which headers and with which tools.

use serde_json::{Value, json};

use bub_model::{ErrorKind, Request};

use super::super::{KEY, ask, error_of};
use super::{Server, asked, body, events, settings, tool, words};

fn user() -> Value {
    json!({"role": "user", "content": "a"})
}

#[tokio::test]
async fn tools_that_were_called_are_offered_where_no_others_are() {
    let request = asked(&[
        user(),
        json!({"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": "x", "content": "r"}),
    ]);
    let sent = body(Request { options: Some(r#"{"tool_choice":"required"}"#.to_owned()), ..request }).await;
    assert_eq!(sent["tools"], json!([{"name": "f", "input_schema": {"type": "object"}}]));
    assert_eq!(sent["tool_choice"], json!({"type": "none"}));
    let body = body(Request { options: Some(r#"{"tool_choice":"auto"}"#.to_owned()), ..asked(&[user()]) }).await;
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{body}");
}

#[tokio::test]
async fn a_tool_name_that_the_provider_rejects_is_reported_before_the_request() {
    for name in ["", "fs.read", "a b", "\u{e9}", &"x".repeat(129)] {
        let server = Server::start([events(&words("ok"))]).await;
        let request = Request { tools: vec![tool(name)], ..asked(&[user()]) };
        let error = error_of(settings(&server), request).await;
        assert_eq!(error.kind, ErrorKind::InvalidInput);
        assert!(error.message.starts_with("model `anthropic:fake`: tool `"), "{error}");
        assert!(error.message.ends_with("letters, digits, `_` and `-`, at most 128"), "{error}");
        assert_eq!(server.connections(), 0);
    }
    let body = body(Request { tools: vec![tool(&"x".repeat(128))], ..asked(&[user()]) }).await;
    assert_eq!(body["tools"][0]["name"], "x".repeat(128));
}

#[tokio::test]
async fn the_request_is_posted_to_messages_with_the_key_in_its_own_header() {
    let server = Server::start([events(&words("ok"))]).await;
    assert_eq!(ask(settings(&server), asked(&[user()])).await.1, None);
    let head = &server.seen()[0].head;
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}\r\n")), "{head}");
    assert!(head.contains("anthropic-version: 2023-06-01\r\n"), "{head}");
    assert!(!head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn headers_of_the_users_own_win() {
    for (name, value) in
        [("Anthropic-Version", "2026-10-21"), ("X-Api-Key", "other"), ("Authorization", "Bearer other")]
    {
        let server = Server::start([events(&words("ok"))]).await;
        let mut settings = settings(&server);
        settings.headers.push((name.to_owned(), value.to_owned()));
        assert_eq!(ask(settings, asked(&[user()])).await.1, None);
        let head = &server.seen()[0].head;
        assert!(head.contains(&format!("{}: {value}\r\n", name.to_lowercase())), "{head}");
        assert_eq!(head.contains(KEY), name == "Anthropic-Version", "{head}");
        assert_eq!(head.matches("anthropic-version").count(), 1, "{head}");
    }
}

#[tokio::test]
async fn an_address_is_accepted_with_or_without_the_version() {
    for (base, path) in [
        ("", "/v1/messages"),
        ("/", "/v1/messages"),
        ("/v1/", "/v1/messages"),
        ("/a/v2?k=1", "/a/v2/messages?k=1"),
        ("/vertex", "/vertex/v1/messages"),
    ] {
        let server = Server::start([events(&words("ok"))]).await;
        let mut settings = settings(&server);
        settings.api_base = Some(format!("http://{}{base}", server.host()));
        assert_eq!(ask(settings, asked(&[user()])).await.1, None);
        let head = &server.seen()[0].head;
        assert!(head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{head}");
    }
}
