//! An answer, piece by piece.

use super::super::token::Bearer;
use super::super::turns::{Told, follow};
use super::super::{Api, Problem};
use super::{Frame, failed, usage};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bub_gateway::{Answer, Letter};
use bub_types::StreamEvent;
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc;

/// What is still to be said.
struct Telling {
    told: mpsc::Receiver<Told>,
    frame: Frame,
    wants_usage: bool,
    /// Something was said that the answer would only repeat.
    has_said: bool,
    ready: VecDeque<String>,
    is_over: bool,
}

pub(super) async fn streamed(
    api: &Api,
    bearer: &Bearer,
    letter: Letter,
    (frame, wants_usage): (Frame, bool),
) -> Result<Response, Problem> {
    let told = follow(api, bearer, letter).await?;
    let begun = frame.chunk(&json!({ "role": "assistant", "content": "" }), None);
    let ready = VecDeque::from([begun]);
    let telling = Telling { told, frame, wants_usage, has_said: false, ready, is_over: false };
    let events = stream::unfold(telling, async |mut telling| {
        let data = telling.next().await?;
        Some((Ok::<_, Infallible>(Event::default().data(data)), telling))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}

impl Telling {
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            if self.is_over {
                return None;
            }
            match self.told.recv().await {
                Some(Told::Heard(StreamEvent::Text(text))) if !text.is_empty() => {
                    self.has_said = true;
                    return Some(self.frame.chunk(&json!({ "content": text }), None));
                }
                // Tools are the agent's own, and so is what it thinks.
                Some(Told::Heard(_)) => {}
                Some(Told::Ended(answer)) => self.end(&answer),
                // The program ends, or the reader was too slow.
                None => {
                    self.is_over = true;
                    self.ready.push_back(Problem::stopping().json().to_string());
                }
            }
        }
    }

    fn end(&mut self, answer: &Answer) {
        self.is_over = true;
        if let Some(error) = &answer.error {
            self.ready.push_back(failed(error).json().to_string());
            return;
        }
        if !self.has_said && !answer.model_output.is_empty() {
            let said = json!({ "content": answer.model_output });
            self.ready.push_back(self.frame.chunk(&said, None));
        }
        self.ready.push_back(self.frame.chunk(&json!({}), Some("stop")));
        if self.wants_usage {
            self.ready.push_back(self.frame.with(&json!([]), &usage(answer)));
        }
        self.ready.push_back("[DONE]".to_owned());
    }
}

impl Frame {
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
