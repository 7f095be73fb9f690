//! Messages of the phase that a request omits: quoted after the summary as far as there is room, and otherwise named by
//! range. No message is omitted silently.

use super::Build;
use crate::Error;
use crate::digest;
use crate::options::Language;
use crate::source::Source;
use crate::summary;
use crate::thread::{Exchange, exchanges};
use crate::window::Window;
use std::collections::BTreeMap;

/// Entries considered for quotation: one page.
const LOOKED_AT: u32 = 256;

/// Maximum tokens of a quoted message.
const QUOTED: u64 = 40;

/// Maximum ranges that are named separately; beyond it, one range spans all.
const RANGES: usize = 3;

/// The part of a phase that is not in a request.
#[derive(Debug, Default)]
pub struct Left {
    /// Ranges of entries, in order.
    ranges: Vec<(u64, u64)>,
    /// Quoted lines, oldest first.
    quoted: Vec<String>,
    /// Ids of quoted entries.
    pub ids: Vec<u64>,
}

/// The label of lines that no summary covers yet.
fn label(language: Language) -> &'static str {
    match language {
        Language::Chinese => "[此后]",
        Language::English => "[Since then]",
    }
}

impl Left {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.quoted.is_empty()
    }

    /// The named ranges, for the notes.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// The lines for the model, after the summary if there is one.
    pub fn shown(&self, language: Language, is_searchable: bool) -> String {
        let mut lines = Vec::new();
        if !self.quoted.is_empty() {
            lines.push(label(language).to_owned());
            lines.extend(self.quoted.iter().cloned());
        }
        if !self.ranges.is_empty() {
            lines.push(note(&self.ranges, language, is_searchable));
        }
        lines.join("\n")
    }
}

/// The line that names omitted entries.
fn note(ranges: &[(u64, u64)], language: Language, is_searchable: bool) -> String {
    let range = |(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    let ranges: Vec<String> = match ranges {
        [first, .., last] if ranges.len() > RANGES => vec![range(&(first.0, last.1))],
        _ => ranges.iter().map(range).collect(),
    };
    let ranges = ranges.join(", ");
    match (language, is_searchable) {
        (Language::Chinese, true) => format!("[未显示:磁带条目 {ranges};可用 `tape_search` 查找]"),
        (Language::Chinese, false) => format!("[未显示:磁带条目 {ranges}]"),
        (Language::English, true) => format!("[Not shown: entries {ranges} of the tape; `tape_search` finds them]"),
        (Language::English, false) => format!("[Not shown: entries {ranges} of the tape]"),
    }
}

impl Build<'_> {
    /// Maximum tokens for naming, which are reserved from the beginning.
    pub(super) fn naming_room(&self) -> u64 {
        let widest = [(u64::MAX, u64::MAX - 1); RANGES];
        // A separate message with a label.
        let note = note(&widest, self.language, self.is_searchable());
        self.scale.plain(&format!("{}\n{note}", summary::label(self.language)))
    }

    /// The omitted entries: units of the window that are not in `kept`, entries that were not read, and those that a
    /// summary covers if it is not shown. The newest are quoted, as far as `room` allows.
    pub(super) fn left(
        &self,
        source: &dyn Source,
        window: &Window,
        covered: Covered,
        kept: &[u64],
        room: u64,
    ) -> Result<Left, Error> {
        let is_kept = |id: u64| kept.binary_search(&id).is_ok();
        let mut missing: BTreeMap<u64, u64> = BTreeMap::new();
        let mut all: Vec<u64> = kept.to_vec();
        let mut add = |exchanges: &[Exchange], missing: &mut BTreeMap<u64, u64>| {
            for unit in exchanges.iter().flat_map(|exchange| &exchange.units) {
                all.push(unit.id());
                if !is_kept(unit.id()) {
                    missing.insert(unit.id(), unit.last_id());
                }
            }
        };
        add(&window.exchanges, &mut missing);
        let mut unread = window.unread_before;
        let mut lines = Vec::new();
        let newest = missing.last_key_value().map(|(_, last)| *last).or(unread.map(|before| before.saturating_sub(1)));
        if let (true, Some(newest)) = (room > 0, newest) {
            let mut page = source.tail(Some(newest + 1), LOOKED_AT)?;
            let is_all = page.len() < LOOKED_AT as usize;
            page.retain(|entry| entry.id > covered.through && entry.id > covered.phase);
            if let Some(before) = unread {
                let earlier: Vec<_> = page.iter().filter(|entry| entry.id < before).cloned().collect();
                add(&exchanges(&earlier), &mut missing);
                if let Some(first) = page.first().filter(|first| first.id < before) {
                    unread = (!is_all && first.id > covered.first()).then_some(first.id);
                } else if is_all {
                    unread = None;
                }
            }
            lines = page;
        }
        let mut left = Left::default();
        let mut room = room.saturating_sub(self.scale.text(label(self.language)) + 1);
        for entry in lines.iter().rev() {
            // A result is quoted by its call.
            let unit =
                missing.iter().find(|(first, last)| **last == entry.id || **first == entry.id && **first == **last);
            let Some((&id, _)) = unit else { continue };
            let Some(line) = digest::line(entry, QUOTED) else {
                // Messages without text and the loop's own are not lost.
                missing.remove(&id);
                continue;
            };
            let tokens = self.scale.text(&line) + 1;
            if tokens > room {
                break;
            }
            room -= tokens;
            missing.remove(&id);
            left.quoted.push(line);
            left.ids.push(id);
        }
        left.quoted.reverse();
        left.ids.reverse();
        // The state of the previous phase, if there was no room for it.
        if covered.has_anchor && !is_kept(covered.phase) {
            missing.insert(covered.phase, covered.phase);
        }
        if !covered.is_shown && covered.through > covered.phase {
            missing.insert(covered.phase + 1, covered.through);
        }
        if let Some(before) = unread.filter(|before| *before > covered.first()) {
            missing.insert(covered.first(), before - 1);
        }
        all.sort_unstable();
        for (from, to) in missing {
            // Ranges are merged if no included entry lies between them.
            match left.ranges.last_mut() {
                Some(last) if !shown_between(&all, last.1, from, &left.ids, kept) => last.1 = last.1.max(to),
                _ => left.ranges.push((from, to)),
            }
        }
        Ok(left)
    }

    pub(super) fn is_searchable(&self) -> bool {
        self.request.tools.iter().any(|(name, ..)| name == "tape.search")
    }
}

/// Whether a unit in the request, whole or quoted, lies between the two.
fn shown_between(all: &[u64], from: u64, to: u64, quoted: &[u64], kept: &[u64]) -> bool {
    let first = all.partition_point(|id| *id <= from);
    all[first..].iter().take_while(|id| **id < to).any(|id| kept.binary_search(id).is_ok() || quoted.contains(id))
}

/// The range that the summary of a phase covers.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// The phase's anchor, or 0.
    pub phase: u64,
    pub has_anchor: bool,
    /// The last entry that the summary covers; the phase's anchor without a summary.
    pub through: u64,
    pub is_shown: bool,
}

impl Covered {
    /// The first entry that no summary covers.
    fn first(self) -> u64 {
        self.through.max(self.phase) + 1
    }
}
