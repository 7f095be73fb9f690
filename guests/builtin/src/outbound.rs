//! What goes back to the channel: the answer, or what went wrong.

use crate::bub::types::types::ErrorKind;
use crate::{Envelope, Error, MessageKind};

/// The answer, to where the message came from, of the message's kind.
pub fn answer(message: Envelope, session_id: String, content: String) -> Envelope {
    let kind = message.kind;
    let output_channel = message.output_channel.clone();
    Envelope { session_id: Some(session_id), kind, output_channel, ..reply(message, content) }
}

/// An error, to the channel that the message came from, whatever channel answers go to. None where it would
/// help nobody: the person has left, or a broken channel would be told that it is broken.
pub fn failure(stage: &str, error: &Error, message: Envelope) -> Option<Envelope> {
    if stage == "dispatch_outbound" || error.kind == ErrorKind::Cancelled {
        return None;
    }
    // Which stage failed is for the log; the message says what is wrong and what to do.
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
