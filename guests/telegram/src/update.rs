//! Telegram's updates, reduced to the fields that are used. Names are Telegram's own.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub struct Update {
    pub message: Option<Message>,
    pub edited_message: Option<Message>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Message {
    pub message_id: i64,
    pub message_thread_id: Option<i64>,
    pub is_topic_message: bool,
    pub from: Option<User>,
    /// The group or channel in whose name the message was sent.
    pub sender_chat: Option<Chat>,
    pub chat: Chat,
    pub date: i64,
    pub edit_date: Option<i64>,
    pub media_group_id: Option<String>,
    pub text: Option<String>,
    pub caption: Option<String>,
    pub entities: Vec<Entity>,
    pub caption_entities: Vec<Entity>,
    pub reply_to_message: Option<Box<Message>>,
    /// The message of another chat that this one replies to. Telegram provides fewer fields; its origin is that of a
    /// forward.
    pub external_reply: Option<Box<Message>>,
    /// The part of it that is quoted.
    pub quote: Option<Quote>,
    /// The inline bot whose result was sent.
    pub via_bot: Option<User>,
    /// The origin of a forwarded message, in any form.
    #[serde(alias = "origin")]
    pub forward_origin: Option<Value>,
    pub forward_from: Option<Value>,
    pub forward_from_chat: Option<Value>,
    pub forward_sender_name: Option<String>,
    pub forward_date: Option<i64>,
    pub is_automatic_forward: bool,
    pub photo: Vec<File>,
    pub document: Option<File>,
    pub voice: Option<File>,
    pub audio: Option<File>,
    pub video: Option<File>,
    pub video_note: Option<File>,
    pub animation: Option<File>,
    pub sticker: Option<Sticker>,
    pub location: Option<Location>,
    pub contact: Option<Contact>,
    pub poll: Option<Poll>,
    pub dice: Option<Dice>,
}

impl Message {
    /// The text, or the caption.
    pub fn words(&self) -> &str {
        self.text.as_deref().or(self.caption.as_deref()).unwrap_or_default()
    }

    pub fn is_private(&self) -> bool {
        self.chat.kind == "private"
    }
}

#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub struct User {
    pub id: i64,
    pub is_bot: bool,
    pub first_name: String,
    pub last_name: Option<String>,
    pub username: Option<String>,
}

impl User {
    pub fn full_name(&self) -> String {
        [Some(self.first_name.as_str()), self.last_name.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Chat {
    pub id: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub title: Option<String>,
}

#[derive(Deserialize)]
pub struct Entity {
    #[serde(rename = "type")]
    pub kind: String,
    pub user: Option<User>,
}

#[derive(Deserialize)]
pub struct Quote {
    pub text: String,
}

/// Also a size of a photo.
#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub struct File {
    pub file_id: String,
    pub file_size: Option<u64>,
    pub file_name: Option<String>,
    pub mime_type: Option<String>,
}

#[derive(Deserialize)]
pub struct Sticker {
    pub emoji: Option<String>,
}

#[derive(Deserialize)]
pub struct Location {
    pub latitude: f64,
    pub longitude: f64,
}

#[derive(Deserialize)]
pub struct Contact {
    pub phone_number: String,
    pub first_name: String,
}

#[derive(Deserialize)]
pub struct Poll {
    pub question: String,
}

#[derive(Deserialize)]
pub struct Dice {
    pub emoji: String,
    pub value: i64,
}
