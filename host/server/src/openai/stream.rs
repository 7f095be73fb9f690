//! A response as a stream of chunks.

use super::super::token::Bearer;
use super::super::turns::{TurnUpdate, follow};
use super::super::{Api, ApiError};
use super::{ResponseHeader, turn_failed, usage};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bub_gateway::{Submission, TurnOutcome};
use bub_types::StreamEvent;
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc;

/// The state of a stream.
struct ChunkStream {
    updates: mpsc::Receiver<TurnUpdate>,
    header: ResponseHeader,
    wants_usage: bool,
    /// Whether text was sent, which the outcome would repeat.
    has_text: bool,
    ready: VecDeque<String>,
    has_ended: bool,
}

pub(super) async fn streamed(
    api: &Api,
    bearer: &Bearer,
    submission: Submission,
    (header, wants_usage): (ResponseHeader, bool),
) -> Result<Response, ApiError> {
    let updates = follow(api, bearer, submission).await?;
    let first = header.chunk(&json!({ "role": "assistant", "content": "" }), None);
    let ready = VecDeque::from([first]);
    let chunks = ChunkStream { updates, header, wants_usage, has_text: false, ready, has_ended: false };
    let events = stream::unfold(chunks, async |mut chunks| {
        let data = chunks.next().await?;
        Some((Ok::<_, Infallible>(Event::default().data(data)), chunks))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}

impl ChunkStream {
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            if self.has_ended {
                return None;
            }
            match self.updates.recv().await {
                Some(TurnUpdate::Event(StreamEvent::Text(text))) if !text.is_empty() => {
                    self.has_text = true;
                    return Some(self.header.chunk(&json!({ "content": text }), None));
                }
                // Tool calls and reasoning are internal to the agent.
                Some(TurnUpdate::Event(_)) => {}
                Some(TurnUpdate::Ended(outcome)) => self.end(&outcome),
                // The process stops, or the reader was too slow.
                None => {
                    self.has_ended = true;
                    self.ready.push_back(ApiError::stopping().to_json().to_string());
                }
            }
        }
    }

    fn end(&mut self, outcome: &TurnOutcome) {
        self.has_ended = true;
        if let Some(error) = &outcome.error {
            self.ready.push_back(turn_failed(error).to_json().to_string());
            return;
        }
        if !self.has_text && !outcome.model_output.is_empty() {
            let text = json!({ "content": outcome.model_output });
            self.ready.push_back(self.header.chunk(&text, None));
        }
        self.ready.push_back(self.header.chunk(&json!({}), Some("stop")));
        if self.wants_usage {
            self.ready.push_back(self.header.with(&json!([]), &usage(outcome)));
        }
        self.ready.push_back("[DONE]".to_owned());
    }
}

impl ResponseHeader {
    fn chunk(&self, delta: &Value, finish: Option<&str>) -> String {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        self.with(&json!([choice]), &Value::Null)
    }

    fn with(&self, choices: &Value, usage: &Value) -> String {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": usage,
        })
        .to_string()
    }
}
