//! Detection of damage that crashes or other programs have done to a tape.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, Read};

use super::entry::{Entry, LONGEST_LINE};
use super::ids::{Ids, is_usable};
use super::json;

/// How many entries back repetitions are detected: more than a turn has.
const REMEMBERED: usize = 20_000;

/// Maximum faults that are reported; a file that is not a tape has one in each line.
const MAX_FAULTS: usize = 1000;

/// An inconsistency that a store's own writes do not cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A line that is not an entry; readers skip it.
    Unreadable {
        /// Number of the line, from 1.
        line: u64,
    },
    /// The last line is incomplete; the next append moves it to a `.torn` file.
    Torn {
        /// Number of the line, from 1.
        line: u64,
        /// Its length in bytes.
        bytes: u64,
    },
    /// The id on the line is not greater than the one before it, or exceeds the maximum.
    Order {
        /// The id on the line.
        id: u64,
        /// The id before it.
        before: u64,
        /// The id that readers give the entry.
        read_as: u64,
    },
    /// A run of entries repeats an earlier run, dates included: a turn that was committed twice, around a loss of power.
    Repeated {
        /// The first id of the repetition.
        first: u64,
        /// Its last id.
        last: u64,
        /// The first id of the original run.
        original: u64,
    },
    /// Tool calls after the latest anchor have no result.
    OpenCalls {
        /// The id of the entry with the calls.
        id: u64,
        /// The number of calls without a result.
        calls: usize,
    },
}

/// Checks the entries of a tape in order, in bounded memory.
#[derive(Default)]
pub struct Verifier {
    lines: u64,
    entries: u64,
    /// The id on the last line, and the entry's.
    last_id: u64,
    numbers: Ids,
    hasher: RandomState,
    /// Hashes of the most recent entries, and the newest id of each.
    hashes: VecDeque<u64>,
    ids: HashMap<u64, u64>,
    repeated: Option<Run>,
    /// The newest calls without results.
    open: Option<(u64, usize)>,
    open_calls: Vec<Fault>,
    faults: Vec<Fault>,
    untold: u64,
}

/// Consecutive entries that occurred before.
struct Run {
    first: u64,
    last: u64,
    original: u64,
    original_last: u64,
}

/// The result of a verification.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The number of entries read.
    pub entries: u64,
    /// In the order of the tape, with open calls last.
    pub faults: Vec<Fault>,
    /// The number of further faults.
    pub untold: u64,
}

impl Verifier {
    /// A verifier that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks all lines. `seen` is called after each with the number of entries.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub fn read(&mut self, lines: &mut impl BufRead, mut seen: impl FnMut(u64)) -> io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if lines.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut bytes)? == 0 {
                return Ok(());
            }
            self.lines += 1;
            let mut length = bytes.len() as u64;
            let mut ended = bytes.pop_if(|byte| *byte == b'\n').is_some();
            let too_long = length > LONGEST_LINE as u64;
            while !ended && too_long {
                // Skips the rest of a line.
                bytes.clear();
                let more = lines.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut bytes)?;
                length += more as u64;
                ended = bytes.ends_with(b"\n") || more == 0;
            }
            let text = if too_long { None } else { std::str::from_utf8(&bytes).ok() };
            match text.and_then(Entry::parse) {
                Some(entry) => self.entry(&entry),
                None if ended => self.report(Fault::Unreadable { line: self.lines }),
                None => self.report(Fault::Torn { line: self.lines, bytes: length }),
            }
            seen(self.entries);
        }
    }

    /// Checks the next entry of a store without lines.
    pub fn entry(&mut self, entry: &Entry) {
        self.entries += 1;
        let read_as = self.numbers.next(entry.id);
        if entry.id <= self.last_id || !is_usable(entry.id) {
            self.report(Fault::Order { id: entry.id, before: self.last_id, read_as });
        }
        self.last_id = entry.id;
        let entry = Entry { id: read_as, ..entry.clone() };
        self.check_repetition(&entry);
        self.follow_calls(&entry);
    }

    /// The result.
    pub fn finish(mut self) -> Verified {
        self.end_run();
        self.end_calls();
        let open = std::mem::take(&mut self.open_calls);
        open.into_iter().for_each(|fault| self.report(fault));
        Verified { entries: self.entries, faults: self.faults, untold: self.untold }
    }

    fn report(&mut self, fault: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        } else {
            self.untold += 1;
        }
    }

    fn check_repetition(&mut self, entry: &Entry) {
        let hash = self.hasher.hash_one((&entry.kind, &entry.payload, &entry.meta, &entry.date));
        let original = self.ids.insert(hash, entry.id);
        self.hashes.push_back(hash);
        if self.hashes.len() > REMEMBERED
            && let Some(oldest) = self.hashes.pop_front()
            // It may have occurred again since.
            && self.ids.get(&oldest).is_some_and(|id| id.saturating_add(REMEMBERED as u64) <= entry.id)
        {
            self.ids.remove(&oldest);
        }
        let Some(original) = original else {
            return self.end_run();
        };
        match &mut self.repeated {
            Some(run) if original == run.original_last.saturating_add(1) => {
                run.last = entry.id;
                run.original_last = original;
            }
            _ => {
                self.end_run();
                self.repeated = Some(Run { first: entry.id, last: entry.id, original, original_last: original });
            }
        }
    }

    /// A single entry may be equal to another by chance, with drafts of one moment; a turn has more entries.
    fn end_run(&mut self) {
        if let Some(Run { first, last, original, original_last }) = self.repeated.take()
            && first != last
            && original_last < first
        {
            self.report(Fault::Repeated { first, last, original });
        }
    }

    fn follow_calls(&mut self, entry: &Entry) {
        let items = |key: &str| {
            let list = json::get(&entry.payload, key).and_then(|list| json::elements(list).ok());
            list.map_or(0, |list| list.len())
        };
        match &*entry.kind {
            "tool_call" => {
                self.end_calls();
                self.open = Some((entry.id, items("calls")));
            }
            "tool_result" => {
                if let Some((_, calls)) = &mut self.open {
                    *calls = calls.saturating_sub(items("results"));
                }
                self.end_calls();
            }
            "message" => self.end_calls(),
            // Earlier entries are not sent to models.
            "anchor" if entry.begins_phase() => {
                self.open = None;
                self.open_calls.clear();
            }
            _ => {}
        }
    }

    fn end_calls(&mut self) {
        if let Some((id, calls)) = self.open.take()
            && calls > 0
            && self.open_calls.len() < MAX_FAULTS
        {
            self.open_calls.push(Fault::OpenCalls { id, calls });
        }
    }
}
