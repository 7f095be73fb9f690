//! Model calls that no recording answers, asked of a model, where the user wants that.

use bub_model::usage::Tokens;
use bub_model::{Client, Error, Event, Request};
use bub_types::text::hex;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Arc;

/// The import that asks a model, and the one that reads its answer.
pub(crate) const COMPLETE: &str = "bub:model/chat.complete";
pub(crate) const NEXT: &str = "bub:model/chat.completion.next";

/// Asks a model what was not asked when a turn was recorded. The same question is asked once.
pub struct LiveModel {
    client: Client,
    /// The model, where a request names none.
    model: String,
    max_calls: usize,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    answers: HashMap<String, Arc<LiveAnswer>>,
    calls: Vec<Arc<LiveAnswer>>,
}

/// A model call that was made.
#[derive(Debug, Clone)]
pub struct LiveAnswer {
    /// The model.
    pub model: String,
    /// What it answered.
    pub events: Vec<Event>,
    /// Why the answer ended early, if it did.
    pub error: Option<Error>,
    /// The tokens that it used: as its provider says, or a guess.
    pub tokens: Tokens,
}

impl LiveModel {
    /// Asks that client, so often at most. `model` is asked where a request names none.
    pub fn new(client: Client, model: String, max_calls: usize) -> Self {
        Self { client, model, max_calls, asked: Mutex::default() }
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<Arc<LiveAnswer>> {
        self.asked.lock().calls.clone()
    }

    /// The answer to the request; none if no more calls may be made. `key` stands for the whole of it.
    pub(crate) async fn ask(&self, key: &str, mut request: Request) -> Option<Arc<LiveAnswer>> {
        let key = hex(&Sha256::digest(key));
        {
            let asked = self.asked.lock();
            if let Some(known) = asked.answers.get(&key) {
                return Some(known.clone());
            }
            if asked.calls.len() >= self.max_calls {
                return None;
            }
        }
        let model = request.model.get_or_insert_with(|| self.model.clone()).clone();
        let mut sent: usize = request.messages.iter().map(|message| message.len()).sum();
        sent += request.tools.iter().map(|tool| tool.written().len()).sum::<usize>();
        let (mut events, mut error, mut received) = (Vec::new(), None, 0);
        let mut completion = self.client.complete(request);
        while let Some(event) = completion.next().await {
            match event {
                Ok(event) => {
                    received += length(&event);
                    events.push(event);
                }
                Err(failed) => error = Some(failed),
            }
        }
        let reported = events.iter().find_map(|event| match event {
            Event::Usage(usage) => Tokens::reported(usage),
            _ => None,
        });
        // A server that refused has charged nothing.
        let is_charged = error.is_none() || !events.is_empty();
        let guess = if is_charged { Tokens::estimated(sent as u64, received) } else { Tokens::default() };
        let answer = Arc::new(LiveAnswer { model, events, error, tokens: reported.unwrap_or(guess) });
        let mut asked = self.asked.lock();
        asked.answers.insert(key, answer.clone());
        asked.calls.push(answer.clone());
        Some(answer)
    }
}

impl LiveAnswer {
    /// Its text.
    pub fn text(&self) -> String {
        let text = |event: &Event| if let Event::Text(text) = event { Some(text.clone()) } else { None };
        self.events.iter().filter_map(text).collect()
    }

    /// The names of the tools that it calls.
    pub fn tools(&self) -> Vec<String> {
        let calls = self.events.iter().filter_map(|event| match event {
            Event::ToolCalls(calls) => Some(calls),
            _ => None,
        });
        calls.flatten().map(|call| call.name.clone()).collect()
    }
}

fn length(event: &Event) -> u64 {
    let length = match event {
        Event::Text(text) | Event::Reasoning(text) => text.len(),
        Event::ToolCalls(calls) => calls.iter().map(|call| call.name.len() + call.arguments.len()).sum(),
        Event::Usage(_) | Event::Finish(_) => 0,
    };
    length as u64
}
