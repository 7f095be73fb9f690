//! Requests.

use std::sync::Arc;

use serde_json::json;

use bub_model::{Client, ErrorKind, RawObject, Request, Secret, Settings, ToolSpec};

use super::server::{Answer, Seen, Server};
use super::{KEY, STOP, ask, ask_with, error_of, object, request, settings};

/// The request that arrives for `request` under those settings.
async fn sent(change: impl FnOnce(&mut Settings), request: Request) -> Seen {
    let server = Server::start([Answer::events(&[STOP])]).await;
    let mut settings = settings(&server);
    change(&mut settings);
    let (_, error) = ask(settings, request).await;
    assert_eq!(error, None);
    server.seen().remove(0)
}

#[tokio::test]
async fn the_body_is_the_originals_to_the_key() {
    let request = Request {
        tools: vec![Arc::new(ToolSpec::new(
            "fs_read".to_owned(),
            "Reads \"files\"".to_owned(),
            object(r#"{"type": "object", "n": 1.50}"#),
        ))],
        max_tokens: Some(99),
        options: Some(r#"{"temperature":0.50,"reasoning_effort":"low"}"#.to_owned()),
        ..request()
    };
    let body = sent(|_| {}, request).await.body;
    assert_eq!(
        body,
        concat!(
            r#"{"messages":[{"role":"user","content":"hi"}],"model":"fake","max_completion_tokens":99,"#,
            r#""reasoning_effort":"low","stream":true,"stream_options":{"include_usage":true},"temperature":0.50,"#,
            r#""tools":[{"type":"function","function":{"name":"fs_read","description":"Reads \"files\"","#,
            r#""parameters":{"type": "object", "n": 1.50}}}]}"#,
        )
    );
}

#[tokio::test]
async fn without_tools_or_a_stream_their_keys_are_absent() {
    let request = Request { stream: false, ..request() };
    let body = sent(|_| {}, request).await.body;
    assert_eq!(
        body,
        r#"{"messages":[{"role":"user","content":"hi"}],"model":"fake","max_completion_tokens":16384,"stream":false}"#
    );
}

#[tokio::test]
async fn messages_arrive_byte_for_byte() {
    let message =
        "{ \"role\":\"user\" , \"content\":\"\\u00e9 \u{e9} 1e400\", \"n\":1.0000000000000000000001,\"n\":2 }";
    let request = Request { messages: vec![object(message), object(message)], ..request() };
    let body = sent(|_| {}, request).await.body;
    assert!(body.starts_with(&format!("{{\"messages\":[{message},{message}],")), "{body}");
}

#[tokio::test]
async fn options_of_the_request_win_over_arguments_of_the_settings() {
    let request = Request {
        options: Some(r#"{"temperature":1,"seed":7,"stream_options":null,"top_p":null}"#.to_owned()),
        ..request()
    };
    let arguments = json!({"temperature": 0.5, "top_p": 0.1, "max_tokens": 7});
    let body = sent(|settings| settings.completion_args = arguments.as_object().unwrap().clone(), request).await.body;
    assert!(body.ends_with(r#","max_completion_tokens":7,"stream":true,"temperature":1,"seed":7}"#), "{body}");
}

#[tokio::test]
async fn a_value_that_is_not_a_json_object_is_never_spliced_into_the_body() {
    let server = Server::start([Answer::events(&[STOP])]).await;
    for wrong in ["", "[]", "\"x\"", "{", r#"{}],"model":"other","x":[{}"#, "{} {}"] {
        // Messages and schemas are objects by their type.
        let error = RawObject::new(wrong).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidInput, "{wrong}");
        let error = error_of(settings(&server), Request { options: Some(wrong.to_owned()), ..request() }).await;
        assert_eq!(error.kind, ErrorKind::InvalidInput, "{wrong}");
    }
    assert_eq!(&*RawObject::new(" {\"a\": 1}\n").unwrap(), r#"{"a": 1}"#);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn options_cannot_change_the_model_or_the_messages() {
    let server = Server::start([Answer::events(&[STOP])]).await;
    for key in ["model", "messages", "tools", "stream"] {
        let request = Request { options: Some(json!({key: 1}).to_string()), ..request() };
        let error = error_of(settings(&server), request).await;
        assert_eq!(error.kind, ErrorKind::InvalidInput);
        assert_eq!(error.message, format!("the options of the request may not set `{key}`"));
    }
    let mut settings = settings(&server);
    settings.completion_args = json!({"model": "other"}).as_object().unwrap().clone();
    let error = error_of(settings, request()).await;
    assert_eq!(error.kind, ErrorKind::Config);
}

#[tokio::test]
async fn the_request_is_posted_to_chat_completions_with_the_key_and_the_user_agent() {
    let head = sent(|settings| settings.headers.push(("X-Title".to_owned(), "Bub".to_owned())), request()).await.head;
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}\r\n")), "{head}");
    assert!(head.contains("content-type: application/json\r\n"), "{head}");
    assert!(head.contains("x-title: Bub\r\n"), "{head}");
    assert!(head.contains("user-agent: bub-wasm/"), "{head}");
}

#[tokio::test]
async fn a_query_of_the_address_stays_at_its_end() {
    let change = |settings: &mut Settings| {
        let base = settings.api_base.take().unwrap();
        settings.api_base = Some(format!("{base}/?api-version=1#x"));
    };
    let head = sent(change, request()).await.head;
    assert!(head.starts_with("POST /v1/chat/completions?api-version=1 HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn address_and_key_are_found_by_provider_and_the_plain_ones_win() {
    let change = |settings: &mut Settings| {
        settings.model = "My-Cloud:fake".to_owned();
        let base = settings.api_base.take().unwrap();
        settings.bases.insert("my_cloud".to_owned(), base);
        settings.keys.insert("MY-CLOUD".to_owned(), Secret::new("sk-cloud"));
    };
    let head = sent(change, request()).await.head;
    assert!(head.contains(&format!("authorization: Bearer {KEY}\r\n")), "{head}");
    let without = |settings: &mut Settings| {
        change(settings);
        settings.api_key = None;
    };
    let head = sent(without, request()).await.head;
    assert!(head.contains("authorization: Bearer sk-cloud\r\n"), "{head}");
}

#[tokio::test]
async fn a_server_of_ones_own_needs_no_key() {
    let head = sent(|settings| settings.api_key = None, request()).await.head;
    assert!(!head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn a_header_of_the_users_own_wins() {
    let change = |settings: &mut Settings| {
        settings.headers.push(("Authorization".to_owned(), "Basic abc".to_owned()));
        settings.headers.push(("User-Agent".to_owned(), "mine".to_owned()));
    };
    let head = sent(change, request()).await.head;
    assert!(head.contains("authorization: Basic abc\r\n"), "{head}");
    assert!(head.contains("user-agent: mine\r\n"), "{head}");
    assert!(!head.contains(KEY), "{head}");
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_is_named_without_its_value() {
    for (name, value) in [("x y", "v"), ("x-key", "sk-\nsecret"), ("Content-Length", "sk-1")] {
        let mut settings = Settings::new("openai:fake");
        settings.headers.push((name.to_owned(), value.to_owned()));
        let error = Client::new(settings).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Config);
        assert!(error.message.starts_with(&format!("header `{name}` ")), "{error}");
        assert!(!error.message.contains("sk-"), "{error}");
    }
}

#[tokio::test]
async fn missing_settings_are_reported_with_their_variable() {
    let error = error_of(Settings::new("openai:x"), request()).await;
    assert_eq!(error.kind, ErrorKind::Config);
    assert_eq!(
        error.message,
        "model `openai:x`: provider `openai` wants a key: set `OPENAI_API_KEY`, `BUB_OPENAI_API_KEY` or `BUB_API_KEY`"
    );
    let error = error_of(Settings::new("my-cloud:x"), request()).await;
    assert_eq!(error.kind, ErrorKind::Config);
    assert_eq!(
        error.message,
        "model `my-cloud:x`: the address of provider `my-cloud` is not known: set `BUB_MY_CLOUD_API_BASE`"
    );
    let mut settings = Settings::new("openai:x");
    settings.api_base = Some(format!("ftp://{KEY}"));
    let error = error_of(settings, request()).await;
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.ends_with("change `BUB_API_BASE` or `BUB_OPENAI_API_BASE`"), "{error}");
    assert!(!error.message.contains(KEY), "{error}");
}

#[tokio::test]
async fn mistral_gets_only_keys_that_it_knows() {
    let body = sent(|settings| settings.model = "mistral:m".to_owned(), request()).await.body;
    assert!(body.ends_with(r#","model":"m","max_tokens":16384,"stream":true}"#), "{body}");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start([Answer::events(&[STOP])]).await;
    let client = Client::new(settings(&server)).unwrap();
    for _ in 0..3 {
        assert_eq!(ask_with(&client, request()).await.1, None);
        // A task reads the rest after `[DONE]`; the next step of a turn takes longer than this to come.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!((server.seen().len(), server.connections()), (3, 1));
}
