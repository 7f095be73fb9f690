//! The room of the models, against a real server on loopback that says what each test wants to hear.

mod answers;
mod anthropic;
mod failures;
mod requests;
mod server;
mod tables;

use std::time::Duration;

use bub_model::{Client, Error, Event, RawObject, Request, Secret, Settings};

use server::Server;

const KEY: &str = "sk-very-secret";

/// Settings that ask `server` as `openai:fake` and lose no time between requests.
fn settings(server: &Server) -> Settings {
    Settings {
        api_key: Some(Secret::new(KEY)),
        api_base: Some(server.base()),
        retry_delay: Duration::from_millis(1),
        ..Settings::new("openai:fake")
    }
}

fn request() -> Request {
    Request { messages: vec![object(r#"{"role":"user","content":"hi"}"#)], stream: true, ..Request::default() }
}

fn object(text: &str) -> RawObject {
    RawObject::new(text).expect("an object")
}

/// All events up to the end, and the error if that was the end.
async fn ask(settings: Settings, request: Request) -> (Vec<Event>, Option<Error>) {
    let client = Client::new(settings).expect("the settings are good");
    ask_with(&client, request).await
}

async fn ask_with(client: &Client, request: Request) -> (Vec<Event>, Option<Error>) {
    let mut completion = client.complete(request);
    let mut events = Vec::new();
    while let Some(next) = completion.next().await {
        match next {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

/// The error of a request that failed before the first event.
async fn error_of(settings: Settings, request: Request) -> Error {
    let (events, error) = ask(settings, request).await;
    assert_eq!(events, []);
    error.expect("the request fails")
}

fn text(text: &str) -> Event {
    Event::Text(text.to_owned())
}

fn finish(reason: &str) -> Event {
    Event::Finish(reason.to_owned())
}

/// One chunk of a stream that says `text`.
fn chunk(text: &str) -> String {
    serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string()
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
