//! Server-sent events: the messages in a stream, and where it can be resumed.

use crate::message::MAX_MESSAGE;
use bub_guest::http::Stream;
use bub_guest::{Error, Result};
use std::time::Duration;

/// The longest id of an event with which a stream is resumed, in bytes.
const MAX_ID: usize = 1_024;

/// The pause before a stream is resumed, where the server names none.
const PAUSE: Duration = Duration::from_secs(1);

/// Where a stream broke off.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The id of the last whole event, for `last-event-id`. Without one, nothing can be resumed.
    id: Option<String>,
    /// The id of the event that is being read, which those after it have until another comes.
    next: Option<String>,
    /// The pause that the server asked for.
    pause: Option<Duration>,
}

impl Place {
    /// The id of the last event and the pause before the stream is asked for again; none if it cannot be resumed.
    pub fn resumed(&self) -> Option<(&str, Duration)> {
        Some((self.id.as_deref()?, self.pause.unwrap_or(PAUSE)))
    }

    /// An event is whole.
    fn pass(&mut self) {
        self.id.clone_from(&self.next);
    }

    /// Reads a field of an event.
    fn take(&mut self, field: &str, value: &str) {
        match field {
            // The id becomes a header's value. One that is redacted or holds a placeholder must not go back.
            "id" => {
                let is_plain = value.len() <= MAX_ID && value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
                self.next = (is_plain && !value.is_empty() && !value.contains("{{")).then(|| value.to_owned());
            }
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.pause = value.parse().ok().map(Duration::from_millis).or(self.pause);
            }
            _ => {}
        }
    }
}

/// Splits the body of a response into the data of its events.
pub struct Events {
    stream: Stream,
    buffer: Vec<u8>,
    /// Where the next line begins in the buffer.
    start: usize,
    /// Up to where the buffer has no line end.
    searched: usize,
    data: String,
    /// Whether the event is one of another kind than `message`.
    is_other: bool,
    place: Place,
}

impl Events {
    /// The events of a stream that goes on at that place.
    pub fn new(stream: Stream, place: Place) -> Self {
        Self { stream, buffer: Vec::new(), start: 0, searched: 0, data: String::new(), is_other: false, place }
    }

    /// Where the stream stands.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The data of the next event; none at the end.
    ///
    /// # Errors
    ///
    /// The connection broke, the time is up, or an event is too long.
    pub fn next(&mut self) -> Result<Option<String>> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
                self.place.pass();
                let (data, is_other) = (std::mem::take(&mut self.data), std::mem::take(&mut self.is_other));
                if !data.is_empty() && !is_other {
                    return Ok(Some(data));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => {
                    if self.data.len() + value.len() > MAX_MESSAGE {
                        return Err(too_long());
                    }
                    if !self.data.is_empty() {
                        self.data.push('\n');
                    }
                    self.data.push_str(value);
                }
                "event" => self.is_other = value != "message",
                _ => self.place.take(field, value),
            }
        }
        Ok(None)
    }

    /// The next line; none at the end. A line that the end of the stream cuts off is dropped, as events are.
    fn line(&mut self) -> Result<Option<String>> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') {
                let end = self.searched + at;
                let line = self.buffer.get(self.start..end).unwrap_or_default();
                let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
                (self.start, self.searched) = (end + 1, end + 1);
                return Ok(Some(line));
            }
            self.buffer.drain(..self.start);
            (self.start, self.searched) = (0, self.buffer.len());
            if self.buffer.len() > MAX_MESSAGE {
                return Err(too_long());
            }
            match self.stream.read()? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }
}

fn too_long() -> Error {
    Error::tool(format!("it sent a message of more than {} MiB", MAX_MESSAGE >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_resumed_after_its_last_plain_id_and_the_pause_that_was_asked_for() {
        let mut place = Place::default();
        assert_eq!(place.resumed(), None);
        place.take("retry", "250");
        place.take("id", "7");
        assert_eq!(place.resumed(), None, "the event is not whole");
        place.pass();
        assert_eq!(place.resumed(), Some(("7", Duration::from_millis(250))));
        for nonsense in ["", "-1", "1e3", "99999999999999999999999"] {
            place.take("retry", nonsense);
        }
        place.take("id", "event 8");
        place.pass();
        assert_eq!(place.resumed(), Some(("event 8", Duration::from_millis(250))));
        for odd in ["", "caf\u{e9}", "a\u{0}", "{{secret:it-key}}", &"x".repeat(MAX_ID + 1)] {
            place.take("id", "8");
            place.take("id", odd);
            place.pass();
            assert_eq!(place.resumed(), None, "{odd}");
        }
    }
}
