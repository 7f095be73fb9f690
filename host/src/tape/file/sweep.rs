//! Looking for the newest entries of several sorts in one pass, for a long tape that has no index yet.
//!
//! A turn looks up a handful of names that most tapes hold nowhere. To know that, all of the file has to be looked at; but
//! not parsed, and not once for each name.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Weak};

use aho_corasick::AhoCorasick;

use super::super::entry::Entry;
use super::super::sought::Sought;
use super::search::blocks::Blocks;

/// What a turn looks up at its beginning, wherever it stands.
const EVENTS: [&str; 5] =
    ["turn.tainted", "turn.addresses", "selector_switch", "model_switch", "reasoning_effort_switch"];
const ANCHORS: [&str; 2] = ["memory/open", "memory/seal"];

/// What may stand for a letter or a slash of a name: a line with one of these is read to know.
const ESCAPES: [&str; 7] = [r"\u002", r"\u003", r"\u004", r"\u005", r"\u006", r"\u007", r"\/"];

/// What was found in the first bytes of a tape's file.
#[derive(Default)]
pub(super) struct Swept {
    file: Weak<File>,
    /// How many bytes those are.
    pub(super) end: u64,
    found: HashMap<String, Option<Entry>>,
}

impl Swept {
    /// Whether it is of that file, and says something of what is sought.
    pub(super) fn knows(&self, file: &Arc<File>, sought: &Sought) -> Option<&Option<Entry>> {
        let is_of = std::ptr::eq(self.file.as_ptr(), Arc::as_ptr(file));
        if is_of { self.found.get(&key(sought)) } else { None }
    }

    /// Looks through the first `end` bytes, which end with a line, for what is sought and what a turn looks up besides.
    pub(super) fn of(file: &Arc<File>, end: u64, sought: &Sought) -> io::Result<Self> {
        let mut all: Vec<Sought> = EVENTS.iter().map(|name| Sought::event(name)).collect();
        all.extend(ANCHORS.iter().map(|name| Sought::anchor(name)));
        if !all.contains(sought) {
            all.push(sought.clone());
        }
        let mut left: Vec<&Sought> = all.iter().collect();
        let mut found = HashMap::new();
        let mut finder = finder(&left)?;
        let mut blocks = Blocks::new(file, end);
        while !left.is_empty()
            && let Some(block) = blocks.next()?
        {
            let before = left.len();
            look(block, &finder, &mut left, &mut found);
            if left.len() < before {
                finder = self::finder(&left)?;
            }
        }
        found.extend(left.into_iter().map(|sought| (key(sought), None)));
        Ok(Self { file: Arc::downgrade(file), end, found })
    }
}

/// The newest of each sort in these lines.
fn look(block: &[u8], finder: &AhoCorasick, left: &mut Vec<&Sought>, found: &mut HashMap<String, Option<Entry>>) {
    let mut lines: Vec<(usize, usize)> = Vec::new();
    for hit in finder.find_iter(block) {
        if lines.last().is_some_and(|(_, end)| hit.start() < *end) {
            continue;
        }
        let begin = block.get(..hit.start()).and_then(|head| memchr::memrchr(b'\n', head)).map_or(0, |at| at + 1);
        let rest = block.get(hit.end()..).unwrap_or_default();
        lines.push((begin, memchr::memchr(b'\n', rest).map_or(block.len(), |at| hit.end() + at)));
    }
    for (begin, end) in lines.into_iter().rev() {
        let line = block.get(begin..end).and_then(|line| std::str::from_utf8(line).ok());
        let Some(entry) = line.and_then(Entry::parse) else { continue };
        left.retain(|sought| {
            let is_found = sought.is(&entry);
            if is_found {
                found.insert(key(sought), Some(entry.clone()));
            }
            !is_found
        });
    }
}

fn finder(left: &[&Sought]) -> io::Result<AhoCorasick> {
    let needles = left.iter().map(|sought| match sought {
        Sought::Kind(kind) => kind.as_str(),
        Sought::Named { name, .. } => name.as_str(),
        Sought::Phase | Sought::Anchor => "anchor",
    });
    AhoCorasick::new(needles.chain(ESCAPES)).map_err(io::Error::other)
}

fn key(sought: &Sought) -> String {
    format!("{sought:?}")
}
