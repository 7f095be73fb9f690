//! Messages of a channel, before a turn uses them: bounded, checked, and with the host's word where it is the host's.
//!
//! An error in one message concerns that message only: it is refused by name, and the others of the same call arrive.

use super::{Arrival, GuestChannel, Inbox};
use crate::channel::{attach, kind_of, session_of};
use crate::guest::bindings::channel::channel as wit;
use crate::host::RuntimeEvent;
use crate::plugin::{check_json, contract};
use crate::turn::CallScope;
use bub_types::text::one_line;
use bub_types::{Envelope, MediaItem, MessageKind, Passage, Provenance};
use std::collections::BTreeSet;
use std::time::Duration;
use wasmtime::Result;

/// Messages that come at once.
const MAX_ARRIVALS: usize = 256;

/// A message's words, in bytes, and those of its passages together. A longer one is cut: a person wrote it, and nothing
/// of the channel may hang on it.
const MAX_CONTENT: usize = 1 << 20;

/// The longest id of a message, a chat or a sender, in bytes.
const MAX_ID: usize = 256;

/// The characters of a refused id that are shown.
const MAX_SHOWN: usize = 64;

/// Passages of one message.
const MAX_PASSAGES: usize = 64;

/// The context that a channel gives to one message: keys, and bytes of them with their values.
const MAX_KEYS: usize = 64;
const MAX_CONTEXT: usize = 64 << 10;

/// The longest cursor that a channel may have the host remember, in bytes.
const MAX_CURSOR: usize = 64 << 10;

/// How long a channel is left alone, at least and at most. One that has nothing to say, again and again, costs others their
/// time.
const WAIT: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(3600));

/// Keys that the host sets on a message, in place of the channel's values.
const OWN_KEYS: [&str; 3] = ["sender_id", "channel", "chat_id"];

/// Why a message is not taken.
type Refused<T> = std::result::Result<T, String>;

pub(super) fn inbox(channel: &GuestChannel, scope: &CallScope, inbox: wit::Inbox) -> Result<Inbox> {
    if inbox.cursor.len() > MAX_CURSOR {
        return Err(contract(format!("its cursor is longer than {MAX_CURSOR} bytes")));
    }
    check_json(&inbox.cursor).map_err(|reason| contract(format!("its cursor is {reason}")))?;
    let wait = Duration::from_millis(inbox.wait_ms.into()).clamp(WAIT.0, WAIT.1);
    let (arrivals, refused) = arrivals(channel, scope, inbox.arrivals)?;
    Ok(Inbox { arrivals, refused, cursor: inbox.cursor, wait })
}

/// All that can be taken, in their order, and why the others cannot, each by the name of its message.
///
/// # Errors
///
/// The fault `contract`: there are too many at once.
pub(super) fn arrivals(
    channel: &GuestChannel,
    scope: &CallScope,
    arrivals: Vec<wit::Arrival>,
) -> Result<(Vec<Arrival>, Vec<String>)> {
    if arrivals.len() > MAX_ARRIVALS {
        let count = arrivals.len();
        return Err(contract(format!("{count} messages came at once; at most {MAX_ARRIVALS} are taken")));
    }
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for arrival in arrivals {
        let name = name_of(&arrival.message);
        match self::arrival(channel, scope, arrival) {
            Ok(arrival) => taken.push(arrival),
            Err(why) => {
                let reason = format!("{name} is refused: {why}");
                tracing::warn!("channel `{}` of plugin `{}`: {reason}", channel.name, channel.plugin());
                scope
                    .host
                    .events
                    .publish(RuntimeEvent::Refused { channel: channel.name.clone(), reason: reason.clone() }, "");
                refused.push(reason);
            }
        }
    }
    Ok((taken, refused))
}

/// The name of a refused message in texts, whatever its ids are.
fn name_of(message: &Envelope) -> String {
    let shown = |id: &str| one_line(&id.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect::<String>());
    match message.id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => format!("message `{}` of chat `{}`", shown(id), shown(&message.chat_id)),
        None => format!("a message of chat `{}`", shown(&message.chat_id)),
    }
}

fn arrival(channel: &GuestChannel, scope: &CallScope, arrival: wit::Arrival) -> Refused<Arrival> {
    let wit::Arrival { message, active } = arrival;
    let id = message.id.filter(|id| !id.is_empty());
    let chat_id = if message.chat_id.is_empty() { "default".to_owned() } else { message.chat_id };
    let ids = [("id", id.as_ref()), ("chat id", Some(&chat_id)), ("sender", message.sender.as_ref())];
    for (what, id) in ids {
        if id.is_some_and(|id| id.len() > MAX_ID || id.chars().any(char::is_control)) {
            return Err(format!("its {what} is longer than {MAX_ID} bytes, or no line"));
        }
    }
    if message.passages.len() > MAX_PASSAGES {
        return Err(format!("it has more than {MAX_PASSAGES} passages"));
    }
    let mut message = Envelope {
        id,
        session_id: Some(session_of(&channel.name, &chat_id)),
        channel: channel.name.clone(),
        kind: MessageKind::Normal,
        context: context(&channel.name, &chat_id, message.sender.as_deref(), message.context)?,
        chat_id,
        sender: message.sender,
        content: bounded(message.content, MAX_CONTENT),
        passages: passages(message.passages),
        media: message.media,
        output_channel: None,
    };
    // Before anything is added to them: the sender's own words alone make a command.
    message.kind = kind_of(scope.host.config.commands(&channel.name), &message.content);
    if message.kind == MessageKind::Command {
        // A command is one line, and no part of a conversation: nothing reads what else came with it.
        message.passages.clear();
        message.media.retain(|item| item.provenance == Provenance::Written);
    }
    Ok(Arrival { message: attached(message), active })
}

fn bounded(mut content: String, most: usize) -> String {
    if content.len() > most {
        let length = content.len();
        content.truncate(content.floor_char_boundary(most));
        content.push_str(&format!("\n[cut off here: the message has {length} bytes]"));
    }
    content
}

/// Passages, all together no longer than a message's own words. Names of authors are whatever people like.
fn passages(passages: Vec<Passage>) -> Vec<Passage> {
    let mut left = MAX_CONTENT;
    let bounded = |passage: Passage| {
        let text = bounded(passage.text, left);
        left = left.saturating_sub(text.len());
        let author = passage.author.map(|author| author.chars().take(MAX_ID).collect::<String>());
        Passage { author: author.map(|author| one_line(&author)), text, ..passage }
    };
    passages.into_iter().map(bounded).collect()
}

/// The message with what came along as what it is. A line of it says what is left out, and stands with the words of the
/// author who attached it.
fn attached(mut message: Envelope) -> Envelope {
    for item in std::mem::take(&mut message.media) {
        let provenance = item.provenance;
        let name = one_line(item.filename.as_deref().unwrap_or("file"));
        match taken(item, message.media.len()) {
            Ok(item) => message.media.push(item),
            Err(why) => {
                let line = format!("[{name} was left out: {why}]");
                match provenance {
                    Provenance::Written => {
                        let end = if message.content.is_empty() { "" } else { "\n" };
                        message.content.push_str(&format!("{end}{line}"));
                    }
                    provenance => message.passages.push(Passage { provenance, author: None, text: line }),
                }
            }
        }
    }
    message
}

fn taken(item: MediaItem, before: usize) -> Refused<MediaItem> {
    let item = attach::received(item)?;
    if before < attach::MAX_ITEMS { Ok(item) } else { Err("a message takes no more of them".to_owned()) }
}

/// The sender, the channel and the chat, and behind them what the channel says.
fn context(
    channel: &str,
    chat_id: &str,
    sender: Option<&str>,
    said: Vec<(String, String)>,
) -> Refused<Vec<(String, String)>> {
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let size: usize = said.iter().map(|(key, value)| key.len() + value.len()).sum();
    if said.len() > MAX_KEYS || size > MAX_CONTEXT {
        return Err(format!("its context has more than {MAX_KEYS} keys or {MAX_CONTEXT} bytes"));
    }
    let mut keys = BTreeSet::new();
    for (key, value) in &said {
        check_json(value).map_err(|reason| format!("its context `{}` is {reason}", one_line(key)))?;
        if !keys.insert(key.as_str()) {
            return Err(format!("its context has `{}` twice", one_line(key)));
        }
    }
    let mut context: Vec<(String, String)> =
        sender.map(|sender| ("sender_id".into(), json(sender))).into_iter().collect();
    context.push(("channel".into(), json(&format!("${channel}"))));
    context.push(("chat_id".into(), json(chat_id)));
    context.extend(said.into_iter().filter(|(key, _)| !OWN_KEYS.contains(&key.as_str())));
    Ok(context)
}
