//! Conversion of images and files.

use serde_json::{Value, json};

use bub_model::{ErrorKind, Request};

use super::super::{error_of, object};
use super::{Server, asked, body, events, settings, words};

fn holding(part: Value) -> Request {
    asked(&[
        json!({"role": "user", "content": "look"}),
        json!({"role": "user", "content": [part, {"type": "text", "text": "?"}]}),
    ])
}

#[tokio::test]
async fn images_and_documents_are_sent_as_blocks() {
    let base64 = |kind: &str, data: &str| json!({"type": "base64", "media_type": kind, "data": data});
    let url = |url: &str| json!({"type": "url", "url": url});
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url, "detail": "low"}});
    let file = |data: &str| json!({"type": "file", "file": {"file_data": data, "filename": "a"}});
    let table = [
        (image("data:image/png;base64,AAAA"), json!({"type": "image", "source": base64("image/png", "AAAA")})),
        (
            image("DATA:image/JPG;charset=x;base64,AAAA"),
            json!({"type": "image", "source": base64("image/jpeg", "AAAA")}),
        ),
        (
            json!({"type": "image_url", "image_url": "https://h/a"}),
            json!({"type": "image", "source": url("https://h/a")}),
        ),
        (image("http://h/a.png?x=.pdf"), json!({"type": "image", "source": url("http://h/a.png?x=.pdf")})),
        (image("https://h/a.PDF?x"), json!({"type": "document", "source": url("https://h/a.PDF?x")})),
        (
            file("data:application/pdf;base64,AAAA"),
            json!({"type": "document", "source": base64("application/pdf", "AAAA"), "title": "a"}),
        ),
        (file("https://h/a"), json!({"type": "document", "source": url("https://h/a"), "title": "a"})),
        (
            file("data:text/plain;base64,aMOp"),
            json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "h\u{e9}"}, "title": "a"}),
        ),
        (
            json!({"type": "image", "source": url("https://h/a"), "cache_control": {"type": "ephemeral"}}),
            json!({"type": "image", "source": url("https://h/a")}),
        ),
    ];
    for (part, wanted) in table {
        let body = body(holding(part.clone())).await;
        assert_eq!(body["messages"][0]["content"][1], wanted, "{part}");
    }
}

#[tokio::test]
async fn a_tool_may_answer_with_an_image() {
    let call = json!({"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let body = body(asked(&[
        json!({"role": "user", "content": "look"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "x", "content": [image]}),
    ]))
    .await;
    let source = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
    assert_eq!(body["messages"][2]["content"][0]["content"], json!([{"type": "image", "source": source}]));
}

#[tokio::test]
async fn a_message_that_cannot_be_sent_is_reported_by_its_number() {
    let table = [
        (
            json!({"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}),
            "holds audio, which this provider does not accept",
        ),
        (
            json!({"type": "video_url", "video_url": {"url": "https://h/a"}}),
            "holds video, which this provider does not accept",
        ),
        (
            json!({"type": "file", "file": {"file_id": "f"}}),
            "names a file by its id, which this provider does not have: send its data",
        ),
        (json!({"type": "image_url"}), "has an image without an address"),
        (
            json!({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}),
            "has a file that is neither a web address nor base64 in a `data:` URL",
        ),
        (
            json!({"type": "image_url", "image_url": {"url": "data:image/png,AA"}}),
            "has a file that is neither a web address nor base64 in a `data:` URL",
        ),
        (
            json!({"type": "file", "file": {"file_data": "data:text/plain;base64,!"}}),
            "has a file that is not valid base64",
        ),
        (
            json!({"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,AA"}}),
            "holds a file of the type `image/svg+xml`: this provider takes JPEG, PNG, GIF, WebP, PDF and plain text",
        ),
        (json!({"type": "smell\n"}), "has a part of the type `smell\\n`, which this provider does not support"),
        (json!(7), "has a part that is not a JSON object"),
    ];
    for (part, what) in table {
        let server = Server::start([events(&words("ok"))]).await;
        let error = error_of(settings(&server), holding(part)).await;
        assert_eq!(error.kind, ErrorKind::InvalidInput);
        assert_eq!(error.message, format!("model `anthropic:fake`: message 1 {what}"));
        assert_eq!(server.connections(), 0);
    }
}

#[tokio::test]
async fn invalid_messages_are_reported() {
    let deep = format!(r#"{{"role":"user","content":{}1{}}}"#, "[".repeat(500), "]".repeat(500));
    for (message, what) in [
        (
            r#"{"role":"narrator","content":"a"}"#.to_owned(),
            "has the role `narrator`, which this provider does not support",
        ),
        (r#"{"content":"a"}"#.to_owned(), "has the role ``, which this provider does not support"),
        (r#"{"role":"user","content":7}"#.to_owned(), "has a content that is neither a text nor a list of parts"),
        (deep, "is nested too deep"),
    ] {
        let server = Server::start([events(&words("ok"))]).await;
        let error =
            error_of(settings(&server), Request { messages: vec![object(&message)], ..Request::default() }).await;
        assert_eq!(error.kind, ErrorKind::InvalidInput);
        assert_eq!(error.message, format!("model `anthropic:fake`: message 0 {what}"));
    }
}
