//! Parsing of answers.

use std::time::Duration;

use serde_json::json;

use bub_model::{Client, Event, Request, ToolCall};

use super::server::{Answer, Server};
use super::{STOP, ask, chunk, finish, request, settings, text};

async fn told(answer: Answer, request: Request) -> Vec<Event> {
    let server = Server::start([answer]).await;
    let (events, error) = ask(settings(&server), request).await;
    assert_eq!(error, None);
    events
}

/// The calls told for those `tool_calls` lists, one chunk each.
async fn calls(lists: &[serde_json::Value]) -> Vec<ToolCall> {
    let chunks: Vec<String> =
        lists.iter().map(|list| json!({"choices": [{"delta": {"tool_calls": list}}]}).to_string()).collect();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    match told(Answer::events(&chunks), request()).await.remove(0) {
        Event::ToolCalls(calls) => calls,
        other => panic!("{other:?}"),
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: Some(id.to_owned()), name: name.to_owned(), arguments: arguments.to_owned() }
}

#[tokio::test]
async fn text_comes_as_it_is_made_then_calls_then_usage_then_the_reason() {
    let answer = Answer::events(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Let me think."}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}"#,
        &chunk("Hel"),
        &chunk("lo"),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":974,"x":1.50,"completion_tokens":4,"total_tokens":978,"prompt_tokens_details":{"cached_tokens":0}}}"#,
    ]);
    assert_eq!(
        told(answer, request()).await,
        [
            Event::Reasoning("Let me think.".to_owned()),
            text("Hel"),
            text("lo"),
            Event::ToolCalls(vec![call("c", "f", "{}")]),
            Event::Usage(r#"{"completion_tokens":4,"prompt_tokens":974,"total_tokens":978,"x":1.50,"prompt_tokens_details":{"cached_tokens":0}}"#.to_owned()),
            finish("tool_calls"),
        ]
    );
}

#[tokio::test]
async fn a_whole_answer_gives_events_in_the_same_order() {
    let body = json!({
        "choices": [{
            "message": {
                "content": "Hello",
                "reasoning": "Hm",
                "tool_calls": [{"function": {"name": "a", "arguments": "{\"x\":1}"}}, {"function": {"name": "b"}}],
            },
            "finish_reason": "tool_calls",
        }],
        "usage": {"prompt_tokens": 1},
    });
    let wanted = [
        Event::Reasoning("Hm".to_owned()),
        text("Hello"),
        Event::ToolCalls(vec![call("call_0", "a", "{\"x\":1}"), call("call_1", "b", "{}")]),
        Event::Usage(r#"{"prompt_tokens":1}"#.to_owned()),
        finish("tool_calls"),
    ];
    let answer = Answer::json(200, &body.to_string());
    let whole = Request { stream: false, ..request() };
    assert_eq!(told(answer.clone(), whole).await, wanted);
    // A server that does not stream although it was asked to.
    assert_eq!(told(answer, request()).await, wanted);
}

#[tokio::test]
async fn a_stream_is_read_as_a_stream_even_if_it_was_not_requested() {
    let whole = Request { stream: false, ..request() };
    let events = told(Answer::events(&[&chunk("hi"), STOP]), whole).await;
    assert_eq!(events, [text("hi"), finish("stop")]);
}

#[tokio::test]
async fn line_ends_comments_and_names_of_events_do_not_matter() {
    let body = format!(": waiting\r\n\r\nevent: message\r\ndata:{}\r\n\r\ndata: {STOP}\r\n\r\n", chunk("h\u{e9}"));
    assert_eq!(told(Answer::cut(&body), request()).await, [text("h\u{e9}"), finish("stop")]);
}

#[tokio::test]
async fn a_list_of_parts_is_read_as_its_text() {
    let parts = r#"{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}"#;
    assert_eq!(told(Answer::events(&[parts]), request()).await, [text("ab"), finish("stop")]);
}

#[tokio::test]
async fn either_sign_of_the_end_is_enough() {
    let only_done = Answer::events(&[&chunk("hi")]);
    assert_eq!(told(only_done, request()).await, [text("hi"), finish("stop")]);
    let only_reason = Answer::cut(&format!("data: {}\n\ndata: {STOP}\n\n", chunk("hi")));
    assert_eq!(told(only_reason, request()).await, [text("hi"), finish("stop")]);
}

#[tokio::test]
async fn a_name_sent_again_is_not_appended_and_the_last_id_counts() {
    let piece = |id: &str, arguments: &str| json!([{"index": 0, "id": id, "function": {"name": "bash", "arguments": arguments}}]);
    assert_eq!(calls(&[piece("a", "{\"x\""), piece("b", ":1}")]).await, [call("b", "bash", "{\"x\":1}")]);
}

#[tokio::test]
async fn calls_without_an_index_are_distinguished_by_id_and_position() {
    let lists = [
        json!([{"id": "a", "function": {"name": "f", "arguments": "{"}}]),
        json!([{"function": {"arguments": "}"}}]),
        json!([{"id": "b", "function": {"name": "g", "arguments": {"x": 1}}}]),
    ];
    assert_eq!(calls(&lists).await, [call("a", "f", "{}"), call("b", "g", "{\"x\":1}")]);
    let together = [json!([{"function": {"name": "f"}}, {"function": {"name": "g"}}])];
    assert_eq!(calls(&together).await, [call("call_0", "f", "{}"), call("call_1", "g", "{}")]);
}

#[tokio::test]
async fn a_huge_index_costs_nothing_and_keeps_its_order() {
    let lists =
        [json!([{"index": u64::MAX, "function": {"name": "b"}}]), json!([{"index": 0, "function": {"name": "a"}}])];
    let last = format!("call_{}", u64::MAX);
    assert_eq!(calls(&lists).await, [call("call_0", "a", "{}"), call(&last, "b", "{}")]);
}

#[tokio::test]
async fn dropping_the_completion_ends_the_request() {
    let server = Server::start([Answer::hang(&format!("data: {}\n\n", chunk("hi")))]).await;
    let client = Client::new(settings(&server)).unwrap();
    let mut completion = client.complete(request());
    assert_eq!(completion.next().await, Some(Ok(text("hi"))));
    drop(completion);
    for _ in 0..200 {
        if server.left() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the connection stayed open");
}

#[tokio::test]
async fn no_event_follows_the_end() {
    let server = Server::start([Answer::events(&[STOP])]).await;
    let client = Client::new(settings(&server)).unwrap();
    let mut completion = client.complete(request());
    assert_eq!(completion.next().await, Some(Ok(finish("stop"))));
    assert_eq!(completion.next().await, None);
    assert_eq!(completion.next().await, None);
}
