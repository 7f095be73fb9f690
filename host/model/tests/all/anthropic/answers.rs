//! Parsing of answers.

use serde_json::{Value, json};

use bub_model::{Client, Event, Request, ToolCall};

use super::super::{ask, ask_with, finish, request, text};
use super::{Answer, Server, begin, call, delta, end, events, said, settings, start, stop, stream, words};

const USAGE: &str = r#"{"completion_tokens":25,"prompt_tokens":3210,"total_tokens":3235,"prompt_tokens_details":{"cached_tokens":3000,"cache_creation_tokens":200}}"#;

fn usage() -> Event {
    Event::Usage(USAGE.to_owned())
}

async fn told(answer: Answer, request: Request) -> Vec<Event> {
    let server = Server::start([answer]).await;
    let (events, error) = ask(settings(&server), request).await;
    assert_eq!(error, None);
    events
}

fn called(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: Some(id.to_owned()), name: name.to_owned(), arguments: arguments.to_owned() }
}

/// Thinking, words and two calls.
fn everything() -> Vec<Value> {
    let json = |index, piece: &str| delta(index, json!({"type": "input_json_delta", "partial_json": piece}));
    let events = vec![
        start(),
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "Let me think."})),
        delta(0, json!({"type": "signature_delta", "signature": "EqQB"})),
        end(0),
        begin(1, json!({"type": "redacted_thinking", "data": "x"})),
        end(1),
        begin(2, json!({"type": "text", "text": ""})),
        said(2, "Hel"),
        said(2, "l\u{f6}"),
        end(2),
        begin(3, json!({"type": "tool_use", "id": "toolu_a", "name": "fs_read", "input": {}})),
        json(3, ""),
        json(3, "{\"path\": \"\u{e9}"),
        json(3, "\", \"n\": 1.50}"),
        end(3),
        begin(4, json!({"type": "tool_use", "id": "toolu_b", "name": "g", "input": {}})),
        end(4),
        json!({"type": "something_new", "index": 4}),
        begin(5, json!({"type": "something_new"})),
    ];
    [events, stop("tool_use")].concat()
}

fn everything_told() -> Vec<Event> {
    vec![
        Event::Reasoning("Let me think.".to_owned()),
        text("Hel"),
        text("l\u{f6}"),
        Event::ToolCalls(vec![
            called("toolu_a", "fs_read", "{\"path\": \"\u{e9}\", \"n\": 1.50}"),
            called("toolu_b", "g", "{}"),
        ]),
        usage(),
        finish("tool_calls"),
    ]
}

#[tokio::test]
async fn a_stream_gives_events_in_the_common_order() {
    assert_eq!(told(events(&everything()), request()).await, everything_told());
}

#[tokio::test]
async fn it_does_not_matter_where_packets_end() {
    assert_eq!(told(events(&everything()).dribbled(), request()).await, everything_told());
}

#[tokio::test]
async fn a_truncated_stream_is_retried_or_reported() {
    let whole = stream(&everything());
    let behind = |text: &str| whole.find(text).and_then(|at| Some(at + whole[at..].find("\n\n")? + 2)).unwrap();
    // The first event that is emitted, and the one with the stop reason.
    let (heard, finished) = (behind("Let me think."), behind("event: message_delta"));
    let full = everything_told();
    let cuts: Vec<usize> = (0..whole.len()).filter(|at| whole.is_char_boundary(*at)).collect();
    // Two answers for each cut. The second is asked for by the client, or else by the test.
    let server = Server::start(cuts.iter().flat_map(|at| [Answer::cut(&whole[..*at]), events(&everything())])).await;
    let client = Client::new(settings(&server)).unwrap();
    for (number, at) in cuts.into_iter().enumerate() {
        let (events, error) = ask_with(&client, request()).await;
        // An event is emitted once: the client retries only before the first event.
        let requests = server.requests() - 2 * number;
        assert_eq!(requests, if at < heard { 2 } else { 1 }, "at {at}");
        match error {
            None => assert_eq!(events, full, "at {at}"),
            Some(error) => {
                assert!(error.message.ends_with("broke off in the middle of its answer"), "at {at}: {error}");
                assert!(full.starts_with(&events), "at {at}: {events:?}");
                assert!((heard..finished).contains(&at), "at {at}");
            }
        }
        if requests == 1 {
            assert_eq!(ask_with(&client, request()).await, (full.clone(), None), "behind {at}");
        }
    }
}

#[tokio::test]
async fn a_whole_message_gives_events_in_the_same_order() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "fake",
        "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "x"},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "toolu_a", "name": "f", "input": {"n": 1.5}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 4, "output_tokens_details": {"thinking_tokens": 2}},
    });
    let wanted = [
        Event::Reasoning("Hm".to_owned()),
        text("Hello"),
        Event::ToolCalls(vec![called("toolu_a", "f", r#"{"n":1.5}"#)]),
        Event::Usage(r#"{"completion_tokens":4,"prompt_tokens":3,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":0,"cache_creation_tokens":0},"completion_tokens_details":{"reasoning_tokens":2}}"#.to_owned()),
        finish("tool_calls"),
    ];
    let answer = Answer::json(200, &body.to_string());
    assert_eq!(told(answer.clone(), Request { stream: false, ..request() }).await, wanted);
    assert_eq!(told(answer, request()).await, wanted);
}

#[tokio::test]
async fn reasons_have_the_names_that_they_have_elsewhere() {
    for (theirs, ours) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause_turn"),
    ] {
        let answer = events(&[vec![start()], stop(theirs)].concat());
        assert_eq!(told(answer, request()).await, [usage(), finish(ours)]);
    }
}

#[tokio::test]
async fn a_later_count_overrides_only_the_fields_that_it_has() {
    let mut late = stop("end_turn");
    late[0]["usage"] = json!({"output_tokens": 7, "input_tokens": 11, "cache_read_input_tokens": null});
    let events = told(events(&[vec![start()], late].concat()), request()).await;
    let Event::Usage(usage) = &events[0] else { panic!("{events:?}") };
    let usage: Value = serde_json::from_str(usage).unwrap();
    assert_eq!((&usage["prompt_tokens"], &usage["total_tokens"]), (&json!(3211), &json!(3218)));
}

#[tokio::test]
async fn the_connection_is_reused_after_the_last_event() {
    let server = Server::start([events(&words("hi"))]).await;
    let client = Client::new(settings(&server)).unwrap();
    for _ in 0..3 {
        assert_eq!(ask_with(&client, request()).await.1, None);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!((server.seen().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn the_last_event_is_not_followed_by_a_wait() {
    let server = Server::start([Answer::hang(&stream(&call("toolu_a", "f", &["{}"])))]).await;
    let (events, error) = ask(settings(&server), request()).await;
    assert_eq!((events.last(), error), (Some(&finish("tool_calls")), None));
}
