//! Outbound messages: answers and errors.

use bub_guest::{Envelope, Error, ErrorKind, MessageKind, Result, Turn};

/// The answer, to the message's channel, with the message's kind.
pub fn of_turn(turn: &Turn, output: String) -> Result<Vec<Envelope>> {
    let message = turn.message();
    let kind = message.kind;
    let output_channel = message.output_channel.clone();
    Ok(vec![Envelope { session_id: Some(turn.session_id()), kind, output_channel, ..reply(message, output) }])
}

/// An error, to the channel of the message even if answers go elsewhere. Nothing if delivery is pointless: the user has
/// left, or the channel itself is broken.
pub fn of_error(stage: String, error: Error, message: Option<Envelope>) -> Vec<Envelope> {
    if stage == "dispatch_outbound" || error.kind == ErrorKind::Cancelled {
        return Vec::new();
    }
    // The stage is for the log; the message states the problem and the remedy.
    let failure = |message: Envelope| {
        let session_id = message.session_id.clone();
        Envelope { session_id, kind: MessageKind::Error, ..reply(message, error.message) }
    };
    message.map(failure).into_iter().collect()
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
