//! Takes secrets out of a text, also where it comes in pieces.
//!
//! What is looked for are the strings that [`encodings`] makes of a value. They are found in any case of their letters, and
//! under whichever mixture of percent-encoding, escapes and HTML references their characters are spelled. This is a net: who
//! can choose what a program answers can choose a spelling that it does not know, so what must not reach a secret is not
//! granted it.
//!
//! A text is read twice, in step: as it stands, and with its spellings undone. Both readings are the same until the first
//! spelling comes, and where nothing of a string has begun, neither is made. So the cost is one look at each byte for a text
//! without any, whatever the number of strings, and a few steps a byte for any other.

#![warn(missing_docs, unreachable_pub)]

mod decode;
mod encodings;
mod patterns;

pub use encodings::all as encodings;
pub use encodings::{sort_longest_first, url_encode};
pub use patterns::Patterns;

use decode::{Unit, unit};
use patterns::{Machine, StateID};
use std::collections::VecDeque;
use std::sync::Arc;

/// What stands in the place of a secret.
const REPLACEMENT: &[u8] = b"***";

/// A text on its way, of which what may still become a secret is held back.
#[derive(Clone)]
pub struct RedactStream {
    machine: Option<Arc<Machine>>,
    /// Bytes that have come and not gone on.
    held: Vec<u8>,
    /// How many of them were read.
    read: usize,
    /// As it stands, and with its spellings undone.
    plain: Reading,
    decoded: Reading,
    /// Where secrets begin and end among the held bytes, in order.
    found: VecDeque<(usize, usize)>,
    /// How many of the bytes that come next belong to a secret whose mark has gone on.
    covered: usize,
}

/// One way of reading.
#[derive(Clone)]
struct Reading {
    state: StateID,
    /// Of the bytes that may be a secret's beginning: where in `held` each is spelled.
    starts: VecDeque<usize>,
}

impl RedactStream {
    /// Takes out what `patterns` find.
    pub fn new(patterns: &Patterns) -> Self {
        let machine = patterns.machine().cloned();
        let state = machine.as_ref().map_or(StateID::ZERO, |machine| machine.start);
        let reading = Reading { state, starts: VecDeque::new() };
        Self {
            machine,
            held: Vec::new(),
            read: 0,
            plain: reading.clone(),
            decoded: reading,
            found: VecDeque::new(),
            covered: 0,
        }
    }

    /// What can go on once `bytes` have come.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.take(bytes, false)
    }

    /// What was held back, when nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(&[], true)
    }

    fn take(&mut self, bytes: &[u8], is_end: bool) -> Vec<u8> {
        let Some(machine) = self.machine.clone() else { return bytes.to_vec() };
        self.held.extend_from_slice(bytes);
        while self.read < self.held.len() {
            if self.plain.is_idle(&machine) && self.decoded.is_idle(&machine) {
                // Nothing has begun: on to what may begin something.
                let wakes = |byte: &u8| machine.wakes.get(usize::from(*byte)).copied().unwrap_or(true);
                let rest = self.held.get(self.read..).unwrap_or_default();
                self.read += rest.iter().position(wakes).unwrap_or(rest.len());
            }
            let rest = self.held.get(self.read..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let (at, length) = match unit(rest, is_end) {
                Unit::Unknown => break,
                Unit::Byte(byte, length) => {
                    self.decoded.see(&machine, byte, (self.read, self.read + length), &mut self.found);
                    (self.read, length)
                }
                Unit::Char(character, length) => {
                    let mut spelled = [0; 4];
                    for byte in character.encode_utf8(&mut spelled).bytes() {
                        self.decoded.see(&machine, byte, (self.read, self.read + length), &mut self.found);
                    }
                    (self.read, length)
                }
            };
            self.read += length;
            for (place, byte) in self.held.iter().enumerate().take(self.read).skip(at) {
                self.plain.see(&machine, *byte, (place, place + 1), &mut self.found);
            }
        }
        let begun = |reading: &Reading| reading.starts.front().copied().unwrap_or(self.read);
        let safe = if is_end { self.held.len() } else { begun(&self.plain).min(begun(&self.decoded)) };
        self.go_on(safe)
    }

    /// Lets the first `safe` of the held bytes go on, without the secrets among them.
    fn go_on(&mut self, safe: usize) -> Vec<u8> {
        let mut passed = Vec::with_capacity(safe);
        let mut at = 0;
        while at < safe {
            // Secrets that overlap are taken out as one.
            while let Some((_, end)) = self.found.front().copied().filter(|(start, _)| *start < self.covered) {
                self.covered = self.covered.max(end);
                self.found.pop_front();
            }
            if at < self.covered {
                at = self.covered.min(safe);
                continue;
            }
            match self.found.front().copied() {
                Some((start, end)) if start <= at => {
                    passed.extend_from_slice(REPLACEMENT);
                    self.covered = end;
                    self.found.pop_front();
                }
                next => {
                    let until = next.map_or(safe, |(start, _)| start.min(safe));
                    passed.extend_from_slice(self.held.get(at..until).unwrap_or_default());
                    at = until;
                }
            }
        }
        self.held.drain(..safe.min(self.held.len()));
        self.read = self.read.saturating_sub(safe);
        self.covered = self.covered.saturating_sub(safe);
        for (start, end) in &mut self.found {
            (*start, *end) = (start.saturating_sub(safe), end.saturating_sub(safe));
        }
        for reading in [&mut self.plain, &mut self.decoded] {
            reading.starts.iter_mut().for_each(|start| *start = start.saturating_sub(safe));
        }
        passed
    }
}

impl Reading {
    fn is_idle(&self, machine: &Machine) -> bool {
        self.state == machine.start
    }

    /// Reads one more byte, which is spelled at that place.
    fn see(&mut self, machine: &Machine, byte: u8, (start, end): (usize, usize), found: &mut VecDeque<(usize, usize)>) {
        self.state = machine.next(self.state, byte);
        self.starts.push_back(start);
        if let Some(length) = machine.longest_match(self.state)
            && let Some(begin) = self.starts.len().checked_sub(length).and_then(|first| self.starts.get(first))
        {
            let secret = (*begin, end);
            let place = found.partition_point(|other| *other <= secret);
            if place == 0 || found.get(place - 1) != Some(&secret) {
                found.insert(place, secret);
            }
        }
        let depth = machine.depth(self.state);
        self.starts.drain(..self.starts.len().saturating_sub(depth));
    }
}

impl Patterns {
    /// `bytes`, which are all that there is, without what is looked for.
    pub fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = RedactStream::new(self);
        stream.take(bytes, true)
    }

    /// A text without what is looked for.
    pub fn redact_text(&self, text: &str) -> String {
        match self.is_empty() {
            true => text.to_owned(),
            // A string may end within a character of the text only where it is none itself.
            false => String::from_utf8_lossy(&self.redact(text.as_bytes())).into_owned(),
        }
    }
}
