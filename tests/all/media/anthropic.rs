//! Media in requests to Anthropic's API, and media that it does not accept.

use super::{PDF, PNG, encoded, home_with_picture, put, say, wav};
use bub_tests::{Answer, Home, Run, Server};
use serde_json::{Value, json};

/// A stream that says `ok`.
fn ok() -> Answer {
    let events = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    Answer::Whole(200, "text/event-stream", events.iter().map(event).collect())
}

fn run<'home>(home: &'home Home, server: &Server, arguments: &[&str]) -> Run<'home> {
    home.run(arguments.iter().copied())
        .env("BUB_MODEL", "anthropic:fake")
        .env("BUB_ANTHROPIC_API_KEY", "sk-ant-fake")
        .env("BUB_ANTHROPIC_API_BASE", server.base())
}

#[test]
fn pictures_and_documents_become_blocks_in_this_turn_and_the_next() {
    let home = home_with_picture();
    put(&home, "r.pdf", PDF);
    put(&home, "n.md", b"# notes");
    let server = Server::new([ok(), ok()]);
    let address = "https://example.com/b.webp";
    let attached = ["look", "--attach", "dot.png", "--attach", "r.pdf", "--attach", "n.md", "--attach", address];
    run(&home, &server, &attached).finish().says("[cli:local]\nok\n");
    run(&home, &server, &["and?"]).finish().says("[cli:local]\nok\n");

    let base64 = |kind: &str, bytes: &[u8]| json!({"type": "base64", "media_type": kind, "data": encoded(bytes)});
    let expected = [
        json!({"type": "image", "source": base64("image/png", PNG)}),
        json!({"type": "document", "source": base64("application/pdf", PDF), "title": "r.pdf"}),
        json!({
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "# notes"},
            "title": "n.md",
        }),
        json!({"type": "image", "source": {"type": "url", "url": address}}),
    ];
    for request in server.requests() {
        let mut content = request.messages()[0]["content"].as_array().cloned().expect("a list of blocks");
        // Where the server caches is another matter.
        content.iter_mut().filter_map(Value::as_object_mut).for_each(|block| {
            block.remove("cache_control");
        });
        assert_eq!(content.get(1..), Some(&expected[..]));
    }
}

#[test]
fn audio_is_rejected_in_the_current_message_and_omitted_from_earlier_ones() {
    let home = home_with_picture();
    put(&home, "a.wav", &wav());
    let server = Server::new([ok()]);
    let refused = run(&home, &server, &["listen", "--attach", "a.wav"]).finish();
    refused.fails("model `anthropic:fake`: message 1 holds audio, which this provider does not accept");
    assert!(server.requests().is_empty());

    let other = Server::new([Answer::text("a click")]);
    say(&home, &other, "listen", &["a.wav"]).says("[cli:local]\na click\n");
    run(&home, &server, &["and now?"]).finish().says("[cli:local]\nok\n");
    let said = server.requests()[0].messages()[0]["content"].to_string();
    assert!(said.contains("[left out: this message holds audio, which this provider does not accept]"), "{said}");
}
