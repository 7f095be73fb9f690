//! The messages of a turn's requests. Each request repeats the one before and says a little more, so what was found out of a
//! message is kept for the next one.

use crate::plugin::json_object;
use bub_model::RawObject;
use memchr::memmem::Finder;
use std::sync::{Arc, LazyLock, OnceLock};

/// Bytes of messages that a turn keeps.
const MAX_KEPT: usize = 8 << 20;

/// How many messages may have been left out in front of one that is looked for.
const REACH: usize = 16;

/// The mark before the bytes of a picture or a sound in a message. They cost nothing like what text of their length
/// does.
const DATA: &str = ";base64,";

/// A chat message. Cloning it is cheap.
#[derive(Clone)]
pub struct Message(Arc<Kept>);

struct Kept {
    object: RawObject,
    weight: OnceLock<u64>,
    bytes: OnceLock<usize>,
}

impl Message {
    /// The message with that text.
    ///
    /// # Errors
    ///
    /// It is not a JSON object. The error says what it is instead.
    pub fn new(text: &str) -> Result<Self, String> {
        Ok(Self(Arc::new(Kept { object: json_object(text)?, weight: OnceLock::new(), bytes: OnceLock::new() })))
    }

    /// The message as a JSON object.
    pub fn object(&self) -> &RawObject {
        &self.0.object
    }

    /// Tokens, by the measure that selectors have too.
    pub fn weight(&self) -> u64 {
        let weigh = || serde_json::from_str(self.object()).map_or(0, |message| bub_estimate::chat::message(&message));
        *self.0.weight.get_or_init(weigh)
    }

    /// Its length in JSON, without the data that stands in it.
    pub fn bytes(&self) -> usize {
        *self.0.bytes.get_or_init(|| text_bytes(self.object()))
    }
}

impl AsRef<str> for Message {
    fn as_ref(&self) -> &str {
        self.object()
    }
}

/// The messages of the turn's requests.
#[derive(Default)]
pub(super) struct Sent {
    /// Those of the latest request, in their order.
    latest: Vec<Message>,
    /// All of them, each once, in the order in which they came: what a model of this turn was told.
    all: Vec<Message>,
    /// Bytes of them.
    bytes: usize,
    /// How many of them the first request had: what was said before this turn.
    earlier: Option<usize>,
}

impl Sent {
    /// A message that stands at that place or a little behind it; and where.
    fn find(&self, from: usize, text: &str) -> Option<(usize, &Message)> {
        self.latest.iter().enumerate().skip(from).take(REACH).find(|(_, message)| message.as_ref() == text)
    }

    /// The messages of a request, each looked at unless the request before had it too.
    ///
    /// # Errors
    ///
    /// One of them is not a JSON object. The error says what it is instead.
    pub(super) fn messages(&mut self, texts: &[String]) -> Result<Vec<Message>, String> {
        let mut messages = Vec::with_capacity(texts.len());
        let mut next = 0;
        for text in texts {
            messages.push(match self.find(next, text) {
                Some((at, known)) => {
                    next = at + 1;
                    known.clone()
                }
                None => {
                    let message = Message::new(text)?;
                    self.bytes = self.bytes.saturating_add(text.len());
                    if self.bytes <= MAX_KEPT {
                        self.all.push(message.clone());
                    }
                    message
                }
            });
        }
        let bytes: usize = texts.iter().map(String::len).sum();
        self.latest = if bytes <= MAX_KEPT { messages.clone() } else { Vec::new() };
        self.earlier = self.earlier.or(Some(self.all.len()));
        Ok(messages)
    }

    /// The messages that the models of this turn were told: each message, whether it was said before the turn, and
    /// whether there were more than are kept.
    pub(super) fn all(&self) -> (Vec<(Message, bool)>, bool) {
        let earlier = self.earlier.unwrap_or_default();
        let all = self.all.iter().enumerate().map(|(at, message)| (message.clone(), at < earlier));
        (all.collect(), self.bytes > MAX_KEPT)
    }
}

/// Bytes of a message in JSON, without those of data that stands in it.
fn text_bytes(mut message: &str) -> usize {
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(DATA));
    let mut bytes = 0;
    while let Some(at) = FINDER.find(message.as_bytes()) {
        bytes += at;
        let data = message.get(at + DATA.len()..).unwrap_or_default();
        message = data.find('"').and_then(|end| data.get(end..)).unwrap_or_default();
    }
    bytes + message.len()
}
