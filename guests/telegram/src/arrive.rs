//! Long polling for updates.

use crate::api::Api;
use crate::call::is_called;
use crate::cursor::{Cursor, Me};
use crate::media::{self, Attached};
use crate::origin::{self, one_line, speaker};
use crate::settings::Settings;
use crate::update::{Message, Update};
use bub_guest::Error;
use bub_guest::hook::{Arrival, Inbox};
use bub_guest::log;
use bub_guest::turn::{Envelope, MediaItem, MessageKind, Passage, Provenance};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

/// Maximum bytes of all files in one poll, which cross to the host at once in base64.
const MAX_FILES: u64 = 6_000_000;

/// Maximum files in one poll: each takes two requests, which delay other updates.
const MAX_FETCHED: usize = 8;

/// Maximum people who are notified of a refusal in one poll. Others are notified when they write again.
const MAX_TOLD: usize = 5;

/// How long the bot's identity is cached, in seconds.
const KNOWN_FOR: i64 = 24 * 3600;

/// Waits for updates, and returns them with the next cursor.
///
/// # Errors
///
/// Telegram's refusal; no update is lost.
pub fn poll(cursor: Option<&str>) -> Result<Inbox, Error> {
    let settings = Settings::read()?;
    let api = Api::new(&settings);
    let mut cursor = Cursor::read(cursor);
    let me = who(&api, &mut cursor)?;
    let arguments = json!({
        "offset": cursor.offset,
        "timeout": settings.poll_seconds,
        "allowed_updates": ["message", "edited_message"],
    });
    let updates = api.call("getUpdates", &arguments, settings.poll_seconds)?;
    let mut reader =
        Reader { api: &api, settings: &settings, me, files: 0, fetched: 0, told: 0, albums: HashSet::new() };
    let mut arrivals = Vec::new();
    for update in updates.as_array().into_iter().flatten() {
        let Some(id) = update["update_id"].as_i64() else { continue };
        match serde_json::from_value::<Update>(update.clone()) {
            Ok(update) => match reader.read(update, &mut cursor, arrivals.is_empty()) {
                Read::Arrival(arrival) => arrivals.push(*arrival),
                Read::Nothing => {}
                // The next poll starts with this update.
                Read::Full => break,
            },
            Err(error) => log::warn(format!("update {id} is not understood, and left out: {error}")),
        }
        cursor.offset = id + 1;
    }
    Ok(Inbox { arrivals, cursor: cursor.write(), wait_ms: 0 })
}

/// The bot's identity.
fn who(api: &Api<'_>, cursor: &mut Cursor) -> Result<Me, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
    if let Some(me) = cursor.me.as_ref().filter(|me| (me.at..me.at + KNOWN_FOR).contains(&now)) {
        return Ok(me.clone());
    }
    let said = api.call("getMe", &json!({}), 0)?;
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let me = Me {
        id: said["id"].as_i64().unwrap_or_default(),
        username: text("username"),
        name: text("first_name"),
        at: now,
    };
    cursor.me = Some(me.clone());
    Ok(me)
}

/// The result of processing an update.
enum Read {
    Arrival(Box<Arrival>),
    Nothing,
    /// There is no room for its file.
    Full,
}

struct Reader<'a> {
    api: &'a Api<'a>,
    settings: &'a Settings,
    me: Me,
    /// Bytes of files so far.
    files: u64,
    fetched: usize,
    told: usize,
    /// Albums of which one picture addresses the bot: all their pictures belong to it.
    albums: HashSet<String>,
}

impl Reader<'_> {
    fn read(&mut self, update: Update, cursor: &mut Cursor, is_first: bool) -> Read {
        let (message, is_edit) = match (update.message, update.edited_message) {
            (Some(message), _) => (message, false),
            (None, Some(message)) => (message, true),
            (None, None) => return Read::Nothing,
        };
        if !self.listens(&message, is_edit, cursor) {
            return Read::Nothing;
        }
        let is_active = self.is_active(&message);
        let attached = self.attached(&message, is_active);
        if let Some(attached) = attached.as_ref().filter(|_| is_active) {
            self.files += attached.weight();
            self.fetched += 1;
            if !is_first && (self.files > MAX_FILES || self.fetched > MAX_FETCHED) {
                return Read::Full;
            }
        }
        let (provenance, author) = origin::of(&message);
        let mut notes: Vec<(Provenance, String)> = Vec::new();
        if let Some(told) = media::told(&message) {
            // A contact card's name is chosen by its author.
            let of_card = message.contact.is_some() && provenance == Provenance::Written;
            notes.push((if of_card { Provenance::Attached } else { provenance }, told));
        }
        let mut files = Vec::new();
        match attached {
            Some(attached) if is_active => {
                let (name, of) = (attached.name(), attached.provenance);
                match attached.fetch(self.api) {
                    Ok(item) => files.push(item),
                    Err(why) => notes.push((of, format!("[{name}: {why}]"))),
                }
            }
            Some(attached) => notes.push((attached.provenance, format!("[{}]", attached.name()))),
            None => {}
        }
        // A service message without content, such as a join or a new title.
        if message.words().is_empty() && notes.is_empty() && files.is_empty() {
            return Read::Nothing;
        }
        let content = content(&message, is_edit, provenance, &notes);
        let passages = self.passages(&message, provenance, author, notes);
        let message = envelope(message, is_edit, content, passages, files);
        Read::Arrival(Box::new(Arrival { message, active: is_active }))
    }

    /// Whether the speaker may use the bot. A person who may not is notified once.
    fn listens(&mut self, message: &Message, is_edit: bool, cursor: &mut Cursor) -> bool {
        if !message.is_private() {
            return self.settings.allows_chat(&message.chat);
        }
        let Some(from) = message.from.as_ref().filter(|from| !from.is_bot) else { return false };
        if self.settings.allows_user(from) {
            return true;
        }
        if !is_edit && self.told < MAX_TOLD && cursor.refuses(from.id) {
            self.told += 1;
            let text = format!(
                "Sorry, this bot only answers people whom its owner has named. Your id is {}: the owner can add it to `allow_users`.",
                from.id
            );
            let told = self.api.call("sendMessage", &json!({ "chat_id": message.chat.id, "text": text }), 0);
            if let Err(refusal) = told {
                log::info(format!("user {} was not told that they are not allowed: {}", from.id, refusal.why));
            }
        }
        false
    }

    fn is_active(&mut self, message: &Message) -> bool {
        let is_program = message.sender_chat.is_none() && message.from.as_ref().is_some_and(|from| from.is_bot);
        let album = message.media_group_id.as_ref();
        let belongs = album.is_some_and(|album| self.albums.contains(album));
        let is_called = message.is_private() || is_called(&self.me, &self.settings.mention, message);
        let is_active = !is_program && (is_called || belongs);
        if is_active {
            self.albums.extend(album.cloned());
        }
        is_active
    }

    /// The file of the message, or else of the one that it replies to.
    fn attached(&self, message: &Message, is_active: bool) -> Option<Attached> {
        let answered = || {
            let answered = origin::answered(message).filter(|_| is_active)?;
            let is_own = origin::answers_own(message, answered);
            let provenance = if is_own { Provenance::Written } else { Provenance::Attached };
            media::of(answered).map(|attached| attached.of(provenance))
        };
        media::of(message).or_else(answered)
    }

    /// Passages besides the sender's own words: citations, then parts by other authors. A line that begins with a comma
    /// may be a command, which has no passages.
    fn passages(
        &self,
        message: &Message,
        provenance: Provenance,
        author: Option<String>,
        notes: Vec<(Provenance, String)>,
    ) -> Vec<Passage> {
        let is_written = provenance == Provenance::Written;
        if is_written && message.words().starts_with(',') {
            return Vec::new();
        }
        let mut passages: Vec<Passage> = origin::cited(message, self.me.id).into_iter().collect();
        let words = Some(message.words()).filter(|words| !is_written && !words.is_empty());
        passages.extend(words.map(|words| Passage { provenance, author: author.clone(), text: words.to_owned() }));
        let foreign = notes.into_iter().filter(|(of, _)| *of != Provenance::Written);
        passages.extend(foreign.map(|(of, text)| {
            let author = author.clone().filter(|_| of == provenance);
            Passage { provenance: of, author, text }
        }));
        passages
    }
}

/// The sender's own words. A line that begins with a comma may be a command, and is unchanged.
fn content(message: &Message, is_edit: bool, provenance: Provenance, notes: &[(Provenance, String)]) -> String {
    let words = message.words();
    let is_written = provenance == Provenance::Written;
    if is_written && words.starts_with(',') {
        return words.to_owned();
    }
    let mut content = String::new();
    if is_edit {
        content.push_str(if is_written { "[edited] " } else { "[edited]" });
    }
    if is_written {
        if !message.is_private() {
            content.push_str(&format!("{}: ", speaker(message)));
        }
        content.push_str(words);
    }
    for (_, note) in notes.iter().filter(|(of, _)| *of == Provenance::Written) {
        let end = if content.is_empty() || content.ends_with([' ', '\n']) { "" } else { "\n" };
        content.push_str(&format!("{end}{note}"));
    }
    content
}

fn envelope(
    message: Message,
    is_edit: bool,
    content: String,
    passages: Vec<Passage>,
    media: Vec<MediaItem>,
) -> Envelope {
    let chat = message.chat.id;
    // An edit is a new message.
    let edit = message.edit_date.filter(|_| is_edit).map(|date| format!("/{date}")).unwrap_or_default();
    let sender = origin::sender(&message);
    let thread = message.message_thread_id.filter(|_| message.is_topic_message);
    Envelope {
        id: Some(format!("{chat}/{}{edit}", message.message_id)),
        session_id: None,
        channel: "telegram".to_owned(),
        chat_id: thread.map_or_else(|| chat.to_string(), |thread| format!("{chat}/{thread}")),
        sender: sender.map(|sender| sender.to_string()),
        content,
        passages,
        kind: MessageKind::Normal,
        context: context(&message, is_edit),
        media,
        output_channel: None,
    }
}

/// The context fields of Bub's adapter.
fn context(message: &Message, is_edit: bool) -> Vec<(String, String)> {
    let username = message.from.as_ref().and_then(|from| from.username.as_deref());
    let date = jiff::Timestamp::from_second(message.date).map(|date| date.to_string()).unwrap_or_default();
    let mut context = vec![
        ("message_id", json!(message.message_id)),
        ("username", json!(username.map(one_line))),
        ("full_name", json!(speaker(message))),
        ("date", json!(date)),
    ];
    if let Some(title) = &message.chat.title {
        // A group's administrators choose its title: plugins may read it, but no prompt contains it.
        context.push(("_chat_title", json!(one_line(title))));
    }
    if let Some(reply) = message.reply_to_message.as_deref().filter(|_| origin::answered(message).is_some()) {
        context.push(("reply_to_message_id", json!(reply.message_id)));
    }
    if is_edit {
        context.push(("edited", Value::Bool(true)));
    }
    context.into_iter().map(|(key, value)| (key.to_owned(), value.to_string())).collect()
}
