//! Redaction of secrets, in whole texts and in streams.
//!
//! It finds the strings that [`encodings`] derives from a value, case-insensitively and in any mixture of
//! percent-encoding, escapes and HTML references. This is a safety net: an attacker who controls an answer can choose
//! an encoding that it does not know, so only grants protect secrets reliably.
//!
//! A text is matched twice in parallel: as it is, and decoded. Bytes that cannot begin a match are skipped, so the cost
//! is one table lookup per byte for ordinary text, whatever the number of strings.
//!
//! Secrets whose values are not known are redacted by their form ([`mask`], [`proxy_address`]).

#![warn(missing_docs, unreachable_pub)]

mod decode;
mod encodings;
mod form;
mod patterns;

pub use encodings::all as encodings;
pub use encodings::{sort_longest_first, url_encode};
pub use form::{mask, proxy_address};
pub use patterns::Patterns;

use decode::{Unit, unit};
use patterns::{Machine, StateID};
use std::collections::VecDeque;
use std::sync::Arc;

/// Replaces a secret.
pub const REPLACEMENT: &str = "***";

/// Redacts a stream of bytes; holds back bytes that may begin a secret.
#[derive(Clone)]
pub struct RedactStream {
    machine: Option<Arc<Machine>>,
    /// Bytes that are held back.
    held: Vec<u8>,
    /// How many of the held bytes were matched already.
    read: usize,
    /// The matcher states for the raw and for the decoded text.
    plain: Reading,
    decoded: Reading,
    /// Where secrets begin and end among the held bytes, in order.
    found: VecDeque<(usize, usize)>,
    /// How many of the next bytes belong to a secret whose replacement was emitted.
    covered: usize,
}

/// A matcher's state.
#[derive(Clone)]
struct Reading {
    state: StateID,
    /// For each byte of a partial match, its position in `held`.
    starts: VecDeque<usize>,
}

impl RedactStream {
    /// A stream that redacts `patterns`.
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

    /// Feeds `bytes`, and returns what can be emitted.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.take(bytes, false)
    }

    /// Ends the stream, and returns what was held back.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(&[], true)
    }

    fn take(&mut self, bytes: &[u8], is_end: bool) -> Vec<u8> {
        let Some(machine) = self.machine.clone() else { return bytes.to_vec() };
        self.held.extend_from_slice(bytes);
        while self.read < self.held.len() {
            if self.plain.is_idle(&machine) && self.decoded.is_idle(&machine) {
                // No partial match: skip to a byte that may begin one.
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

    /// Emits the first `safe` held bytes, redacted.
    fn go_on(&mut self, safe: usize) -> Vec<u8> {
        let mut passed = Vec::with_capacity(safe);
        let mut at = 0;
        while at < safe {
            // Overlapping secrets are redacted as one.
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
                    passed.extend_from_slice(REPLACEMENT.as_bytes());
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

    /// Feeds one decoded byte whose encoding is at that position.
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
    /// Redacts a complete byte string.
    pub fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = RedactStream::new(self);
        stream.take(bytes, true)
    }

    /// Redacts a complete text.
    pub fn redact_text(&self, text: &str) -> String {
        match self.is_empty() {
            true => text.to_owned(),
            // Invalid UTF-8 arises only if a pattern is not UTF-8 itself.
            false => String::from_utf8_lossy(&self.redact(text.as_bytes())).into_owned(),
        }
    }
}
