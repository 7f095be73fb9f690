//! A search for the newest entries of several kinds in one pass, for a long tape without an index.
//!
//! A turn looks up a handful of names that most tapes do not have. One pass over the bytes of the file finds all of
//! them without parsing.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Weak};

use aho_corasick::packed;
use memchr::memmem;

use super::super::entry::Entry;
use super::super::lookup::Lookup;
use super::scan::Forward;
use super::search::blocks::Blocks;

/// Minimum bytes per thread.
const LEAST: u64 = 8 * 1024 * 1024;

/// The names of events and anchors that a turn looks up when it begins, each with its end, which is searched for. Ends
/// are rarer than beginnings: `"con` is in every line with a `"content"`.
const LOOKED_UP: [(&str, &str, &str); 9] = [
    ("_switch\"", "event", "selector_switch"),
    ("_switch\"", "event", "model_switch"),
    ("_switch\"", "event", "reasoning_effort_switch"),
    (".tainted\"", "event", "turn.tainted"),
    (".addresses\"", "event", "turn.addresses"),
    (".cut\"", "event", "context.cut"),
    (".selected\"", "event", "context.selected"),
    ("memory/", "anchor", "memory/open"),
    ("memory/", "anchor", "memory/seal"),
];

/// Escapes that may replace a letter of a name: a line with one of these must be parsed.
const ESCAPED_LETTER: &str = r"\u00";

/// The same for a slash. It is searched for by itself, because the search for several parts compares as many bytes as
/// the shortest of them has.
const ESCAPED_SLASH: &str = r"\/";

/// The results for the beginning of a tape's file.
#[derive(Default)]
pub(super) struct Swept {
    file: Weak<File>,
    /// The length of that beginning.
    pub(super) end: u64,
    found: HashMap<String, Option<Entry>>,
}

impl Swept {
    /// Whether it is of that file and has a result for `lookup`.
    pub(super) fn knows(&self, file: &Arc<File>, lookup: &Lookup) -> Option<&Option<Entry>> {
        let is_of = std::ptr::eq(self.file.as_ptr(), Arc::as_ptr(file));
        if is_of { self.found.get(&key(lookup)) } else { None }
    }

    /// Searches the first `end` bytes, which end with a line, for `lookup` and the names that a turn looks up.
    pub(super) fn sweep(file: &Arc<File>, end: u64, lookup: &Lookup) -> io::Result<Self> {
        let named = |kind: &str, name: &str| Lookup::Named { kind: kind.to_owned(), name: name.to_owned() };
        let mut left: Vec<(String, Lookup)> =
            LOOKED_UP.iter().map(|(part, kind, name)| ((*part).to_owned(), named(kind, name))).collect();
        // Where the phase begins, and the system prompt that was last recorded.
        left.extend(
            [Lookup::Phase, Lookup::Anchor, Lookup::Kind("system".to_owned())].map(|other| (part_of(&other), other)),
        );
        if !left.iter().any(|(_, other)| other == lookup) {
            left.push((part_of(lookup), lookup.clone()));
        }
        let mut found = HashMap::new();
        for mut in_part in in_parts(file, end, &left)?.into_iter().rev() {
            left.retain(|(_, lookup)| {
                let newest = in_part.remove(&key(lookup));
                let is_found = newest.is_some();
                found.extend(newest.map(|newest| (key(lookup), Some(newest))));
                !is_found
            });
        }
        found.extend(left.into_iter().map(|(_, lookup)| (key(&lookup), None)));
        Ok(Self { file: Arc::downgrade(file), end, found })
    }
}

/// Results of the parts of the file, in order, on at most three threads.
///
/// One processor is left free, because the first turn of a process loads its plugins meanwhile.
fn in_parts(file: &File, end: u64, left: &[(String, Lookup)]) -> io::Result<Vec<HashMap<String, Entry>>> {
    let threads = std::thread::available_parallelism().map_or(1, |all| all.get().saturating_sub(1).clamp(1, 3) as u64);
    let parts = (end / LEAST).clamp(1, threads);
    let mut bounds = vec![0];
    for part in 1..parts {
        // A line that crosses a bound belongs to the preceding part.
        let mut lines = Forward::short(file, end / parts * part, end);
        lines.next()?;
        bounds.push(lines.at);
    }
    bounds.push(end);
    std::thread::scope(|scope| {
        let look = |start: u64, end: u64| -> io::Result<HashMap<String, Entry>> {
            let mut left = left.to_vec();
            let mut found = HashMap::new();
            let mut blocks = Blocks::between(file, start, end);
            let mut search = Search::new(&left);
            while !left.is_empty()
                && let Some(block) = blocks.next()?
            {
                let before = left.len();
                look(block, &search, &mut left, &mut found);
                if left.len() < before {
                    search = Search::new(&left);
                }
            }
            Ok(found)
        };
        let bounds = bounds.iter().zip(bounds.iter().skip(1));
        let parts: Vec<_> = bounds.map(|(start, end)| scope.spawn(move || look(*start, *end))).collect();
        let broken = |_| Err(io::Error::other("a thread that searched the tape has ended"));
        parts.into_iter().map(|part| part.join().unwrap_or_else(broken)).collect()
    })
}

/// A search for the parts of several lookups, and for the escapes that may hide one.
struct Search {
    parts: Vec<String>,
    /// Finds all of them in one pass; none on processors and for parts that it does not support.
    at_once: Option<packed::Searcher>,
}

impl Search {
    fn new(left: &[(String, Lookup)]) -> Self {
        let mut parts: Vec<String> = left.iter().map(|(part, _)| part.clone()).collect();
        parts.push(ESCAPED_LETTER.to_owned());
        parts.dedup();
        let at_once = packed::Config::new().builder().extend(&parts).build();
        Self { parts, at_once }
    }

    /// Calls `each` with the places in `block` that a part begins at, in any order.
    fn hits(&self, block: &[u8], mut each: impl FnMut(usize)) {
        match &self.at_once {
            Some(at_once) => at_once.find_iter(block).for_each(|hit| each(hit.start())),
            None => {
                self.parts.iter().for_each(|part| memmem::find_iter(block, part).for_each(&mut each));
            }
        }
        memmem::find_iter(block, ESCAPED_SLASH).for_each(each);
    }
}

/// Finds the newest entry of each kind in these lines.
fn look(block: &[u8], search: &Search, left: &mut Vec<(String, Lookup)>, found: &mut HashMap<String, Entry>) {
    let mut lines: Vec<(usize, usize)> = Vec::new();
    let mut last = 0..0;
    search.hits(block, |hit| {
        if last.contains(&hit) {
            return;
        }
        let begin = block.get(..hit).and_then(|head| memchr::memrchr(b'\n', head)).map_or(0, |at| at + 1);
        let rest = block.get(hit..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).map_or(block.len(), |at| hit + at);
        last = begin..end;
        lines.push((begin, end));
    });
    lines.sort_unstable();
    lines.dedup();
    for (begin, end) in lines.into_iter().rev() {
        let line = block.get(begin..end).and_then(|line| std::str::from_utf8(line).ok());
        let Some(entry) = line.and_then(Entry::parse) else { continue };
        left.retain(|(_, lookup)| {
            let is_found = lookup.matches(&entry);
            if is_found {
                found.insert(key(lookup), entry.clone());
            }
            !is_found
        });
    }
}

/// The bytes that every matching line contains, unless they are escaped; empty if JSON must escape them.
fn part_of(lookup: &Lookup) -> String {
    let part = match lookup {
        Lookup::Kind(kind) => kind,
        Lookup::Named { name, .. } => name,
        Lookup::Phase | Lookup::Anchor => "anchor",
    };
    let is_plain = !part.chars().any(|character| character.is_control() || matches!(character, '"' | '\\'));
    if is_plain { format!("\"{part}\"") } else { String::new() }
}

fn key(lookup: &Lookup) -> String {
    format!("{lookup:?}")
}
