//! Anthropic's Messages API, against a server on loopback that speaks it.

mod answers;
mod bodies;
mod failures;
mod media;
mod options;
mod sent;

use std::sync::Arc;

use serde_json::Value;

use bub_model::{Request, Settings, ToolSpec};

use bub_test_support::anthropic::*;

use super::object;
use super::server::{Answer, Server};

/// Settings that ask `server` as `anthropic:fake`.
fn settings(server: &Server) -> Settings {
    Settings { model: "anthropic:fake".to_owned(), ..super::settings(server) }
}

/// A stream of events, each under its own name, as the API sends them.
fn events(events: &[Value]) -> Answer {
    Answer::new(200, "content-type: text/event-stream; charset=utf-8\r\n", &stream(events))
}

/// The request of these messages.
fn asked(messages: &[Value]) -> Request {
    Request {
        messages: messages.iter().map(|message| object(&message.to_string())).collect(),
        stream: true,
        ..Request::default()
    }
}

fn tool(name: &str) -> Arc<ToolSpec> {
    Arc::new(ToolSpec::new(name.to_owned(), "Does it".to_owned(), object(r#"{"type":"object"}"#)))
}

/// The body that arrives for `request`.
async fn body(request: Request) -> Value {
    body_of(|_| {}, request).await
}

async fn body_of(change: impl FnOnce(&mut Settings), request: Request) -> Value {
    let server = Server::start([events(&words("ok"))]).await;
    let mut settings = settings(&server);
    change(&mut settings);
    let (_, error) = super::ask(settings, request).await;
    assert_eq!(error, None);
    serde_json::from_str(&server.seen()[0].body).unwrap()
}
