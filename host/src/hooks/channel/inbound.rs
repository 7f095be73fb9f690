//! What a channel brings in, before anybody uses it: bounded, checked, and with the host's word where it is the host's.

use super::{Arrival, GuestChannel, Inbox};
use crate::channel::{attach, kind_of, session_of};
use crate::plugin::bindings::channel::channel as wit;
use crate::plugin::bindings::{Envelope, MediaItem};
use crate::plugin::{check_json, contract, one_line};
use crate::turn::Calls;
use std::collections::BTreeSet;
use std::time::Duration;
use wasmtime::Result;

/// Messages that come at once.
const MAX_ARRIVALS: usize = 256;

/// A message's words, in bytes. What is longer is cut: a person wrote it, and nothing of the channel may hang on it.
const MAX_CONTENT: usize = 1 << 20;

/// The longest id of a message, a chat or a sender, in bytes.
const MAX_ID: usize = 256;

/// What a channel says of one message: keys, and bytes of them with their values.
const MAX_KEYS: usize = 64;
const MAX_CONTEXT: usize = 64 << 10;

/// What a channel may have the host remember, in bytes.
const MAX_CURSOR: usize = 64 << 10;

/// How long a channel is left alone, at least and at most. One that has nothing to say, again and again, costs others their
/// time.
const WAIT: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(3600));

/// What the host says of a message, in place of what the channel says.
const OWN_KEYS: [&str; 3] = ["sender_id", "channel", "chat_id"];

pub(super) fn inbox(channel: &GuestChannel, calls: &Calls, inbox: wit::Inbox) -> Result<Inbox> {
    if inbox.cursor.len() > MAX_CURSOR {
        return Err(contract(format!("its cursor is longer than {MAX_CURSOR} bytes")));
    }
    check_json(&inbox.cursor).map_err(|reason| contract(format!("its cursor is {reason}")))?;
    let wait = Duration::from_millis(inbox.wait_ms.into()).clamp(WAIT.0, WAIT.1);
    Ok(Inbox { arrivals: arrivals(channel, calls, inbox.arrivals)?, cursor: inbox.cursor, wait })
}

/// All of them, in their order.
///
/// # Errors
///
/// The fault `contract` for what the channel itself has made: ids, JSON, and how many there are.
pub(super) fn arrivals(channel: &GuestChannel, calls: &Calls, arrivals: Vec<wit::Arrival>) -> Result<Vec<Arrival>> {
    if arrivals.len() > MAX_ARRIVALS {
        let count = arrivals.len();
        return Err(contract(format!("{count} messages came at once; at most {MAX_ARRIVALS} are taken")));
    }
    arrivals.into_iter().map(|arrival| self::arrival(channel, calls, arrival)).collect()
}

fn arrival(channel: &GuestChannel, calls: &Calls, arrival: wit::Arrival) -> Result<Arrival> {
    let wit::Arrival { message, active } = arrival;
    let id = message.id.filter(|id| !id.is_empty());
    let chat_id = if message.chat_id.is_empty() { "default".to_owned() } else { message.chat_id };
    let ids = [("id", id.as_ref()), ("chat id", Some(&chat_id)), ("sender", message.sender.as_ref())];
    for (what, id) in ids {
        if id.is_some_and(|id| id.len() > MAX_ID || id.chars().any(char::is_control)) {
            return Err(contract(format!("the {what} of a message is longer than {MAX_ID} bytes, or no line")));
        }
    }
    let content = bounded(message.content);
    let (content, media) = attached(content, message.media);
    let commands = calls.host.config.commands(&channel.name);
    let message = Envelope {
        id,
        session_id: Some(session_of(&channel.name, &chat_id)),
        channel: channel.name.clone(),
        kind: kind_of(commands, &content),
        context: context(&channel.name, &chat_id, message.sender.as_deref(), message.context)?,
        chat_id,
        sender: message.sender,
        content,
        media,
        output_channel: None,
    };
    Ok(Arrival { message, active })
}

fn bounded(mut content: String) -> String {
    if content.len() > MAX_CONTENT {
        let length = content.len();
        content.truncate(content.floor_char_boundary(MAX_CONTENT));
        content.push_str(&format!("\n[cut off here: the message has {length} bytes]"));
    }
    content
}

/// What came along, as what it is. Whoever is asked is told of what is left out.
fn attached(mut content: String, came: Vec<MediaItem>) -> (String, Vec<MediaItem>) {
    let mut media = Vec::new();
    for item in came {
        let name = one_line(item.filename.as_deref().unwrap_or("file"));
        let why = match attach::received(item) {
            Ok(item) if media.len() < attach::MAX_ITEMS => {
                media.push(item);
                continue;
            }
            Ok(_) => "a message takes no more of them".to_owned(),
            Err(why) => why,
        };
        let line = if content.is_empty() { "" } else { "\n" };
        content.push_str(&format!("{line}[{name} was left out: {why}]"));
    }
    (content, media)
}

/// Who, where, and behind it what the channel says.
fn context(
    channel: &str,
    chat_id: &str,
    sender: Option<&str>,
    said: Vec<(String, String)>,
) -> Result<Vec<(String, String)>> {
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let size: usize = said.iter().map(|(key, value)| key.len() + value.len()).sum();
    if said.len() > MAX_KEYS || size > MAX_CONTEXT {
        return Err(contract(format!("the context of a message has more than {MAX_KEYS} keys or {MAX_CONTEXT} bytes")));
    }
    let mut keys = BTreeSet::new();
    for (key, value) in &said {
        check_json(value).map_err(|reason| contract(format!("the context `{}` is {reason}", one_line(key))))?;
        if !keys.insert(key.as_str()) {
            return Err(contract(format!("the context has `{}` twice", one_line(key))));
        }
    }
    let mut context: Vec<(String, String)> =
        sender.map(|sender| ("sender_id".into(), json(sender))).into_iter().collect();
    context.push(("channel".into(), json(&format!("${channel}"))));
    context.push(("chat_id".into(), json(chat_id)));
    context.extend(said.into_iter().filter(|(key, _)| !OWN_KEYS.contains(&key.as_str())));
    Ok(context)
}
