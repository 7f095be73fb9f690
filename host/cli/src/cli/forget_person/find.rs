//! What a person has said, on all tapes of the home: first what is theirs, then what quotes it.

use super::archives::Archives;
use super::memory::{self, Writer};
use super::quotes::Quotes;
use super::turns::{Attribution, Part, words};
use crate::cli::tape::TapeLocation;
use anyhow::Result;
use bub_tape::{Entry, FORGOTTEN, MEMORY, Tape, digest_of, entry_text};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Entries that are read at once.
const PAGE: usize = 256;

/// Sidecars of the host. Digests and receipts hold no words of a conversation.
const CHAIN: &str = "chain";
const RECEIPTS: &str = "receipts";

/// What is erased of one tape.
pub(super) struct FoundTape {
    pub(super) tape: Tape,
    pub(super) session: Option<String>,
    /// The turns of the person.
    pub(super) turns: Vec<Entry>,
    /// Other entries with their words: on the tape, or in a sidecar.
    pub(super) derived: Vec<(Option<String>, Vec<Entry>)>,
    /// Whether the memory of the tape, or of the sidecar, holds lines of theirs now.
    pub(super) memory: bool,
    /// Entries of archives and of the trash, by their digests: those of the turns, and those that quote them.
    pub(super) archived: BTreeMap<String, Entry>,
    pub(super) archived_derived: BTreeMap<String, Entry>,
    /// Entries of the memory that hold lines of theirs: on the tape, or in a sidecar.
    pub(super) superseded: Vec<(Option<String>, Vec<Entry>)>,
    /// Messages of others that quote them, which stay.
    pub(super) quoting: u64,
    /// When the turns of the person began and ended.
    windows: Vec<(Timestamp, Timestamp)>,
}

/// All that was found.
pub(super) struct Found {
    pub(super) tapes: Vec<FoundTape>,
    pub(super) quotes: Quotes,
    /// All texts of their turns, answers too.
    pub(super) texts: Vec<String>,
    /// Lines of memories that are theirs.
    pub(super) lines: BTreeSet<String>,
    /// All senders.
    pub(super) senders: BTreeSet<String>,
}

pub(super) async fn find(
    location: &TapeLocation,
    archives: &Archives,
    person: &str,
    more_words: Vec<String>,
) -> Result<Found> {
    let (mut tapes, mut senders, mut writers) = (Vec::new(), BTreeSet::new(), Vec::new());
    let (mut said, mut texts, mut lines) = (more_words, Vec::new(), BTreeSet::new());
    let mut names = archives.tapes();
    let with_archives = names.clone();
    names.extend(location.names().await?);
    for name in names {
        let tape = match (location.holds(&name).await?, location.tapes()) {
            (Some(tape), _) => tape,
            // All that there was of it was archived.
            (None, Some(tapes)) if with_archives.contains(&name) => tapes.open(&name)?,
            _ => continue,
        };
        let mut found = FoundTape {
            session: location.session(&name).await.ok().flatten(),
            turns: Vec::new(),
            derived: Vec::new(),
            memory: false,
            archived: BTreeMap::new(),
            archived_derived: BTreeMap::new(),
            superseded: Vec::new(),
            quoting: 0,
            windows: Vec::new(),
            tape,
        };
        let of_tape = found.attribute(person, &mut writers).await?;
        senders.extend(of_tape);
        said.extend(found.turns.iter().filter_map(words));
        texts.extend(found.turns.iter().flat_map(entry_text::body));
        memory::lines(&found.tape, &mut lines).await?;
        memory::lines(&found.tape.sidecar(MEMORY)?, &mut lines).await?;
        for entries in archives.of(&name).await? {
            let mut attribution = Attribution::new(person);
            let parts: Vec<Part> = entries.iter().map(|entry| attribution.next(entry)).collect();
            senders.extend(attribution.senders);
            writers.extend(
                entries.iter().zip(&parts).filter_map(|(entry, part)| Writer::new(entry, *part == Part::Theirs)),
            );
            for (entry, _) in entries.iter().zip(parts).filter(|(_, part)| *part == Part::Theirs) {
                said.extend(words(entry));
                texts.extend(entry_text::body(entry));
                found.archived.insert(digest_of(entry), entry.clone());
            }
        }
        tapes.push(found);
    }
    let lines = memory::theirs(lines, &mut writers);
    texts.extend(said.iter().cloned());
    let quotes = Quotes::new(&said, &lines)?;
    for found in &mut tapes {
        found.search(person, &quotes, &lines).await?;
        for entries in archives.of(found.tape.name()).await? {
            let mut attribution = Attribution::new(person);
            for entry in entries {
                if attribution.next(&entry) == Part::Rest && is_derived(&entry, &quotes) {
                    found.archived_derived.insert(digest_of(&entry), entry);
                }
            }
        }
    }
    tapes.retain(|found| !found.is_empty());
    Ok(Found { tapes, quotes, texts, lines, senders })
}

impl FoundTape {
    pub(super) fn is_empty(&self) -> bool {
        self.entries() == 0
            && self.archived.is_empty()
            && self.archived_derived.is_empty()
            && !self.memory
            && self.quoting == 0
    }

    /// Entries that are erased, without those of archives.
    pub(super) fn entries(&self) -> u64 {
        let derived: usize = self.derived.iter().chain(&self.superseded).map(|(_, entries)| entries.len()).sum();
        (self.turns.len() + derived) as u64
    }

    /// Collects the turns of the person. Returns all senders of the tape.
    async fn attribute(&mut self, person: &str, writers: &mut Vec<Writer>) -> Result<BTreeSet<String>> {
        let mut attribution = Attribution::new(person);
        let mut open: Option<(Timestamp, Timestamp)> = None;
        let mut after = 0;
        loop {
            let page = self.tape.read(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            for entry in page {
                let part = attribution.next(&entry);
                writers.extend(Writer::new(&entry, part == Part::Theirs));
                let at: Option<Timestamp> = entry.date.parse().ok();
                match part {
                    Part::Theirs => {
                        if let Some(at) = at {
                            open = Some(open.map_or((at, at), |(start, _)| (start, at)));
                        }
                        self.turns.push(entry);
                    }
                    Part::OfOther | Part::Command => self.windows.extend(open.take()),
                    Part::Rest => {}
                }
            }
            tokio::task::yield_now().await;
        }
        self.windows.extend(open);
        Ok(attribution.senders)
    }

    /// Collects what quotes the person, on the tape and in its sidecars.
    async fn search(&mut self, person: &str, quotes: &Quotes, lines: &BTreeSet<String>) -> Result<()> {
        let family = format!("{}__sidecar__", self.tape.name());
        let mut parts = vec![None];
        parts.extend(
            self.tape.sidecars().await?.iter().map(|name| Some(name.strip_prefix(&family).unwrap_or(name).to_owned())),
        );
        let goes = |line: &str| lines.contains(line) || quotes.stand_in_line(line);
        for part in parts {
            if matches!(part.as_deref(), Some(CHAIN | FORGOTTEN)) {
                continue;
            }
            let tape = match &part {
                Some(sidecar) => self.tape.sidecar(sidecar)?,
                None => self.tape.clone(),
            };
            if !quotes.is_empty() || !lines.is_empty() {
                self.memory |= memory::write_without(&tape, &goes, true).await?;
            }
            let mut attribution = Attribution::new(person);
            let (mut entries, mut superseded, mut after) = (Vec::new(), Vec::new(), 0);
            // No model accepts a call without its results, or results without their call.
            let mut call: Option<(Entry, bool)> = None;
            loop {
                let page = tape.read(after, PAGE).await?;
                let Some(last) = page.last() else { break };
                after = last.id;
                for entry in page {
                    let in_turn = part.as_deref().is_some_and(|part| part != MEMORY && part != RECEIPTS)
                        && entry.date.parse().is_ok_and(|at| self.windows.iter().any(|(a, b)| (*a..=*b).contains(&at)));
                    match attribution.next(&entry) {
                        Part::Theirs if part.is_none() => {}
                        Part::OfOther => self.quoting += u64::from(quotes.stand_in(&entry)),
                        _ => {
                            if memory::holds(&entry, &goes) {
                                superseded.push(entry);
                                continue;
                            }
                            let mut is_erased = in_turn || is_derived(&entry, quotes);
                            match &*entry.kind {
                                "tool_call" => call = Some((entry.clone(), is_erased)),
                                "tool_result" => {
                                    if let Some((call, call_is_erased)) = call.take() {
                                        if is_erased && !call_is_erased {
                                            entries.push(call);
                                        }
                                        is_erased |= call_is_erased;
                                    }
                                }
                                _ => {}
                            }
                            if is_erased {
                                entries.push(entry);
                            }
                        }
                    }
                }
                tokio::task::yield_now().await;
            }
            if !superseded.is_empty() {
                self.superseded.push((part.clone(), superseded));
            }
            if !entries.is_empty() {
                self.derived.push((part, entries));
            }
        }
        Ok(())
    }
}

/// Whether an entry that is no message of another sender holds words of the person.
fn is_derived(entry: &Entry, quotes: &Quotes) -> bool {
    if entry.is("system") || entry.is("anchor") { quotes.stand_in_derived(entry) } else { quotes.stand_in(entry) }
}
