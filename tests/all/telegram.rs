//! `guests/telegram`, with a fake of Telegram's server.

mod answers;
mod arrivals;
mod asked;
pub mod bot;
mod files;
mod growing;
mod people;
mod served;
pub mod stand_in;
mod trouble;
mod variables;

use serde_json::{Value, json};

/// A user who may talk to the bot.
fn ada() -> Value {
    json!({ "id": 42, "is_bot": false, "first_name": "Ada", "last_name": "Lovelace", "username": "ada" })
}

/// Another member of the group.
fn bob() -> Value {
    json!({ "id": 43, "is_bot": false, "first_name": "Bob" })
}

/// A private message of Ada.
fn private(text: &str) -> Value {
    json!({ "chat": { "id": 42, "type": "private" }, "from": ada(), "text": text })
}

/// A message in the group.
fn said(from: Value, text: &str) -> Value {
    json!({ "chat": { "id": -100, "type": "supergroup", "title": "Friends" }, "from": from, "text": text })
}

/// With more members.
fn with(mut message: Value, more: Value) -> Value {
    let members = message.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    message
}

/// One pixel.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdacd\xf8\xcfP\x0f\0\x03\x86\x01\x80Z4}k\0\0\0\0IEND\xaeB`\x82";
