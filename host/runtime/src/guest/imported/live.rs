//! A model call of a playback that its recording does not answer, asked of a model.

use super::crosses::Crosses;
use crate::guest::bindings::exchange;
use crate::guest::convert::{into_error, into_guest};
use crate::plugin::Offer;
use crate::plugin::recording::{COMPLETE, CallRecording, ImportCall, LiveModel, NEXT};
use bub_model::{RawObject, Request};
use bub_recordings::{Mark, Packed};
use bub_types::Error;
use serde_json::Value;
use std::sync::Arc;

type Next = std::result::Result<Option<exchange::Event>, Error>;

/// Asks the model. What is read of its answer is then among what the recording holds.
pub(super) async fn ask(live: &LiveModel, recording: &CallRecording, arguments: &[Value]) {
    let asked = arguments.last().and_then(|asked| Some((asked.to_string(), request(asked)?)));
    let Some((key, request)) = asked else { return };
    let Some(answer) = live.ask(&key, request).await else { return };
    let read = |next: Next| {
        let mut packed = Packed::default();
        next.pack(&mut packed);
        let answer = packed.read(Mark::default()).value();
        ImportCall { function: NEXT.to_owned(), arguments: vec![super::crosses::HANDLE.into()], answer }
    };
    let events = answer.events.iter().cloned().map(|event| read(Ok(Some(into_guest(event)))));
    let end = match answer.error.clone() {
        None => read(Ok(None)),
        Some(error) => read(Err(into_error(error))),
    };
    let asked = ImportCall {
        function: COMPLETE.to_owned(),
        arguments: arguments.to_vec(),
        answer: serde_json::json!({ "ok": super::crosses::HANDLE }),
    };
    recording.answer_live(std::iter::once(asked).chain(events).chain([end]).collect());
}

/// The request as it was shown; none if it is not one.
fn request(asked: &Value) -> Option<Request> {
    let request: exchange::Request = serde_json::from_value(asked.clone()).ok()?;
    let messages = request.messages.iter().map(|message| RawObject::new(message)).collect::<Result<_, _>>().ok()?;
    let tools = request.tools.iter().map(|tool| Offer::new(tool).map(|offer| Arc::clone(&offer.spec)));
    Some(Request {
        model: request.model,
        messages,
        tools: tools.collect::<Result<_, _>>().ok()?,
        max_tokens: request.max_tokens.map(u64::from),
        options: request.options,
        stream: true,
    })
}
