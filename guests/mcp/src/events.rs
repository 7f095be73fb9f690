//! Server-sent events: the messages in a stream.

use crate::message::MAX_MESSAGE;
use bub_guest::http::Stream;
use bub_guest::{Error, Result};

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
}

impl Events {
    pub fn new(stream: Stream) -> Self {
        Self { stream, buffer: Vec::new(), start: 0, searched: 0, data: String::new(), is_other: false }
    }

    /// The data of the next event; none at the end.
    ///
    /// # Errors
    ///
    /// The connection broke, the time is up, or an event is too long.
    pub fn next(&mut self) -> Result<Option<String>> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
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
                _ => {}
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
