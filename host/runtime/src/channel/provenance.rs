//! Which parts of a message are another author's, and how their text is shown beside the sender's own words.
//!
//! The channel says where each part comes from ([`Provenance`]); what that means for a turn is decided here alone.

use super::OWN;
use bub_types::text::one_line;
use bub_types::{Envelope, MediaItem, MediaKind, Passage, Provenance};
use serde_json::Value;

/// Keys of a message's context whose texts are facts of the host, of the channel or of the sender. `wit/deps/bub-types`
/// promises this list to channels.
const FACTS: [&str; 11] = [
    "sender_id",
    "channel",
    "chat_id",
    "message_id",
    "reply_to_message_id",
    "thread_id",
    "date",
    "edited",
    "username",
    "full_name",
    "model",
];

/// The longest text that passes for a fact, in bytes.
const MAX_FACT: usize = 256;

/// The longest author's name that is shown, in characters.
const MAX_AUTHOR: usize = 64;

/// Why a turn of this message is tainted: the first part of it that its sender did not write. None: the sender wrote all
/// of it.
pub fn foreign(message: &Envelope) -> Option<String> {
    let passage = message.passages.iter().find_map(foreign_passage);
    let media = || message.media.iter().find_map(foreign_media);
    let context = || message.context.iter().find_map(|(key, value)| foreign_context(&message.channel, key, value));
    passage.or_else(media).or_else(context)
}

/// All text of a message, for a model where no plugin makes a prompt of it: passages first, each marked as a quotation.
pub fn shown(message: &Envelope) -> String {
    let passages: String = message.passages.iter().map(shown_passage).collect();
    passages + &message.content
}

/// Why that passage taints a turn, unless the sender wrote it.
pub fn foreign_passage(passage: &Passage) -> Option<String> {
    let author = author(passage);
    match passage.provenance {
        Provenance::Written => None,
        Provenance::Quoted => Some(format!("the message quotes text by {author}")),
        Provenance::Forwarded => Some(format!("the message forwards text by {author}")),
        Provenance::Attached => Some(format!("the message has attached text by {author}")),
    }
}

fn foreign_media(item: &MediaItem) -> Option<String> {
    let what = match item.kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "sound",
        MediaKind::Video => "video",
        MediaKind::Document => "document",
    };
    match item.provenance {
        Provenance::Quoted => Some(format!("the message quotes a {what} that its sender did not make")),
        Provenance::Forwarded => Some(format!("the message forwards a {what} that its sender did not make")),
        Provenance::Attached => Some(format!("the message has an attached {what} that its sender did not make")),
        // The far side of an address decides what is there, and at each look anew.
        Provenance::Written if !item.url.starts_with("data:") => {
            Some(format!("the message has a {what} by its address, which its sender did not make"))
        }
        Provenance::Written => None,
    }
}

fn foreign_context(channel: &str, key: &str, value: &str) -> Option<String> {
    if key.starts_with('_') {
        return None;
    }
    let is_fact = match serde_json::from_str(value) {
        Ok(Value::Null | Value::Bool(_) | Value::Number(_)) => true,
        // A channel's ids are words; its chats may have been named by anyone.
        Ok(Value::String(text)) if key == "chat_id" => OWN.contains(&channel) || !text.contains(char::is_whitespace),
        Ok(Value::String(text)) => FACTS.contains(&key) && text.len() <= MAX_FACT && !text.contains(char::is_control),
        _ => false,
    };
    (!is_fact).then(|| format!("the context `{}` of the message may hold another author's text", one_line(key)))
}

/// A passage with its author in front, and each of its lines marked, so that none of them passes for the sender's.
pub fn shown_passage(passage: &Passage) -> String {
    let author = author(passage);
    let head = match passage.provenance {
        Provenance::Written => format!("{author} wrote before:"),
        Provenance::Quoted => format!("{author} wrote:"),
        Provenance::Forwarded => format!("Forwarded, written by {author}:"),
        Provenance::Attached => format!("Attached, written by {author}:"),
    };
    let is_end = |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let lines: String = passage.text.split(is_end).map(|line| format!("> {line}\n")).collect();
    format!("> {head}\n{lines}\n")
}

fn author(passage: &Passage) -> String {
    let author = passage.author.as_deref().map(one_line).filter(|author| !author.trim().is_empty());
    author.map_or_else(|| "an unknown author".to_owned(), |author| author.chars().take(MAX_AUTHOR).collect())
}
