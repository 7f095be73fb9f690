//! Outbound messages: answers and errors.

use crate::bub::types::types::ErrorKind;
use crate::{Envelope, Error, MessageKind};

/// The answer, to the message's channel, with the message's kind.
pub fn answer(message: Envelope, session_id: String, content: String) -> Envelope {
    let kind = message.kind;
    let output_channel = message.output_channel.clone();
    Envelope { session_id: Some(session_id), kind, output_channel, ..reply(message, content) }
}

/// An error, to the channel of the message even if answers go elsewhere. `None` if delivery is pointless: the user has
/// left, or the channel itself is broken.
pub fn failure(stage: &str, error: &Error, message: Envelope) -> Option<Envelope> {
    if stage == "dispatch_outbound" || error.kind == ErrorKind::Cancelled {
        return None;
    }
    // The stage is for the log; the message states the problem and the remedy.
    let content = error.message.clone();
    let session_id = message.session_id.clone();
    Some(Envelope { session_id, kind: MessageKind::Error, ..reply(message, content) })
}

fn reply(message: Envelope, content: String) -> Envelope {
    Envelope {
        id: None,
        session_id: None,
        channel: message.channel,
        chat_id: message.chat_id,
        sender: None,
        content,
        passages: Vec::new(),
        kind: MessageKind::Normal,
        context: Vec::new(),
        media: Vec::new(),
        output_channel: None,
    }
}
