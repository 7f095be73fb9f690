//! A single model call.

use crate::MODEL;
use bub_guest::model::{Event, Request};
use bub_guest::turn::{StreamEvent, ToolCall};
use bub_guest::{Result, Turn, log};

#[derive(Default)]
pub struct Answer {
    pub text: String,
    /// Each with an id.
    pub calls: Vec<ToolCall>,
    /// As the provider reports it, a JSON object.
    pub usage: Option<String>,
}

/// Calls the model and forwards events as they arrive. Text is also appended to `said`, which keeps it if the call
/// fails.
pub fn ask(turn: &Turn, request: &Request, said: &mut String) -> Result<Answer> {
    let completion = MODEL.complete(turn, request)?;
    let mut answer = Answer::default();
    while let Some(event) = completion.next()? {
        match event {
            Event::Text(text) if text.is_empty() => {}
            Event::Text(text) => {
                answer.text.push_str(&text);
                said.push_str(&text);
                turn.emit(&StreamEvent::Text(text))?;
            }
            Event::Reasoning(text) => turn.emit(&StreamEvent::Reasoning(text))?,
            Event::ToolCalls(mut calls) => {
                identify(&mut calls, answer.calls.len());
                answer.calls.extend(calls.iter().cloned());
                turn.emit(&StreamEvent::ToolCalls(calls))?;
            }
            Event::Usage(usage) => {
                turn.emit(&StreamEvent::Usage(usage.clone()))?;
                answer.usage = Some(usage);
            }
            Event::Finish(reason) if reason == "length" || reason == "content_filter" => {
                log::warn(format!("the model did not finish its answer: `{reason}`"));
            }
            Event::Finish(_) => {}
        }
    }
    Ok(answer)
}

/// Results are matched to calls by id.
fn identify(calls: &mut [ToolCall], before: usize) {
    for (index, call) in calls.iter_mut().enumerate() {
        call.id.get_or_insert_with(|| format!("call_{}", before + index));
    }
}
