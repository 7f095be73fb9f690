//! Delivery of answers on Telegram.

use crate::api::{Api, Refusal};
use crate::markdown;
use crate::multipart::Form;
use crate::pieces::{LONGEST, Piece, cut};
use crate::settings::Settings;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_guest::log;
use bub_guest::turn::{Envelope, MediaItem, MediaKind, MessageKind};
use bub_guest::{Error, ErrorKind};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Marks an answer that is still being written.
const GOES_ON: &str = " …";

/// Maximum total delay of a delivery by rate limits: less than the host's timeout.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Delivers a message. Its handle contains the ids of the Telegram messages.
///
/// # Errors
///
/// Telegram's refusal. `temporary`: nothing was delivered yet, unless the connection broke.
pub fn send(message: &Envelope) -> Result<Option<String>, Error> {
    let settings = Settings::read()?;
    let mut talk = Talk::new(Api::new(&settings), message)?;
    for piece in shown(message, usize::MAX) {
        talk.say(&piece)?;
    }
    talk.attach(&message.media)?;
    let ids: Vec<String> = talk.ids.iter().map(i64::to_string).collect();
    Ok((!ids.is_empty()).then(|| ids.join(",")))
}

/// Replaces a delivered message. While it grows, overflow is withheld until the end.
///
/// # Errors
///
/// As [`send`].
pub fn update(handle: &str, message: &Envelope) -> Result<(), Error> {
    let ids: Option<Vec<i64>> = handle.split(',').map(|id| id.parse().ok()).collect();
    let wrong = || Error::new(ErrorKind::InvalidInput, "the handle is none that was answered");
    let ids = ids.ok_or_else(wrong)?;
    let settings = Settings::read()?;
    let mut talk = Talk::new(Api::new(&settings), message)?;
    let room = if is_growing(message) { ids.len() } else { usize::MAX };
    let pieces = shown(message, room);
    for (piece, id) in pieces.iter().zip(&ids) {
        talk.change(*id, piece)?;
    }
    if is_growing(message) {
        return Ok(());
    }
    for piece in pieces.iter().skip(ids.len()) {
        talk.say(piece)?;
    }
    // It has become shorter.
    for id in ids.iter().skip(pieces.len().max(1)) {
        talk.remove(*id);
    }
    talk.attach(&message.media)
}

/// Whether the answer is still being written, according to the host.
fn is_growing(message: &Envelope) -> bool {
    message.context.iter().any(|(key, value)| key == "_partial" && value == "true")
}

/// The Telegram messages of an answer, at most `room`. The output of a command is not formatted.
fn shown(message: &Envelope, room: usize) -> Vec<Piece> {
    let is_markdown = message.kind == MessageKind::Normal;
    let spans = if is_markdown { markdown::read(&message.content) } else { markdown::plain(&message.content) };
    if !is_growing(message) {
        return cut(&spans, LONGEST);
    }
    let mut pieces = cut(&spans, LONGEST - GOES_ON.len());
    // A long answer begins only once.
    pieces.truncate(room.min(1));
    for piece in &mut pieces {
        piece.html.push_str(GOES_ON);
        piece.plain.push_str(GOES_ON);
    }
    pieces
}

/// One delivery.
struct Talk<'a> {
    api: Api<'a>,
    /// The chat and, in it, the topic.
    place: Map<String, Value>,
    /// Ids of the delivered messages.
    ids: Vec<i64>,
    began: Instant,
}

impl<'a> Talk<'a> {
    fn new(api: Api<'a>, message: &Envelope) -> Result<Self, Error> {
        let (chat, thread) = message.chat_id.split_once('/').unwrap_or((&message.chat_id, ""));
        let number = |text: &str| text.parse::<i64>().ok();
        let mut place = Map::new();
        match (number(chat), thread.is_empty(), number(thread)) {
            (Some(chat), true, _) => drop(place.insert("chat_id".to_owned(), chat.into())),
            (Some(chat), false, Some(thread)) => {
                place.insert("chat_id".to_owned(), chat.into());
                place.insert("message_thread_id".to_owned(), thread.into());
            }
            _ => {
                let why = format!("`{}` is no chat of telegram: a chat is a number", message.chat_id);
                return Err(Error::new(ErrorKind::InvalidInput, why));
            }
        }
        Ok(Self { api, place, ids: Vec::new(), began: Instant::now() })
    }

    fn say(&mut self, piece: &Piece) -> Result<(), Error> {
        let said = self.formatted("sendMessage", json!({}), piece)?;
        self.ids.extend(said["message_id"].as_i64());
        Ok(())
    }

    fn change(&mut self, id: i64, piece: &Piece) -> Result<(), Error> {
        match self.formatted("editMessageText", json!({ "message_id": id }), piece) {
            Ok(_) => Ok(()),
            Err(refusal) if refusal.says("message is not modified") => Ok(()),
            // It was deleted, or is too old.
            Err(refusal) if refusal.says("message to edit not found") || refusal.says("message can't be edited") => {
                self.say(piece)
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    fn remove(&mut self, id: i64) {
        if let Err(refusal) = self.ask("deleteMessage", json!({ "message_id": id })) {
            log::info(format!("message {id} stands there still: {}", refusal.why));
        }
    }

    /// Sends with formatting; without it, if Telegram rejects it.
    fn formatted(&mut self, method: &str, more: Value, piece: &Piece) -> Result<Value, Refusal> {
        let arguments = |text: &str, mode: Option<&str>| {
            let mut arguments = more.as_object().cloned().unwrap_or_default();
            arguments.insert("text".to_owned(), text.into());
            // A preview would fetch an address that a model, or an attacker, chose.
            arguments.insert("link_preview_options".to_owned(), json!({ "is_disabled": true }));
            arguments.extend(mode.map(|mode| ("parse_mode".to_owned(), mode.into())));
            Value::Object(arguments)
        };
        match self.ask(method, arguments(&piece.html, Some("HTML"))) {
            Err(refusal) if refusal.says("can't parse entities") => {
                log::info(format!("telegram does not take the formatting, so it goes without: {}", refusal.why));
                self.ask(method, arguments(&piece.plain, None))
            }
            other => other,
        }
    }

    fn ask(&mut self, method: &str, arguments: Value) -> Result<Value, Refusal> {
        self.patiently(|talk| {
            let mut all = talk.place.clone();
            if method != "sendMessage" {
                all.remove("message_thread_id");
            }
            all.extend(arguments.as_object().cloned().unwrap_or_default());
            talk.api.call(method, &Value::Object(all), 0)
        })
    }

    /// Retries after rate limits, and follows a group that became a supergroup. A partial delivery is completed here if
    /// possible, since a retry of the whole would repeat its beginning.
    fn patiently(&mut self, ask: impl Fn(&Self) -> Result<Value, Refusal>) -> Result<Value, Refusal> {
        loop {
            let refusal = match ask(self) {
                Ok(said) => return Ok(said),
                Err(refusal) => refusal,
            };
            if let Some(chat) = refusal.moved_to.filter(|chat| self.place.get("chat_id") != Some(&(*chat).into())) {
                self.place.insert("chat_id".to_owned(), chat.into());
                continue;
            }
            let pause = Duration::from_secs(refusal.retry_after.unwrap_or(1));
            let is_late = self.began.elapsed() + pause > TIMEOUT;
            if self.ids.is_empty() || !refusal.is_temporary || is_late {
                return Err(refusal);
            }
            std::thread::sleep(pause);
        }
    }

    /// Sends attachments, each as a message of its own.
    fn attach(&mut self, media: &[MediaItem]) -> Result<(), Error> {
        for item in media {
            let sent = self.patiently(|talk| talk.file(item));
            match sent {
                Ok(said) => self.ids.extend(said["message_id"].as_i64()),
                Err(refusal) if refusal.is_temporary => return Err(refusal.into()),
                // The text was delivered already; a failed attachment must not repeat it.
                Err(refusal) => {
                    let name = item.filename.as_deref().unwrap_or("a file");
                    let plain = format!("[{name} could not be sent: {}]", refusal.why);
                    self.say(&Piece { html: plain.replace('&', "&amp;").replace('<', "&lt;"), plain })?;
                }
            }
        }
        Ok(())
    }

    fn file(&self, item: &MediaItem) -> Result<Value, Refusal> {
        let is_photo = item.kind == MediaKind::Image && item.mime_type != "image/gif";
        if !is_photo {
            return self.file_as("sendDocument", "document", item);
        }
        match self.file_as("sendPhoto", "photo", item) {
            // Too large, an unsupported shape or format: send it as a file.
            Err(refusal) if refusal.code == 400 || refusal.code == 413 => {
                self.file_as("sendDocument", "document", item)
            }
            other => other,
        }
    }

    fn file_as(&self, method: &str, field: &str, item: &MediaItem) -> Result<Value, Refusal> {
        let data = item.url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        let Some((_, data)) = data else {
            // Telegram fetches it.
            let mut arguments = self.place.clone();
            arguments.insert(field.to_owned(), item.url.as_str().into());
            return self.api.call(method, &Value::Object(arguments), 20);
        };
        let bytes = STANDARD.decode(data).map_err(|_| Refusal::lasting("its data is no base64"))?;
        let filename = item.filename.clone().unwrap_or_else(|| named(&item.mime_type));
        let fields = self.place.iter().fold(Form::new(), |form, (key, value)| form.field(key, &value.to_string()));
        self.api.upload(method, fields.file(field, &filename, &item.mime_type, &bytes))
    }
}

/// The default file name for a media type.
fn named(mime_type: &str) -> String {
    let ending = mime_type.rsplit('/').next().unwrap_or_default();
    let is_plain = !ending.is_empty() && ending.len() < 5 && ending.chars().all(|c| c.is_ascii_alphanumeric());
    if is_plain { format!("file.{ending}") } else { "file".to_owned() }
}
