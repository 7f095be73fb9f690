//! What a call costs: what the provider says, or a guess where it does not.

use super::call::{Account, Exchange};
use crate::model::Event;
use crate::plugin::bindings::{Error, ErrorKind};
use crate::usage::{Call, Tokens};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What stands before the bytes of a picture or a sound in a message. They cost nothing like what text of their length
/// does.
const DATA: &str = ";base64,";

impl Exchange {
    /// The call as it is written down; none when no model was asked, or the one that was asked failed before it had said
    /// anything: that is not charged.
    pub(super) fn bill(&self, account: &Account<'_>, error: Option<&Error>) -> Option<Call> {
        let reported = account.usage.as_deref().and_then(Tokens::reported);
        // Whoever leaves early does not hear what it cost, and it costs all the same.
        let is_charged = error.is_none_or(|error| error.kind == ErrorKind::Cancelled) || account.events > 0;
        if account.model.is_empty() || (reported.is_none() && !is_charged) {
            return None;
        }
        // Held against what was reported, and of no use without.
        let weighed = reported.map_or(0, |_| self.weighed());
        let tokens = reported.unwrap_or_else(|| Tokens::estimated(self.sent(), account.received));
        let call = Call::now(
            &account.model,
            self.turn.billed_session(),
            &self.turn.workspace.to_string_lossy(),
            &self.caller.name,
            &self.request.purpose,
            tokens,
        );
        Some(call.weighed(weighed))
    }

    /// The request as it is estimated, by the measure that selectors have too.
    fn weighed(&self) -> u64 {
        let message =
            |message: &String| serde_json::from_str(message).map_or(0, |message| gist::chat::message(&message));
        let tools = self.tools.iter();
        let tools = tools.map(|tool| gist::chat::tool(&tool.name, &tool.description, &tool.parameters));
        self.request.messages.iter().map(message).chain(tools).sum()
    }

    /// Bytes of the request's texts.
    fn sent(&self) -> u64 {
        let messages = self.request.messages.iter().map(|message| text_bytes(message));
        let tools = self.tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.parameters.len());
        messages.chain(tools).map(|bytes| bytes as u64).sum()
    }
}

/// Bytes that a model made for an event.
pub(super) fn weight(event: &Event) -> u64 {
    let bytes = match event {
        Event::Text(text) | Event::Reasoning(text) => text.len(),
        Event::ToolCalls(calls) => calls.iter().map(|call| call.name.len() + call.arguments.len()).sum(),
        Event::Usage(_) | Event::Finish(_) => 0,
    };
    bytes as u64
}

/// Bytes of a message in JSON, without those of data that stands in it.
fn text_bytes(mut message: &str) -> usize {
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(DATA));
    let mut bytes = 0;
    while let Some(at) = FINDER.find(message.as_bytes()) {
        bytes += at;
        let data = message.get(at + DATA.len()..).unwrap_or_default();
        message = data.find('"').and_then(|end| data.get(end..)).unwrap_or_default();
    }
    bytes + message.len()
}
