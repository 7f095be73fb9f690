//! Media in chat messages, and their placeholders.
//!
//! A message may contain images, audio and files, in base64: megabytes in one line of JSON. Tapes and models get them
//! unchanged. Guests get placeholders instead: `data:image/png;base64,{{media:0}}`. [`Media`] maps the placeholders of
//! a turn to their data.

mod part;

use parking_lot::{Mutex, MutexGuard};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::error::{Error, Result};
use super::json;
use bub_types::text;

pub use part::told;
pub(super) use part::without_data;

/// Maximum media in one request, in bytes of base64. Servers accept between 20 and 50 MB.
pub const MAX_SENT: usize = 32_000_000;

/// Maximum data with placeholders in a turn, in bytes of base64. Further data stays inline.
const MAX_HELD: usize = 256_000_000;

/// The media of one turn. Equal data shares a placeholder, and placeholders are numbered in order of appearance, so
/// that a repeated turn has the same ones.
#[derive(Debug, Default)]
pub struct Media {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    data: Vec<Arc<str>>,
    places: HashMap<Arc<str>, usize>,
    size: usize,
}

/// A placeholder in a text, with its data.
struct Marked {
    place: std::ops::Range<usize>,
    data: Arc<str>,
}

impl Media {
    /// Replaces the data in a chat message, or a list of parts, by placeholders.
    pub fn extract<'j>(&self, json: &'j str) -> Cow<'j, str> {
        let places = part::places(json);
        let data = places.into_iter().filter(|place| part::mark(json, place).is_none());
        let marked = data.filter_map(|place| Some((place.clone(), self.mark(json.get(place)?)?)));
        replaced(json, marked)
    }

    /// Replaces the data of a base64 `data:` URL by a placeholder.
    pub fn extract_url(&self, url: &str) -> String {
        let data = part::in_url(url).filter(|place| part::mark(url, place).is_none());
        let marked = data.and_then(|place| Some((place.clone(), self.mark(url.get(place)?)?)));
        replaced(url, marked.into_iter()).into_owned()
    }

    /// Replaces the placeholders in a chat message, or a list of parts, by their data.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] for an unknown placeholder, and for more than [`MAX_SENT`] bytes of data.
    pub fn restore<'j>(&self, json: &'j str) -> Result<Cow<'j, str>> {
        let marked = self.marked(json)?;
        let size = sum(&marked);
        if size > MAX_SENT {
            return Err(too_large(size, MAX_SENT, "a message"));
        }
        Ok(filled(json, marked))
    }

    /// Replaces the placeholder in a URL by its data.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] for an unknown placeholder.
    pub fn restore_url(&self, url: &str) -> Result<String> {
        let mark = part::in_url(url).and_then(|place| Some((part::mark(url, &place)?, place)));
        let Some((number, place)) = mark else { return Ok(url.to_owned()) };
        Ok(filled(url, vec![self.stood_for(number, place)?]).into_owned())
    }

    /// The bytes that restoring adds to a chat message.
    pub fn weight(&self, message: &str) -> usize {
        self.marked(message).as_deref().map_or(0, sum)
    }

    /// Restores the messages of a request for `whom`, with at most `most` bytes of base64. The newest media are
    /// included first; older ones are replaced by a text that describes them. Media after the model's last answer are
    /// never left out.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] for an unknown placeholder, and if the media after the model's last answer exceed
    /// `most`.
    pub fn restore_request<'m>(
        &self,
        messages: &'m [impl AsRef<str>],
        most: usize,
        whom: &str,
    ) -> Result<Vec<Cow<'m, str>>> {
        let messages = messages.iter().map(AsRef::as_ref);
        let is_answer = |message: &str| json::get(message, "role") == Some("\"assistant\"");
        let now = messages.clone().rposition(is_answer).map_or(0, |at| at + 1);
        let mut left = most;
        let mut filled_in = Vec::with_capacity(messages.len());
        for (at, message) in messages.enumerate().rev() {
            let marked = self.marked(message)?;
            let size = sum(&marked);
            filled_in.push(match left.checked_sub(size) {
                Some(rest) => {
                    left = rest;
                    filled(message, marked)
                }
                None if at >= now => return Err(too_large(most - left + size, most, whom)),
                None => self.left_out(message).into(),
            });
        }
        filled_in.reverse();
        Ok(filled_in)
    }

    /// The prompt as text for people: its texts, and descriptions of its media, one per line.
    pub fn told(&self, parts: &str) -> String {
        let told = |part: &str| match told(part, &|mark| self.size(mark)) {
            Some(told) => Some(told),
            None => json::get(part, "text").and_then(json::string),
        };
        part::media_parts(parts).into_iter().filter_map(told).collect::<Vec<_>>().join("\n")
    }

    /// The message with a text in place of each part that has a placeholder.
    fn left_out(&self, message: &str) -> String {
        let parts = part::media_parts(message).into_iter().filter(|part| part::places_in(part, part).next().is_some());
        let texts = parts.filter_map(|part| {
            let told = told(part, &|mark| self.size(mark))?;
            let text = format!("{told} (left out: the request would be too large)");
            let text = format!(r#"{{"type": "text", "text": {}}}"#, json::quote(&text));
            Some((part::place_of(part, message), text))
        });
        replaced(message, texts).into_owned()
    }

    /// The size of a placeholder's data in bytes.
    fn size(&self, mark: usize) -> Option<u64> {
        self.held().data.get(mark).map(|data| part::decoded(data))
    }

    fn mark(&self, data: &str) -> Option<String> {
        let mut held = self.held();
        if let Some(number) = held.places.get(data) {
            return Some(part::written(*number));
        }
        held.size = held.size.checked_add(data.len()).filter(|size| *size <= MAX_HELD)?;
        let (data, number): (Arc<str>, usize) = (data.into(), held.data.len());
        held.data.push(Arc::clone(&data));
        held.places.insert(data, number);
        Some(part::written(number))
    }

    fn marked(&self, json: &str) -> Result<Vec<Marked>> {
        let mut marked = Vec::new();
        for place in part::places(json) {
            let Some(number) = part::mark(json, &place) else { continue };
            marked.push(self.stood_for(number, place)?);
        }
        Ok(marked)
    }

    fn stood_for(&self, number: usize, place: std::ops::Range<usize>) -> Result<Marked> {
        let data = self.held().data.get(number).map(Arc::clone);
        let unknown = || format!("`{}` is no media placeholder of this turn", part::written(number));
        Ok(Marked { place, data: data.ok_or_else(|| Error::invalid(unknown()))? })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }
}

fn sum(marked: &[Marked]) -> usize {
    marked.iter().map(|marked| marked.data.len()).fold(0, usize::saturating_add)
}

fn filled(json: &str, marked: Vec<Marked>) -> Cow<'_, str> {
    replaced(json, marked.into_iter().map(|marked| (marked.place, marked.data)))
}

/// Replaces some parts of the text, in order.
fn replaced(text: &str, pieces: impl Iterator<Item = (std::ops::Range<usize>, impl AsRef<str>)>) -> Cow<'_, str> {
    let mut made = String::new();
    let mut from = 0;
    for (place, instead) in pieces {
        made.push_str(text.get(from..place.start).unwrap_or_default());
        made.push_str(instead.as_ref());
        from = place.end;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    made.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(made)
}

fn too_large(size: usize, most: usize, whom: &str) -> Error {
    let [size, most] = [size, most].map(|bytes| text::bytes(bytes as u64));
    Error::invalid(format!("the media come to {size} in base64, and {whom} takes {most}: attach less"))
}
